package claude

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the golden tables; then read every changed line")

// noon is when every line of a test is read.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// replay reads a whole stream, to its end.
func replay(r *Reader, lines ...string) []wire.Event {
	var events []wire.Event
	for _, l := range lines {
		events = append(events, r.Observe([]byte(l), noon)...)
	}
	return append(events, r.Close()...)
}

func recorded(t testing.TB, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func of(events []wire.Event, kind wire.EventKind) []wire.Event {
	var out []wire.Event
	for _, e := range events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func endings(events []wire.Event) []wire.Ending {
	var out []wire.Ending
	for _, e := range of(events, wire.Ended) {
		out = append(out, *e.Ending)
	}
	return out
}

func verdict(e wire.Ending) string {
	f := e.Failure
	s := fmt.Sprintf("turn %d %s: work %s", e.Turn, e.Outcome, f.Work)
	if f.Cause != paceline.CauseUnknown {
		s += fmt.Sprintf(", %s (%s)", f.Cause, f.Code)
	}
	if f.Retryable {
		s += ", retryable"
	}
	if f.Reset.Known() {
		s += fmt.Sprintf(", %s lifts %s (%s)", f.Scope, f.Reset.At.Format(time.DateTime), f.Reset.Source)
	}
	if e.Answer != "" {
		s += fmt.Sprintf(", answer %q", e.Answer)
	}
	if f.Notice != "" {
		s += fmt.Sprintf(", notice %q", f.Notice)
	}
	return s
}

// table is what people check: a stream's verdicts, and the frames behind them.
func table(events []wire.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Kind {
		case wire.Opened:
			fmt.Fprintf(&b, "  %3d opened %s posture %s\n", e.Line, e.Model, e.Posture)
		case wire.Acked:
			fmt.Fprintf(&b, "  %3d acked\n", e.Line)
		case wire.Tool, wire.File, wire.Approval:
			fmt.Fprintf(&b, "  %3d %s %s\n", e.Line, e.Kind, e.Name)
		case wire.ToolDone:
			fmt.Fprintf(&b, "  %3d tool done, ok %t\n", e.Line, e.OK)
		case wire.Retrying:
			fmt.Fprintf(&b, "  %3d retrying %s (%s) after %s\n", e.Line, e.Cause, e.Code, e.Delay)
		case wire.Limited:
			fmt.Fprintf(&b, "  %3d limited, work %s, until %s\n", e.Line, e.Failure.Work, e.Failure.Reset.At.Format(time.DateTime))
		case wire.Announcement:
			fmt.Fprintf(&b, "  %3d announcement %q\n", e.Line, e.Text)
		case wire.Worked, wire.Unknown:
			fmt.Fprintf(&b, "  %3d %s: %s\n", e.Line, e.Kind, spotted(e.Evidence))
		case wire.Ended:
			fmt.Fprintf(&b, "  %3d %s\n", e.Line, verdict(*e.Ending))
			for _, ev := range e.Ending.Failure.Evidence {
				fmt.Fprintf(&b, "        %d %s\n", ev.Line, spotted(ev))
			}
		}
	}
	return b.String()
}

func spotted(e paceline.Evidence) string {
	return fmt.Sprintf("%s [%s] = %s", e.Frame, e.Says, e.Means)
}

func TestReplay(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	if len(files) < 50 {
		t.Fatalf("only %d recordings", len(files))
	}
	var b bytes.Buffer
	for _, file := range files {
		events := replay(New(), recorded(t, file)...)
		fmt.Fprintf(&b, "%s\n%s", strings.TrimSuffix(filepath.Base(file), ".jsonl"), table(events))
		sane(t, file, events)
	}
	golden(t, "testdata/verdicts.txt", b.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("the verdicts changed (-want +got); with -update, read every line:\n%s", diff)
	}
}

// sane holds what must be true of every stream there is.
func sane(t testing.TB, name string, events []wire.Event) {
	t.Helper()
	worked, limited := 0, false
	for _, e := range events {
		switch e.Kind {
		case wire.Worked:
			if worked++; worked > 1 {
				t.Errorf("%s: line %d: worked twice in one turn", name, e.Line)
			}
			if e.Evidence.Says == "" || e.Evidence.Frame == "" {
				t.Errorf("%s: line %d: worked without evidence", name, e.Line)
			}
		case wire.Limited:
			limited = true
			if e.Failure == nil || e.Failure.Cause != paceline.CauseUsageLimit || len(e.Failure.Evidence) == 0 {
				t.Errorf("%s: line %d: limited by %+v", name, e.Line, e.Failure)
			}
		case wire.Ended:
			f := e.Ending.Failure
			if (worked > 0) != (f.Work != paceline.WorkNone) {
				t.Errorf("%s: line %d: worked %d times, but work %s", name, e.Line, worked, f.Work)
			}
			if len(f.Evidence) == 0 {
				t.Errorf("%s: line %d: a verdict without evidence", name, e.Line)
			}
			if e.Ending.Outcome == paceline.OutcomeCompleted && f.Cause != paceline.CauseUnknown {
				t.Errorf("%s: line %d: completed, with cause %s", name, e.Line, f.Cause)
			}
			if limited && e.Ending.Outcome == paceline.OutcomeFailed && f.Cause != paceline.CauseUsageLimit {
				t.Errorf("%s: line %d: limited, then %s", name, e.Line, f.Cause)
			}
			worked, limited = 0, false
		}
	}
}

// TestEveryRecording reads all recordings, where they are at hand.
func TestEveryRecording(t *testing.T) {
	const shared = "../../../../shared/fixtures/claude"
	files, _ := filepath.Glob(shared + "/*/stdout*.jsonl")
	if len(files) == 0 {
		t.Skip("the full set of recordings is not beside this checkout")
	}
	for _, file := range files {
		lines := recorded(t, file)
		events := replay(New(), lines...)
		sane(t, file, events)
		all := endings(events)
		if len(all) == 0 {
			continue
		}
		if of(events, wire.Unknown) != nil && !strings.HasSuffix(file, "stdout.text.jsonl") {
			t.Errorf("%s: a recorded frame is unknown: %+v", file, of(events, wire.Unknown)[0].Evidence)
		}
		name := strings.TrimSuffix(strings.Replace(file, "stdout", "exit", 1), ".jsonl")
		b, err := os.ReadFile(name)
		if err != nil {
			continue // ended from outside, with no exit kept
		}
		exit, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		last := all[len(all)-1]
		var want []paceline.Outcome
		switch exit {
		case 0: // a SIGINT ends the turn, and the program with no error
			want = []paceline.Outcome{paceline.OutcomeCompleted, paceline.OutcomeInterrupted}
		case 1:
			want = []paceline.Outcome{paceline.OutcomeFailed, paceline.OutcomeInterrupted}
		default: // killed
			want = []paceline.Outcome{paceline.OutcomeIncomplete}
		}
		if !slices.Contains(want, last.Outcome) {
			t.Errorf("%s: exit %d, but %s", file, exit, verdict(last))
		}
	}
}
