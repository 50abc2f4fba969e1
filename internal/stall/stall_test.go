package stall

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// sign is something that is heard so long after the prompt.
type sign struct {
	after time.Duration
	event wire.Event
}

func retry(after time.Duration, c paceline.Cause, told time.Duration) sign {
	return sign{after, wire.Event{Kind: wire.Retrying, Cause: c, Code: "429", Delay: told}}
}

// retryAt is a 429's that was read in that line.
func retryAt(line int, after time.Duration) sign {
	return sign{after, wire.Event{Kind: wire.Retrying, Line: line, Cause: paceline.CauseThrottle, Code: "429"}}
}

func kind(after time.Duration, k wire.EventKind) sign { return sign{after, wire.Event{Kind: k}} }

func watch(harness string, signs ...sign) Watch {
	w := Begin(Bounds{}.Or(harness), noon)
	for _, s := range signs {
		w = w.Saw(s.event, noon.Add(s.after))
	}
	return w
}

const (
	sec    = time.Second
	minute = time.Minute
)

func TestDeadlines(t *testing.T) {
	throttle, limit := paceline.CauseThrottle, paceline.CauseUsageLimit
	// worst is five announced retries, each noticed at the last moment.
	worst := func(told time.Duration) (out []sign) {
		w, at := watch("codex"), time.Duration(0)
		for range attempts {
			s := retry(at, throttle, told)
			out = append(out, s)
			w = w.Saw(s.event, noon.Add(at))
			at = w.Deadline().Sub(noon)
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		w     Watch
		at    time.Duration // the deadline, after the prompt
		cause paceline.Cause
		reset time.Duration // after the prompt; 0 is none
	}{
		{"R2 R4 R6 the first 429 without a delay: 5 s, and a minute", watch("codex", retry(0, throttle, 0)), 65 * sec, throttle, 0},
		{"R4 the second: 10 s", watch("codex", retry(0, throttle, 0), retry(sec, throttle, 0)), 71 * sec, throttle, 0},
		{"R4 the fifth: 80 s", watch("codex", retry(0, throttle, 0), retry(0, throttle, 0), retry(0, throttle, 0), retry(0, throttle, 0), retry(0, throttle, 0)), 140 * sec, throttle, 0},
		{"R3 a sixth fails the turn", watch("codex", retry(0, throttle, 0), retry(0, throttle, 0), retry(0, throttle, 0), retry(0, throttle, 0), retry(0, throttle, 0), retry(7*sec, throttle, 0)), 7 * sec, throttle, 0},
		{"R5 a told delay is the expected one, from the notice on", watch("codex", retry(3*sec, throttle, 17*sec)), 80 * sec, throttle, 20 * sec},
		{"R7 two hours fail at once, with the reset", watch("codex", retry(3*sec, limit, 2*time.Hour)), 3 * sec, limit, 2*time.Hour + 3*sec},
		{"R7 five minutes are still waited for", watch("codex", retry(0, throttle, 5*minute)), 6 * minute, throttle, 5 * minute},
		{"R9 progress ends the wait for a retry", watch("codex", retry(0, throttle, 0), kind(sec, wire.Text)), 7*minute + sec, paceline.CauseStall, 0},
		{"R9 R22 an item of a subagent is progress", watch("codex", retry(0, throttle, 0), kind(sec, wire.Worked)), 7*minute + sec, paceline.CauseStall, 0},
		{"R9 R21 R22 progress that makes no event ends it too: thinking, a compaction, a subagent's item", watch("codex", kind(0, wire.Text), retryAt(7, sec)).Went(8, noon.Add(2*sec)), 7*minute + 2*sec, paceline.CauseStall, 0},
		{"R9 but not what came before it", watch("codex", kind(0, wire.Text), retryAt(7, sec)).Went(6, noon.Add(sec/2)), 66 * sec, throttle, 0},
		{"R9 and the count begins anew", watch("codex", retryAt(7, 0), retryAt(8, 0)).Went(9, noon).Saw(retryAt(10, 0).event, noon), 65 * sec, throttle, 0},
		{"R9 chatter is not", watch("codex", retry(0, throttle, 0), kind(sec, wire.Announcement), kind(sec, wire.Acked)), 65 * sec, throttle, 0},
		{"R9 after progress the count begins anew", watch("codex", retry(0, throttle, 0), retry(0, throttle, 0), kind(0, wire.Text), retry(0, throttle, 0)), 65 * sec, throttle, 0},
		{"R10 455 s at worst without a Retry-After", watch("codex", worst(0)...), 455 * sec, throttle, 0},
		{"R10 1,800 s at worst with five minutes on each", watch("codex", worst(5*minute)...), 1800 * sec, throttle, 1740 * sec},
		{"R11 a server's fault is not counted, only waited for", watch("codex", retry(0, paceline.CauseServer, 0), retry(0, paceline.CauseServer, 0), retry(0, paceline.CauseServer, 0), retry(0, paceline.CauseServer, 0), retry(0, paceline.CauseServer, 0), retry(0, paceline.CauseServer, 0), retry(0, paceline.CauseServer, 0)), 5*minute + minute, paceline.CauseServer, 0},
		{"R1 retries that nobody counts are not waited for longer than a silence, however often they are announced", watch("codex", retry(0, paceline.CauseTransport, 0), retry(2*minute, paceline.CauseTransport, 0), retry(4*minute, paceline.CauseTransport, 0), retry(6*minute, paceline.CauseTransport, 0)), 7 * minute, paceline.CauseTransport, 0},
		{"R1 nor is one that was announced after that", watch("codex", retry(0, paceline.CauseTransport, 0), retry(8*minute, paceline.CauseTransport, 0)), 8 * minute, paceline.CauseTransport, 0},
		{"R2 a 429 after them is waited for as a 429", watch("codex", retry(0, paceline.CauseTransport, 0), retry(6*minute, throttle, 5*minute)), 12 * minute, throttle, 11 * minute},
		{"P8 a suspend begins the silence anew", watch("codex").Slept(noon.Add(time.Hour)), time.Hour + 7*minute, paceline.CauseStall, 0},
		{"P8 and the wait for a retry", watch("codex", retry(0, throttle, 0)).Slept(noon.Add(time.Hour)), time.Hour + 65*sec, throttle, 0},
		{"bug-34 after a tool call, a 429 and then nothing: 65 s, with its cause", watch("codex", kind(0, wire.Tool), kind(sec, wire.ToolDone), retry(2*sec, throttle, 0)), 67 * sec, throttle, 0},
		{"bug-35 the retries are used up, and then nothing: 140 s after the last", watch("codex", retry(0, throttle, 0), retry(sec, throttle, 0), retry(2*sec, throttle, 0), retry(3*sec, throttle, 0), retry(4*sec, throttle, 0)), 144 * sec, throttle, 0},
		{"A first retry that names a sign-out ends the wait at once", watch("claude", retry(2*sec, paceline.CauseAuth, sec)), 2 * sec, paceline.CauseAuth, 3 * sec},
		{"A first retry that names an empty purse ends the wait at once", watch("claude", retry(2*sec, paceline.CauseBilling, 0)), 2 * sec, paceline.CauseBilling, 0},
		{"A retry whose cause nobody told is a stall", watch("claude", retry(0, paceline.CauseUnknown, 0)), 65 * sec, paceline.CauseStall, 0},
		{"No sign at all after the prompt", watch("claude"), 7 * minute, paceline.CauseStall, 0},
		{"A stream that stops in the middle", watch("claude", kind(minute, wire.Text)), 8 * minute, paceline.CauseStall, 0},
		{"A tool may be silent for longer", watch("codex", kind(0, wire.Tool)), 2 * time.Hour, paceline.CauseStall, 0},
		{"of two, the other still runs", watch("codex", kind(0, wire.Tool), kind(0, wire.Tool), kind(sec, wire.ToolDone)), 2*time.Hour + sec, paceline.CauseStall, 0},
		{"and no longer when it has ended", watch("codex", kind(0, wire.Tool), kind(sec, wire.ToolDone)), 7*minute + sec, paceline.CauseStall, 0},
		{"A heartbeat is a sign", watch("claude", kind(0, wire.Tool)).Heard(noon.Add(30 * sec)), 10*minute + 30*sec, paceline.CauseStall, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := noon.Add(tt.at)
			if got := tt.w.Deadline(); !got.Equal(at) {
				t.Fatalf("gives up after %s, want %s", got.Sub(noon), tt.at)
			}
			if f, ok := tt.w.Verdict(at.Add(-1)); ok {
				t.Errorf("R8 a moment too early: %+v", f)
			}
			f, ok := tt.w.Verdict(at)
			if !ok || f.Cause != tt.cause || !f.Retryable || len(f.Evidence) == 0 {
				t.Fatalf("R1 R8 at the very moment: %t %+v", ok, f)
			}
			var reset time.Time
			if tt.reset > 0 {
				reset = noon.Add(tt.reset)
			}
			if !f.Reset.At.Equal(reset) {
				t.Errorf("reset %v, want %v", f.Reset, reset)
			}
			if tt.w.notice.limited && f.Code != "rateLimitRetryExhausted" {
				t.Errorf("R14 code %q", f.Code)
			}
			if !strings.Contains(f.Notice, " ") || f.Work != paceline.WorkUnknown {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestSuspended(t *testing.T) {
	for _, tt := range []struct {
		name        string
		wall, awake time.Duration
		want        bool
	}{
		{"P8 an hour by the wall, a minute awake: it slept", time.Hour, minute, true},
		{"P8 both alike", minute, minute, false},
		{"P8 a clock that was put right by seconds", minute + 5*sec, minute, false},
		{"P8 a clock that was put back", 0, minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Suspended(tt.wall, tt.awake); got != tt.want {
				t.Error(got)
			}
		})
	}
}

func TestAlwaysADeadline(t *testing.T) {
	t.Run("R1 P5 whatever is heard, there is a deadline, and it is never later than its bound", rapid.MakeCheck(func(t *rapid.T) {
		b := Bounds{}.Or(rapid.SampledFrom([]string{"claude", "codex", "another"}).Draw(t, "harness"))
		w, now := Begin(b, noon), noon
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "s")) * time.Second)
			w = w.Saw(wire.Event{
				Kind:  wire.EventKind(rapid.IntRange(0, int(wire.Ended)).Draw(t, "kind")),
				Cause: paceline.Cause(rapid.IntRange(0, int(paceline.CauseOther)).Draw(t, "cause")),
				Delay: time.Duration(rapid.IntRange(0, 9000).Draw(t, "delay")) * time.Second,
			}, now)
			at := w.Deadline()
			if most := max(b.First, b.Progress, b.Tool, longest+b.Grace); at.After(now.Add(most)) {
				t.Fatalf("gives up %s from now, at most %s", at.Sub(now), most)
			}
			if _, ok := w.Verdict(at); !ok {
				t.Fatal("its deadline has no verdict")
			}
		}
	}))
}

func BenchmarkThousandSilent(b *testing.B) {
	ws := make([]Watch, 1000)
	for i := range ws {
		ws[i] = watch("codex", retry(0, paceline.CauseThrottle, 0))
	}
	for b.Loop() {
		for _, w := range ws {
			if _, ok := w.Verdict(noon); ok {
				b.Fatal("too early")
			}
		}
	}
}
