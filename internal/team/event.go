package team

import (
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
)

// Event is what happened to a team.
//
//sumtype:decl
type Event interface{ event() string }

type (
	// Due: nothing is under way. What is to happen now? Message names the round, if
	// one begins; Seen is the last post that it is told of.
	Due struct {
		Message paceline.MessageID
		Seen    int64
	}
	// Ended: a round's message is settled.
	Ended struct{ Result Result }
	// Posted: a person wrote to the team, or to one of it.
	Posted struct{ To, Text string }
	// Ruled: a person approved or rejected what a gate asks for.
	Ruled struct {
		Approve bool
		Text    string
	}
	PauseAsked  struct{}
	ResumeAsked struct{}
	StopAsked   struct{}
)

func (Due) event() string         { return "due" }
func (Ended) event() string       { return "ended" }
func (Posted) event() string      { return "posted" }
func (Ruled) event() string       { return "ruled" }
func (PauseAsked) event() string  { return "pause asked" }
func (ResumeAsked) event() string { return "resume asked" }
func (StopAsked) event() string   { return "stop asked" }

// Result is what a round's runs came to.
type Result struct {
	Message paceline.MessageID
	Status  run.Status
	Reply   string // the last thing that was said
	Worked  bool   // a file was written or a command run, said or not
	Tries   []Try  // its runs, oldest first
	What    string // for people: how it failed
	Busy    time.Duration
}

// Try is one run of a round.
type Try struct {
	Engine paceline.Engine
	Cause  paceline.Cause // CauseUnknown where it did not fail
	Failed bool
	Reset  paceline.Reset
}

// Effect is what is to be recorded with the new state, in the same transaction.
//
//sumtype:decl
type Effect interface{ effect() string }

type (
	// Begin is the round's message, which is to be accepted.
	Begin struct{ Round Round }
	// Say puts something into the thread that somebody said.
	Say struct{ By, To, Text, Move string }
	// Line is a line of ours, for people and for the log.
	Line struct{ Text string }
	// Sleep: nothing begins before this time, unless somebody changes that.
	Sleep struct{ Wait Wait }
	// Rest: the team's run does not go on by itself.
	Rest struct {
		Status run.Status
		Text   string
		Hint   string
	}
	// Decide is the recorded choice behind it (P5).
	Decide struct{ Decision run.Decision }
)

func (Begin) effect() string  { return "begin" }
func (Say) effect() string    { return "say" }
func (Line) effect() string   { return "line" }
func (Sleep) effect() string  { return "sleep" }
func (Rest) effect() string   { return "rest" }
func (Decide) effect() string { return "decide" }

// Facts holds everything that a rule may look at.
type Facts struct {
	Now time.Time
	// Engines is what is known of each engine of each chain.
	Engines map[paceline.Engine]Engine
}

// Engine is what is known of one.
type Engine struct {
	Limit   *paceline.Limit // what is held against it; nil is nothing
	Unready string          // why it cannot start at all; "" where it can
	Down    string          // why nothing new goes to its route; "" where it may
	Back    time.Time       // when that route is tried again
}
