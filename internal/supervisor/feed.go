package supervisor

import (
	"time"

	"github.com/paceline/paceline"
)

// Event is one line of `run --json`: what a client that stays with a thread is
// told. Fields that do not belong to its kind are absent.
type Event struct {
	Event  string            `json:"event"`
	At     time.Time         `json:"at"`
	Thread paceline.ThreadID `json:"thread"`
	Run    paceline.RunID    `json:"run,omitempty"`
	// Offset is the event's place in its thread; `attach --after` goes on behind it.
	Offset  string `json:"offset,omitempty"`
	seq     int64
	Message paceline.MessageID `json:"message,omitempty"` // accepted, finished
	Engine  string             `json:"engine,omitempty"`  // started
	Mode    string             `json:"mode,omitempty"`    // started
	// Participant is whose round it is, in a team: accepted, started.
	Participant string             `json:"participant,omitempty"`
	Text        string             `json:"text,omitempty"`   // text, announcement, finished
	Tool        string             `json:"tool,omitempty"`   // tool, approval
	Path        string             `json:"path,omitempty"`   // file
	ID          paceline.RequestID `json:"id,omitempty"`     // approval
	Detail      string             `json:"detail,omitempty"` // approval

	Cause   string     `json:"cause,omitempty"` // failed, limit, retrying
	Code    string     `json:"code,omitempty"`
	Work    string     `json:"work,omitempty"`
	ResetAt *time.Time `json:"reset_at,omitempty"`
	Source  string     `json:"reset_source,omitempty"`

	Until   *time.Time `json:"until,omitempty"`   // waiting; retrying: when it is given up
	Attempt int        `json:"attempt,omitempty"` // retrying
	From    string     `json:"source,omitempty"`  // of Until

	FromEngine string `json:"from,omitempty"` // failover, rollover
	ToEngine   string `json:"to,omitempty"`
	Why        string `json:"why,omitempty"`

	Status string `json:"status,omitempty"` // finished
	Exit   *int   `json:"exit,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// reset fills in when a limit lifts, and how that is known.
func (e *Event) reset(r paceline.Reset) {
	if r.Known() {
		at := r.At.UTC()
		e.ResetAt, e.Source = &at, r.Source.String()
	}
}
