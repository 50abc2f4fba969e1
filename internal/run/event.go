package run

import (
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/wire"
)

// Event is what happened to a run.
//
//sumtype:decl
type Event interface{ event() string }

type (
	// Begin: a server took the run up and is starting a child for it.
	Begin struct {
		Containment paceline.Containment
		Posture     paceline.Posture
		Version     string
	}
	// Send: the child is ready and its conversation open. The prompt's first
	// byte follows once this is on disk.
	Send struct{ Conversation paceline.ConversationID }
	// Ack: the engine has the message.
	Ack struct{}
	// Worked: the first frame that is work, or that could be (Work unknown).
	Worked struct {
		Work     paceline.Work
		Evidence paceline.Evidence
	}
	// End: the turn ended, or never began; as the adapter read it.
	End struct{ Ending wire.Ending }
	// Lost: a crash cut the run. What the engine's own transcript says was read
	// after its child was gone.
	Lost struct {
		Delivered bool // our message is in the transcript
		Ending    wire.Ending
	}
	// StopAsked: its user, or the end of the server, wants it over. The child is
	// gone when this is stepped.
	StopAsked struct{ By string }
	// HandedOver: its user moves the seat in the middle of the run (Z91). The child
	// is gone when this is stepped, and Ending holds what is known of its work.
	HandedOver struct{ Ending wire.Ending }
	// Reconciled: a person has looked at every call of the run that began and
	// never reported.
	Reconciled struct{}
	// WaitOver: the time that the run's message waits for has come.
	WaitOver struct{ Next paceline.RunID }
	// DispatchDue: the effect of a pending claim is being performed.
	DispatchDue struct{ Next paceline.RunID }
	// DispatchRefused: an attempt at it could not be carried out.
	DispatchRefused struct{ Why string }
)

// FrameTool is the frame of evidence that names a tool.
const FrameTool = "tool"

func (Begin) event() string           { return "begin" }
func (Send) event() string            { return "send" }
func (Ack) event() string             { return "ack" }
func (Worked) event() string          { return "worked" }
func (End) event() string             { return "end" }
func (Lost) event() string            { return "lost" }
func (StopAsked) event() string       { return "stop asked" }
func (HandedOver) event() string      { return "handed over" }
func (Reconciled) event() string      { return "reconciled" }
func (WaitOver) event() string        { return "wait over" }
func (DispatchDue) event() string     { return "dispatch due" }
func (DispatchRefused) event() string { return "dispatch refused" }

// Effect is what is to be recorded with the new state, in the same
// transaction, and performed after it.
//
//sumtype:decl
type Effect interface{ effect() string }

type (
	// Dispatch is performed later, by a job: it ends the run's claim.
	Dispatch struct{ Run paceline.RunID }
	// Create is the successor's row; Asked where it takes the seat because the
	// thread's user wants it there.
	Create struct {
		Run   State
		Asked bool
	}
	// Resume is the row of the run that goes on after a wait.
	Resume struct {
		Run   State
		Asked bool
	}
	// Await: the message waits now.
	Await struct{ Wait Wait }
	// Announce is a line of ours in the thread, for people and for the log.
	Announce struct{ Text string }
	// Hold keeps a limit against an engine, for every process.
	Hold struct{ Limit paceline.Limit }
	// Lift: the engine answered, so nothing is held against it any more.
	Lift struct{ Engine paceline.Engine }
	// Settle ends the message: it is answered, blocked, failed or stopped (P2).
	Settle struct {
		Status Status
		Text   string         // for people: what happened
		Hint   string         // what to try; "" where there is nothing
		Reset  paceline.Reset // when it could go on
	}
	// Reopen takes back that the message needs a person: work on it goes on.
	Reopen struct{}
	// Decide is the recorded choice behind all this (P5).
	Decide struct{ Decision Decision }
)

func (Dispatch) effect() string { return "dispatch" }
func (Create) effect() string   { return "create" }
func (Resume) effect() string   { return "resume" }
func (Await) effect() string    { return "await" }
func (Announce) effect() string { return "announce" }
func (Hold) effect() string     { return "hold" }
func (Lift) effect() string     { return "lift" }
func (Settle) effect() string   { return "settle" }
func (Reopen) effect() string   { return "reopen" }
func (Decide) effect() string   { return "decide" }

// Decision is a recorded choice: what, why, and each alternative with its
// exclusion. `paceline why` and the log are readings of it.
type Decision struct {
	At       time.Time           `json:"at"`
	Run      paceline.RunID      `json:"run"`
	Event    string              `json:"event"`
	From     Phase               `json:"from"`
	To       Phase               `json:"to"`
	What     string              `json:"what"`
	Why      string              `json:"why,omitempty"`
	Out      []place.Exclusion   `json:"out,omitempty"`
	Evidence []paceline.Evidence `json:"evidence,omitempty"`
}

// Status is how a message ended.
type Status uint8

const (
	Unsettled  Status = iota // still being worked on
	Answered                 // exit 0
	Broke                    // failed, exit 1
	Blocked                  // limited or unreachable, exit 3
	NeedSignIn               // exit 4
	NeedPerson               // exit 5
	Halted                   // stopped by its user, exit 130
)

var statusNames = []string{"open", "answered", "failed", "blocked", "sign-in needed", "needs a person", "stopped"}

func (s Status) String() string                { return word(statusNames, uint8(s)) }
func (s Status) MarshalText() ([]byte, error)  { return []byte(s.String()), nil }
func (s *Status) UnmarshalText(b []byte) error { return unword(statusNames, b, (*uint8)(s)) }

// Facts holds everything that a rule may look at. A rule that needs to know
// more gets another fact, never a call.
type Facts struct {
	Now     time.Time
	Message paceline.Message
	// Earlier holds every other run of this message, oldest first.
	Earlier []State
	// Chain holds the thread's chain with what is known of each entry now. A
	// thread without a chain has one entry, its engine.
	Chain   []place.Candidate
	MaxHops int          // 0 is the chain's length less one
	Weaker  place.Weaker // what to do with a weaker containment
	Off     bool         // failover is switched off for this thread
	// Since counts the thread's runs that were created after this one for other
	// messages. Anything that ran since makes a re-send stale (F19).
	Since int
	// Roll allows work to be carried on elsewhere with a packet; RollSilent even
	// where a call began and never reported.
	Roll, RollSilent bool
	// Silent names the calls of this run that began and never reported: whether
	// they took effect is unknown.
	Silent []string
	// Kept says that everything the run was seen to do is on record. A packet
	// made of less would have it done twice.
	Kept bool
	// Asked is the engine to which the thread's user wants the seat moved; nil is
	// none. Over says that he does not wait for the turn to end by itself.
	Asked    *place.Candidate
	Over     bool
	Steered  bool // somebody added to the run while it ran (F13)
	Stop     bool // its user asked to stop it, perhaps before the failure landed (F19)
	Archived bool // the thread was archived or deleted
	Asking   bool // a permission or input request of the run is unanswered
	// Held is the engine whose conversation holds the thread: it was the last that
	// was sent anything, for another message. The zero value is none.
	Held paceline.Engine
	// Lacks are the engines whose own transcript was read and does not hold the
	// message: a program that was ended at its limit may not have written it.
	Lacks map[paceline.Engine]bool
	// Grown are those whose conversation went on since, by its program's or somebody
	// else's doing.
	Grown map[paceline.Engine]bool
	// Probe is what one fresh process said of the sign-in after an auth failure:
	// a parallel child may have refreshed the token meanwhile.
	Probe Probe
}

// Probe is a fresh look at an account's sign-in.
type Probe uint8

const (
	ProbeNone Probe = iota // not asked, or no answer: the failure stands
	ProbeOut               // it is signed out
	ProbeIn                // it is signed in after all
)
