package claude

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// FuzzObserve: no line panics, nor does any make a turn more innocent than it
// was; and a line that is not known is never no work.
func FuzzObserve(f *testing.F) {
	for _, l := range rejection(toolCall, textDelta, "\x00", `{"type":"x"}`, hook("hook_started", "Stop"), system("task_started")) {
		f.Add([]byte(l))
	}
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, file := range files {
		for i, l := range recorded(f, file) {
			if i%7 == 0 && len(l) < 1000 {
				f.Add([]byte(l))
			}
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r := New()
		r.Expect("u1")
		events := r.Observe(line, noon)
		ParseControl(line)
		AccountFrom(line, noon)
		read("u1", prompt("u1"), string(line), limitRow)
		if len(of(events, wire.Ended)) > 0 { // it was a result
			sane(t, "fuzz", events)
			return
		}
		events = append(events, replay(r, limitCall, limitEnd)...)
		sane(t, "fuzz", events)
		if got := endings(events)[0].Failure.Work; len(of(events, wire.Unknown)) > 0 && got == paceline.WorkNone {
			t.Errorf("an unknown frame, and work none: %q", line)
		}
	})
}

// pool is every recorded line that is of interest, and some that are not.
func pool(t *testing.T) []string {
	lines := []string{initLine, asking, rejected, echo, limitCall, limitEnd, textDelta, toolCall, `{"type":"telepathy"}`, "garbage", "", system("seance")}
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, file := range files {
		for i, l := range recorded(t, file) {
			if i%5 == 0 {
				lines = append(lines, l)
			}
		}
	}
	return lines
}

// TestAnyOrder: whatever order frames come in and however often, a turn's work
// only ever rises, its first work is announced once, and every turn ends once.
func TestAnyOrder(t *testing.T) {
	lines := pool(t)
	rapid.Check(t, func(t *rapid.T) {
		r := New()
		var events []wire.Event
		work := paceline.WorkNone
		for range rapid.IntRange(1, 60).Draw(t, "frames") {
			if rapid.IntRange(0, 15).Draw(t, "expect") == 0 {
				r.Expect("u")
			}
			before := r.turn
			events = append(events, r.Observe([]byte(rapid.SampledFrom(lines).Draw(t, "line")), noon)...)
			if r.turn == nil || r.turn != before {
				work = paceline.WorkNone
			}
			if r.turn != nil {
				if rank(r.turn.work) < rank(work) {
					t.Fatalf("work fell from %s to %s", work, r.turn.work)
				}
				work = r.turn.work
			}
		}
		opened := r.turns
		events = append(events, r.Close()...)
		ends := endings(events)
		if len(ends) != opened {
			t.Fatalf("%d turns opened, %d ended", opened, len(ends))
		}
		for i, e := range ends {
			if e.Turn != i+1 {
				t.Fatalf("the %d. turn to end is turn %d", i+1, e.Turn)
			}
		}
		worked := 0
		for _, e := range events {
			switch e.Kind {
			case wire.Worked:
				worked++
			case wire.Ended:
				if want := e.Ending.Failure.Work != paceline.WorkNone; worked > 1 || (worked == 1) != want {
					t.Fatalf("worked %d times in a turn of work %s", worked, e.Ending.Failure.Work)
				}
				worked = 0
			}
		}
	})
}

// rank orders work by what it forbids.
func rank(w paceline.Work) int {
	return map[paceline.Work]int{paceline.WorkNone: 0, paceline.WorkUnknown: 1, paceline.WorkSome: 2}[w]
}

// TestRepeatedFrames: a stream in which any frame is told twice ends in the
// same verdicts.
func TestRepeatedFrames(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SampledFrom(files).Draw(t, "recording")
		lines := recorded(nilTB{}, file)
		var twice []string
		for _, l := range lines {
			twice = append(twice, l)
			if rapid.Bool().Draw(t, "again") {
				twice = append(twice, l)
			}
		}
		want, got := endings(replay(New(), lines...)), endings(replay(New(), twice...))
		if len(want) != len(got) {
			t.Fatalf("%s: %d turns, told twice %d", file, len(want), len(got))
		}
		for i := range want {
			if verdict(want[i]) != verdict(got[i]) {
				t.Fatalf("%s:\n%s\ntold twice:\n%s", file, verdict(want[i]), verdict(got[i]))
			}
		}
	})
}

// nilTB lets a property read a recording that the table test has already read.
type nilTB struct{ testing.TB }

func (nilTB) Helper()        {}
func (nilTB) Fatal(a ...any) { panic(a) }

// BenchmarkObserve reads a stream that is nearly all deltas of text.
func BenchmarkObserve(b *testing.B) {
	var lines [][]byte
	bytes := 0
	for _, l := range recorded(b, "testdata/steer-text.jsonl") {
		n := 1
		if strings.Contains(l, "text_delta") {
			n = 100
		}
		for range n {
			lines = append(lines, []byte(l))
			bytes += len(l)
		}
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		r := New()
		for _, l := range lines {
			r.Observe(l, noon)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(lines)), "ns/line")
}
