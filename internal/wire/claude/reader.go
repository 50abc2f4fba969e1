// Package claude reads what Claude Code prints in its stream-json mode, and
// what it leaves in its transcripts. It was written against recordings of
// version 2.1.328 and trusts them over any documentation.
//
// Three readings are made here and nowhere else. Whether a turn did work: a
// frame that is on the list of harmless ones does not count, everything else
// does, and a kind that is not known makes the work unknown (F2, F7). Why a
// turn failed: typed fields of the program's own frames decide, never a text
// that a model or tool may have printed (P7). When a turn begins and ends: a
// message that is about to be sent opens one, and in a bare recording the
// stream does; one result ends one turn.
//
// The program says `subtype: success` of a failed call. `is_error` is what
// counts.
package claude

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// Reader folds the stream-json stdout of one Claude Code process into events.
// It sees no clock and does no I/O. It is not safe for concurrent use: whoever
// calls Expect while another goroutine calls Observe holds a lock around both.
type Reader struct {
	line     int
	went     int             // the last line that was progress
	turns    int             // turns opened so far
	turn     *turn           // the open one
	queued   []string        // messages sent while a turn was open that it has not taken in
	early    []mark          // what was seen before a turn that the stream itself opens
	acked    map[string]bool // messages that the program has told it has
	tasks    map[string]int  // the turn that began a background task
	known    map[string]bool // kinds that the user says are harmless
	opened   wire.Event      // the last Opened, to say only what changed
	last     window          // the latest rate_limit_event
	lastLine int             // where it was
	overage  bool            // paid overage has been announced
	result   string          // the latest result's uuid: a repeated one ends nothing
}

// mark is a weighed frame.
type mark struct {
	work     paceline.Work
	evidence paceline.Evidence
}

// turn is what is known of the open turn.
type turn struct {
	n        int
	uuid     string // of the message that opened it
	work     paceline.Work
	seen     []paceline.Evidence // the frames that made the work what it is
	fault    *fault              // of the latest failed call, until the model answers again
	notice   string
	failed   paceline.Evidence // that call's frame
	limited  bool
	streamed string // the message whose text came as deltas
}

// New makes a reader of a process that has printed nothing yet.
func New() *Reader {
	return &Reader{acked: map[string]bool{}, tasks: map[string]int{}, known: map[string]bool{}}
}

// Harmless adds kinds of frames, as Unknown events name them, that the user has
// found to be no work.
func (r *Reader) Harmless(kinds ...string) {
	for _, k := range kinds {
		r.known[k] = !strings.Contains(k, "?") // the name of whatever has no name
	}
}

// Expect says that the host is about to send this message. It opens a turn,
// with no work yet. While a turn is open the message steers it: the program
// takes it into that turn, or answers it in the next one.
func (r *Reader) Expect(uuid string) {
	if r.turn != nil {
		r.queued = append(r.queued, uuid)
		return
	}
	r.begin(uuid)
	r.early = nil // printed before the message existed: not its work
}

// Busy reports whether a turn is open. After a turn's end it is one that a steer
// opened which came too late for it.
func (r *Reader) Busy() bool { return r.turn != nil }

// Went is the last line that was progress of the turn, 0 where none was: the
// model, a tool or a compaction did something, whether or not that is work.
func (r *Reader) Went() int { return r.went }

func (r *Reader) begin(uuid string) {
	r.turns++
	r.turn = &turn{n: r.turns, uuid: uuid, work: paceline.WorkNone}
}

// Close says that the stream has ended. An open turn ends incomplete; what its
// failed call had already said stays in the Failure.
func (r *Reader) Close() []wire.Event {
	t := r.turn
	if t == nil {
		return nil
	}
	r.turn, r.queued = nil, nil
	end := wire.Ending{Outcome: paceline.OutcomeIncomplete, Turn: t.n, Native: t.uuid}
	if t.fault != nil {
		end.Failure = t.fault.read(t.notice, "", r.last)
		end.Failure.Evidence = r.evidence(t, end.Failure)
	} else {
		end.Failure.Evidence = slices.Clone(t.seen)
	}
	end.Failure.Work = t.work
	end.Failure.Evidence = append(end.Failure.Evidence, paceline.Evidence{Frame: "end of stream", Line: r.line, Says: "no result", Means: "incomplete"})
	return []wire.Event{{Kind: wire.Ended, Line: r.line, Ending: &end}}
}

// Observe reads one line, without its newline. It never fails: what it cannot
// read is an Unknown event.
func (r *Reader) Observe(line []byte, _ time.Time) []wire.Event {
	r.line++
	if len(bytes.TrimSpace(line)) == 0 {
		return nil // a blank line is no frame
	}
	f, ok := headOf(line)
	if !ok {
		return r.count(nil, frame{}, unread, func() string { return "no frame" })
	}
	switch f.typ {
	case "assistant":
		return r.assistant(f)
	case "user":
		return r.user(f)
	case "result":
		return r.ended(f)
	case "rate_limit_event":
		return r.limit(f)
	case "command_lifecycle":
		return r.lifecycle(f)
	case "stream_event":
		return r.delta(f)
	case "control_request":
		return r.request(f)
	case "system":
		return r.system(f)
	}
	w, says := r.weigh(f)
	return r.count(nil, f, w, says)
}

// weigh asks the user's list as well, but only about kinds that this build does
// not know: nobody can list away a tool call.
func (r *Reader) weigh(f frame) (weight, func() string) {
	w, says := weigh(f)
	if w == unread && r.known[f.kind()] {
		w = harmless
	}
	return w, says
}

// count enters a weighed frame into the open turn, behind the events that it
// made. Between turns a frame belongs to none, with two exceptions for streams
// that nobody announced: what comes before the first turn is that turn's, and
// an unknown frame makes the next one's work unknown.
func (r *Reader) count(events []wire.Event, f frame, w weight, says func() string) []wire.Event {
	if w == working || f.sub == "status" || f.sub == "compact_boundary" { // R21
		r.went = r.line
	}
	if w == harmless {
		return events
	}
	m := mark{work: paceline.WorkSome}
	if w == unread {
		m = mark{work: paceline.WorkUnknown, evidence: r.spot(f, says(), "unknown frame")}
		events = append(events, wire.Event{Kind: wire.Unknown, Line: r.line, Name: f.kind(), Evidence: m.evidence})
	}
	t := r.turn
	if t != nil && (t.work == paceline.WorkSome || t.work == m.work) {
		return events // nothing new: unknown never lowers some
	}
	if w == working {
		m.evidence = r.spot(f, says(), "work")
	}
	if t == nil {
		if w == unread || r.turns == 0 {
			r.early = append(r.early, m)
		}
		return events
	}
	return t.enter(events, m, r.line)
}

// enter raises the turn's work. The first frame that does is announced, once.
func (t *turn) enter(events []wire.Event, m mark, line int) []wire.Event {
	first := t.work == paceline.WorkNone
	if t.work == paceline.WorkSome || t.work == m.work {
		return events
	}
	t.work, t.seen = m.work, append(t.seen, m.evidence)
	if first {
		events = append(events, wire.Event{Kind: wire.Worked, Line: line, Evidence: m.evidence})
	}
	return events
}

// within makes sure that a turn is open, for a frame that only comes in one.
func (r *Reader) within(events []wire.Event) []wire.Event {
	if r.turn != nil {
		return events
	}
	r.begin("")
	for _, m := range r.early {
		events = r.turn.enter(events, m, m.evidence.Line)
	}
	r.early = nil
	return events
}

func (r *Reader) spot(f frame, says, means string) paceline.Evidence {
	return paceline.Evidence{Frame: f.kind(), Line: r.line, Says: says, Means: means}
}
