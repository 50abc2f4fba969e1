package acp

import "strings"

// Agent is in what one agent differs from the protocol.
type Agent struct {
	Name  string // a part of what it calls itself, and of our name for it
	Warns bool   // prints warnings as its model's text, without a message id

	// What follows is not in the stream: it is for whoever drives the agent.
	Swallows bool // says nothing of a limit, nor of anything else, until it is cancelled
	Lingers  bool // may still run when its input was closed: its group is signalled
	Unasked  bool // runs commands without asking first: only the tree proves that it did none
}

// agents are those that were measured. One that is not here is read by the
// protocol alone.
var agents = []Agent{
	{Name: "claude-agent", Unasked: true}, // starts in its mode "auto"; asks in "default"
	{Name: "codex", Warns: true, Lingers: true, Unasked: true},
	{Name: "gemini", Lingers: true}, // asks before it tells of the call
	{Name: "opencode", Swallows: true, Lingers: true, Unasked: true},
	{Name: "qwen", Swallows: true},
	{Name: "copilot"},
	{Name: "grok", Lingers: true},
	{Name: "kimi"},
}

// Named is the agent that goes by that name, or one of which nothing is known.
func Named(name string) Agent {
	name = strings.ToLower(name)
	for _, a := range agents {
		if strings.Contains(name, a.Name) {
			return a
		}
	}
	return Agent{}
}
