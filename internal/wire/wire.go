// Package wire holds what every vendor's reader yields. The readers live below
// it, one package a vendor (wire/claude, wire/codex), and are the only places
// that know a vendor's words.
//
// A reader is a fold over lines. It is told when each line was read, because a
// notice may name a time of day without a date, and it never fails: foreign
// bytes that it cannot read are an Unknown event, and make the turn's work
// unknown (P7).
package wire

import (
	"fmt"
	"strings"
	"time"

	"github.com/paceline/paceline"
)

// EventKind says what was seen.
type EventKind uint8

const (
	Unknown      EventKind = iota // a frame this build does not know; counted, and work is unknown from here on
	Opened                        // the conversation has an id: Conversation (and Posture, Model where told)
	Acked                         // the engine has the message: UUID where it says which
	Text                          // a delta of the answer: Text
	Tool                          // a tool began: Name, ID, Detail its arguments; OK where it can only look
	ToolDone                      // it ended: ID, OK; with Detail Background it goes on, and the model was told so
	File                          // a file was changed: Name is its path
	Approval                      // the engine asks: Name is the tool, ID the request, Detail what for
	Retrying                      // the engine retries by itself: Cause, Code, Delay (0 where it does not say)
	Limited                       // a limit is already certain although the turn has not ended: Failure
	Announcement                  // something to tell the user: Text
	Overage                       // from here on the turn costs extra: Text, and the limit that was reached as Failure
	Worked                        // the first work of this turn: Evidence
	Ended                         // a turn ended: Ending
)

var eventNames = []string{
	"unknown", "opened", "acked", "text", "tool", "tool-done", "file", "approval",
	"retrying", "limited", "announcement", "overage", "worked", "ended",
}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "?"
}

// Event is one thing that a native stream said. Which fields count is said at
// its kind.
type Event struct {
	Kind         EventKind
	Line         int // 1-based
	Conversation paceline.ConversationID
	UUID         string
	Text         string
	Name         string
	ID           string
	Detail       string
	OK           bool
	Cause        paceline.Cause
	Code         string
	Delay        time.Duration
	Posture      paceline.Posture
	Model        string
	Evidence     paceline.Evidence
	Failure      *paceline.Failure
	Ending       *Ending
}

// Ending is how one turn of the root conversation ended, with the frames that
// say so.
type Ending struct {
	Outcome paceline.Outcome
	Turn    int              // 1-based, in the order of the stream
	Native  string           // the vendor's id of the turn, "" where it has none
	Failure paceline.Failure // Cause is CauseUnknown when completed; Work and Evidence are always filled
	Answer  string           // the final text; "" where there is none
	// Later says that the conversation's file holds a turn after this one, which is
	// none of ours: its program, or a person, went on in it.
	Later bool
}

// Account is what a vendor's own usage endpoint or snapshot says of an engine.
// It settles a 429 that the failed call left undecided.
type Account struct {
	Limited bool
	Reset   paceline.Reset
	Scope   string
	Posture paceline.Posture
}

// Background is a call that went on while the model took its next step.
const Background = "background"

// MaxDetail is how much of a call's arguments is kept, in bytes. What it wrote
// is in the tree; what it was about is in the beginning.
const MaxDetail = 2048

// Brief cuts a call's arguments to MaxDetail, and says so.
func Brief(s string) string {
	if len(s) <= MaxDetail {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return fmt.Sprintf("%s [truncated %d bytes]", strings.ToValidUTF8(s[:MaxDetail], ""), len(s)-MaxDetail)
}

// MaxLine is the longest line a reader is fed, in bytes. Longer ones are fed
// as their first MaxLine bytes and are unknown frames: a harness that prints
// one has run away, and its work cannot be proved.
const MaxLine = 16 << 20
