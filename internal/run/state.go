// Package run decides what becomes of a run. Step is a fold: a state and an
// event go in, with every fact that a rule may look at; a state and effects
// come out. Nothing here performs anything, reads a clock or asks anyone.
//
// A run answers one message on one engine:
//
//	queued -> starting -> sending -> running -> done | failed | stopped
//
// Entering `sending` is recorded before the first byte of the prompt is
// written, and `running` after the engine acknowledged it. So a run found in
// `starting` after a crash never sent anything, one in `running` did, and only
// one in `sending` has to be looked up in the engine's own transcript.
//
// A failed run may carry a claim: the right to send its message once more on
// the next engine, or, where work was done for it, to have it carried on there
// with a packet. It is written together with the failure, and ends exactly
// once:
//
//	(none) -> pending -> dispatched | skipped
//
// While it is pending nothing treats the run as finished (F16): a message is
// settled either by an ending without a claim, or by its claim's end.
package run

import (
	"fmt"
	"time"

	"github.com/paceline/paceline"
)

// Phase is how far a run has come. The zero value is before everything.
type Phase uint8

const (
	Queued Phase = iota
	Starting
	Sending
	Running
	Done
	Failed
	Stopped
)

var phaseNames = []string{"queued", "starting", "sending", "running", "done", "failed", "stopped"}

// ClaimPhase is where the once-only right stands.
type ClaimPhase uint8

const (
	NoClaim ClaimPhase = iota
	Pending
	Dispatched
	Skipped
)

var claimNames = []string{"", "pending", "dispatched", "skipped"}

// Carry is what a run's prompt is wrapped in (internal/packet).
type Carry uint8

const (
	Bare     Carry = iota // nothing: the engine's own conversation holds what went before
	History               // the message stands below what was said before it
	Progress              // the message is quoted among what was done for it, and is no prompt (P1)
	Continue              // our fixed text: the conversation holds the message already
	Home                  // the message stands below what others said and did since (Z38)
)

var carryNames = []string{"", "history", "progress", "continue", "home"}

// State is one run. A copy is a snapshot: it holds no pointers that Step
// writes through.
type State struct {
	ID      paceline.RunID     `json:"id"`
	Thread  paceline.ThreadID  `json:"thread"`
	Message paceline.MessageID `json:"message"`
	After   paceline.RunID     `json:"after,omitempty"` // the run whose claim made this one
	Hop     int                `json:"hop"`             // 0 for the first run of a message
	Engine  paceline.Engine    `json:"engine"`
	Phase   Phase              `json:"phase"`
	Carry   Carry              `json:"carry,omitzero"`

	Conversation paceline.ConversationID `json:"conversation,omitempty"`
	Containment  paceline.Containment    `json:"containment"`
	Posture      paceline.Posture        `json:"posture"`
	Version      string                  `json:"version,omitempty"` // of the harness
	Starts       int                     `json:"starts"`            // children started, recoveries included
	Sent         bool                    `json:"sent"`              // `sending` was reached: the prompt may be out

	// Kept says that all that it was seen to do is on record: a packet can tell it.
	Kept     bool              `json:"kept,omitempty"`
	Work     paceline.Work     `json:"work"` // unknown until proved, even for a run that never sent
	WorkedBy paceline.Evidence `json:"worked_by,omitzero"`
	Failure  *paceline.Failure `json:"failure,omitempty"`
	Claim    Claim             `json:"claim,omitzero"`
	Wait     Wait              `json:"wait,omitzero"`

	Created time.Time `json:"created"`
	Began   time.Time `json:"began,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Claim is the once-only right to give a failed run's message to another engine:
// again, where nobody did anything for it, and in a packet where somebody did.
type Claim struct {
	Phase    ClaimPhase      `json:"phase"`
	Target   paceline.Engine `json:"target,omitzero"`
	Why      string          `json:"why,omitempty"`  // the cause in words ("hit its usage limit"), or why it was skipped
	Since    time.Time       `json:"since,omitzero"` // when it was written
	Refused  int             `json:"refused,omitempty"`
	Asked    bool            `json:"asked,omitempty"` // its user named the target, and the engine did not fail
	Next     paceline.RunID  `json:"next,omitempty"`  // dispatched: the run that it became
	Resolved time.Time       `json:"resolved,omitzero"`
}

// A claim whose dispatch keeps failing is given up: its user would rather be
// told than wait for a store that never comes back.
const (
	MaxRefusals = 5
	MaxPending  = 10 * time.Minute
)

// Live reports whether a child may exist for this run.
func (s State) Live() bool {
	return s.Phase == Starting || s.Phase == Sending || s.Phase == Running
}

// Open reports whether anything is still to happen with this run: it is not
// over, its claim is pending, or its message waits (P3).
func (s State) Open() bool {
	return s.Phase < Done || s.Claim.Phase == Pending || s.Waiting()
}

func (p Phase) String() string      { return word(phaseNames, uint8(p)) }
func (p ClaimPhase) String() string { return word(claimNames, uint8(p)) }

func (c Carry) String() string { return word(carryNames, uint8(c)) }

func (p Phase) MarshalText() ([]byte, error)      { return []byte(p.String()), nil }
func (p ClaimPhase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (c Carry) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (p *Phase) UnmarshalText(b []byte) error      { return unword(phaseNames, b, (*uint8)(p)) }
func (p *ClaimPhase) UnmarshalText(b []byte) error { return unword(claimNames, b, (*uint8)(p)) }

func (c *Carry) UnmarshalText(b []byte) error { return unword(carryNames, b, (*uint8)(c)) }

func word(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "?"
}

func unword(names []string, b []byte, to *uint8) error {
	for i, n := range names {
		if n == string(b) {
			*to = uint8(i)
			return nil
		}
	}
	return fmt.Errorf("phase %q is not one of %q", b, names)
}
