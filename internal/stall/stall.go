// Package stall tells silence from work. A watch is folded from what a run's
// program says; at any moment it has one deadline, and past it a verdict. It is
// given every instant, in awake time: a machine that slept did not wait.
//
// Programs hang without a word. Codex sleeps through any Retry-After, two hours
// of it after a single notice; Claude Code waits five minutes and more on a
// stream that is dead. Nobody but their driver can tell.
package stall

import (
	"fmt"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// Bounds are how long a program may be silent. A zero field is its default.
type Bounds struct {
	First    time.Duration `json:"first,omitempty"`    // from the prompt to the first that comes of it
	Progress time.Duration `json:"progress,omitempty"` // between two signs of life, while no tool runs
	Tool     time.Duration `json:"tool,omitempty"`     // of a running tool
	Grace    time.Duration `json:"grace,omitempty"`    // past the moment for which a retry was announced (R6)
}

// defaults lie beyond the longest silence of a healthy program: Claude Code
// says by itself after 361 s that no byte came, pings every 30 s, and gives a
// running tool a heartbeat as often. Codex gives up a silent stream after 300 s,
// and says nothing at all while a command runs.
var defaults = map[string]Bounds{
	"claude": {First: 7 * time.Minute, Progress: 7 * time.Minute, Tool: 10 * time.Minute, Grace: time.Minute},
	// Some agents are silent about a limit for as long as it lasts; a command's
	// output they tell only when it has ended.
	"acp":   {First: 5 * time.Minute, Progress: 7 * time.Minute, Tool: 2 * time.Hour, Grace: time.Minute},
	"codex": {First: 7 * time.Minute, Progress: 7 * time.Minute, Tool: 2 * time.Hour, Grace: time.Minute},
}

// Or fills in a harness's defaults.
func (b Bounds) Or(harness string) Bounds {
	d, ok := defaults[harness]
	if !ok {
		d = defaults["codex"]
	}
	for _, f := range []struct {
		to   *time.Duration
		from time.Duration
	}{{&b.First, d.First}, {&b.Progress, d.Progress}, {&b.Tool, d.Tool}, {&b.Grace, d.Grace}} {
		if *f.to <= 0 {
			*f.to = f.from
		}
	}
	return b
}

// What the rows give exactly (R3, R4, R7).
const (
	attempts = 5
	shortest = 5 * time.Second
	longest  = 5 * time.Minute
)

// Watch is what is known of one turn's signs of life.
type Watch struct {
	bounds Bounds
	last   time.Time // the last sign of life, or the prompt
	alive  bool      // something came of the prompt
	tools  int       // that run
	notice notice
}

// notice is a retry that the program announced and that has not come yet.
type notice struct {
	at      time.Time
	line    int
	first   time.Time // when the first of them in a row came
	n       int       // of them in a row
	cause   paceline.Cause
	code    string
	told    time.Duration // the delay that it named; 0 where it did not
	expect  time.Duration
	limited bool // a 429: it is counted (R2, R3)
}

// Begin watches a turn whose prompt is sent now.
func Begin(b Bounds, now time.Time) Watch { return Watch{bounds: b, last: now} }

// Heard notes that the program said anything at all.
func (w Watch) Heard(now time.Time) Watch {
	if now.After(w.last) {
		w.last = now
	}
	return w
}

// Went notes the last line of the program that was progress of the turn, and
// when it came. Most of it makes no event: an answer's thinking, a compaction
// (R21), what a subagent does (R22). It ends the wait for a retry that was
// announced before it (R9).
func (w Watch) Went(line int, at time.Time) Watch {
	w = w.Heard(at)
	if line > w.notice.line {
		w.notice = notice{}
	}
	return w
}

// Saw notes an event. Progress ends the wait for a retry, a newer notice moves
// it (R9); what is only chatter does neither.
func (w Watch) Saw(e wire.Event, now time.Time) Watch {
	w = w.Heard(now)
	switch e.Kind {
	case wire.Retrying:
		return w.retrying(e, now)
	case wire.Tool:
		w.tools++
	case wire.ToolDone:
		w.tools = max(0, w.tools-1)
	case wire.Text, wire.File, wire.Approval, wire.Worked, wire.Limited:
	case wire.Unknown, wire.Opened, wire.Acked, wire.Announcement, wire.Overage, wire.Ended:
		return w
	}
	w.notice, w.alive = notice{}, true
	return w
}

func (w Watch) retrying(e wire.Event, now time.Time) Watch {
	n := notice{at: now, line: e.Line, n: w.notice.n + 1, cause: e.Cause, code: e.Code, told: e.Delay, expect: e.Delay}
	n.limited = e.Cause == paceline.CauseThrottle || e.Cause == paceline.CauseUsageLimit
	if n.expect == 0 {
		n.expect = min(shortest<<min(n.n-1, 10), longest) // R4
	}
	n.first = now
	if w.notice.n > 0 && w.notice.limited == n.limited {
		n.first = w.notice.first
	}
	w.notice = n
	return w
}

// Slept notes that the machine was suspended for a while: nothing could be heard
// meanwhile, and what was waited for begins anew.
func (w Watch) Slept(now time.Time) Watch {
	w = w.Heard(now)
	if w.notice.n > 0 {
		w.notice.at, w.notice.first = now, now
	}
	return w
}

// suspended is by how much the wall clock must run ahead before it counts as a
// suspend and not as a correction of the clock.
const suspended = 10 * time.Second

// Suspended reports whether the machine was suspended while so much passed by
// the wall clock, and so much awake.
func Suspended(wall, awake time.Duration) bool { return wall-awake > suspended }

// Retry is the announced retry that is waited for: the number of it, and until
// when. ok is false where none is.
func (w Watch) Retry() (n int, until time.Time, ok bool) {
	return w.notice.n, w.notice.at.Add(w.notice.expect), w.notice.n > 0
}

// Deadline is when the watch gives the turn up, unless something is heard.
func (w Watch) Deadline() time.Time {
	switch n := w.notice; {
	case n.n > 0 && w.hopeless():
		return n.at
	case n.n > 0:
		at := n.at.Add(n.expect + w.bounds.Grace) // R6
		if whole := n.first.Add(w.silence()); !n.limited && at.After(whole) {
			// Nobody counts these, and Codex announces another one each minute for as
			// long as there is no network: all together are no longer than a silence.
			at = later(n.at, whole)
		}
		return at
	case w.tools > 0:
		return w.last.Add(w.bounds.Tool)
	}
	return w.last.Add(w.silence())
}

// silence is how long nothing may come while no tool runs.
func (w Watch) silence() time.Duration {
	if w.alive {
		return w.bounds.Progress
	}
	return w.bounds.First
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hopeless reports whether the announced retry need not be waited for: it is one
// too many (R3), too far away (R7), or waiting cannot cure its cause.
func (w Watch) hopeless() bool {
	n := w.notice
	return n.limited && n.n > attempts || n.told > longest ||
		n.cause == paceline.CauseAuth || n.cause == paceline.CauseBilling
}

// InTool is the code of a silence in which the vendor was not awaited: a tool ran.
const InTool = "silent_tool"

// Verdict is the failure of a turn that was silent past its deadline; ok is
// false where it was not. It says nothing of work: that is its stream's to say.
func (w Watch) Verdict(now time.Time) (f paceline.Failure, ok bool) {
	at := w.Deadline()
	if now.Before(at) {
		return f, false
	}
	n := w.notice
	f = paceline.Failure{Cause: paceline.CauseStall, Code: "silent", Retryable: true}
	switch {
	case n.n == 0 && w.tools > 0:
		f.Code = InTool
		f.Notice = fmt.Sprintf("a tool ran for %s without a sign", now.Sub(w.last).Round(time.Second))
	case n.n == 0 && !w.alive:
		f.Notice = fmt.Sprintf("nothing came of the prompt for %s", now.Sub(w.last).Round(time.Second))
	case n.n == 0:
		f.Notice = fmt.Sprintf("no progress for %s", now.Sub(w.last).Round(time.Second))
	default:
		f.Cause, f.Code = n.cause, n.code
		if n.cause == paceline.CauseUnknown {
			f.Cause = paceline.CauseStall
		}
		f.Notice = fmt.Sprintf("its retry %d, expected after %s, did not come for %s", n.n, n.expect, now.Sub(n.at).Round(time.Second))
		if w.hopeless() {
			f.Notice = fmt.Sprintf("its retry %d would not help: expected after %s", n.n, n.expect)
		}
		if n.limited {
			f.Code = "rateLimitRetryExhausted" // R14
		}
		if n.told > 0 {
			f.Reset = paceline.Reset{At: n.at.Add(n.told), Source: paceline.ResetStated} // R5, R7
		}
	}
	f.Evidence = []paceline.Evidence{{Frame: "silence", Says: f.Notice, Means: f.Cause.String()}}
	return f, true
}
