// Package logkey names the keys of our log lines, so that one search finds
// every line about a run.
package logkey

const (
	Thread  = "thread"
	Run     = "run"
	Message = "message"
	Engine  = "engine"
	Event   = "event"
	From    = "from"
	To      = "to"
	What    = "what"
	Why     = "why"
	Error   = "error"
	Path    = "path"
	Pid     = "pid"
)
