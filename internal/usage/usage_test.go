package usage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/paceline/paceline/internal/usage/tally"
)

// home is a folder with both vendors' files.
type home struct {
	t   testing.TB
	dir string
}

func newHome(t testing.TB) home { return home{t, t.TempDir()} }

func (h home) roots() Roots {
	return Roots{Claude: []string{filepath.Join(h.dir, "projects")}, Codex: []string{filepath.Join(h.dir, "sessions"), filepath.Join(h.dir, "archived_sessions")}}
}

func (h home) index() string { return filepath.Join(h.dir, "state", "usage.index") }

func (h home) put(name, text string) {
	h.t.Helper()
	h.do(name, text, os.O_TRUNC)
}

func (h home) append(name, text string) {
	h.t.Helper()
	h.do(name, text, os.O_APPEND)
}

func (h home) do(name, text string, how int) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		h.t.Fatal(err)
	}
}

func (h home) scanner() *Scanner { return New(h.roots(), h.index(), time.UTC) }

func scan(t testing.TB, s *Scanner) *Report {
	t.Helper()
	r, err := s.Scan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Unsaved != nil {
		t.Fatal(r.Unsaved)
	}
	return r
}

// claude is a row that says what an answer cost: its output is told.
func claude(id string, output int) string {
	return fmt.Sprintf(`{"type":"assistant","timestamp":"2026-12-07T10:00:00.000Z","sessionId":"s","message":{"id":"%s","model":"claude-opus-4-6","usage":{"input_tokens":1,"output_tokens":%d}},"requestId":"r"}`, id, output) + "\n"
}

// codex is a rollout's row.
func codex(second, output int) string {
	return fmt.Sprintf(`{"timestamp":"2026-12-07T10:00:%02d.000Z","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":1,"output_tokens":%d,"total_tokens":%d}},"rate_limits":{"limit_id":"codex","primary":{"used_percent":%d.5,"window_minutes":300,"resets_at":1796637600},"secondary":null}}}`, second, output, output+1, second) + "\n"
}

func output(r *Report) (n uint64) {
	for _, s := range r.Sums {
		n += s.Output
	}
	return n
}

func TestScan(t *testing.T) {
	large := strings.Repeat("x", worth)
	for _, c := range []struct {
		name string
		do   func(t *testing.T, h home, s *Scanner)
		want uint64 // output in the end
		read int64  // bytes of the last scan; -1 where that is not the question
	}{
		{"Z86 a second scan reads nothing that is not new", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10))
			scan(t, s)
		}, 10, 0},
		{"Z86 of a file that grew, what it grew by is read", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10))
			scan(t, s)
			h.append("projects/p/a.jsonl", claude("b", 20))
		}, 30, int64(len(claude("b", 20)))},
		{"a file that was rewritten is read again", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10))
			scan(t, s)
			h.put("projects/p/a.jsonl", claude("b", 20)+claude("c", 30))
		}, 50, int64(2 * len(claude("b", 20)))},
		{"a file that was cut is read again", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10)+claude("b", 20))
			scan(t, s)
			h.put("projects/p/a.jsonl", claude("a", 10))
		}, 10, int64(len(claude("a", 10)))},
		{"a file that is gone counts no more", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10))
			h.put("projects/p/b.jsonl", claude("b", 20))
			scan(t, s)
			if err := os.Remove(filepath.Join(h.dir, "projects/p/a.jsonl")); err != nil {
				t.Fatal(err)
			}
		}, 20, 0},
		{"a last row without its end counts once, before it has it and after", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10)+strings.TrimSuffix(claude("b", 20), "\n"))
			h.put("sessions/a.jsonl", codex(1, 100)+strings.TrimSuffix(codex(2, 200), "\n"))
			if n := output(scan(t, s)); n != 330 {
				t.Errorf("output %d without the ends, want 330", n)
			}
			h.append("projects/p/a.jsonl", "\n"+claude("c", 40))
			h.append("sessions/a.jsonl", "\n"+codex(3, 400))
		}, 770, -1},
		{"a row that was cut in two counts when its other half came", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10)+claude("b", 20)[:150])
			if n := output(scan(t, s)); n != 10 {
				t.Errorf("output %d with half a row, want 10", n)
			}
			h.append("projects/p/a.jsonl", claude("b", 20)[150:])
		}, 30, -1},
		{"a row longer than any buffer counts, and so do those around it", func(t *testing.T, h home, s *Scanner) {
			long := strings.Replace(claude("b", 20), `{"type"`, `{"text":"`+strings.Repeat("y", 3*window)+`","type"`, 1)
			h.put("projects/p/a.jsonl", claude("a", 10)+long+claude("c", 40)+claude("d", 80))
		}, 150, -1},
		{"a resumed conversation's copied rows count once", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10)+claude("b", 20))
			h.put("projects/p/b.jsonl", claude("a", 10)+claude("b", 20)+claude("c", 40))
		}, 70, -1},
		{"links, other names and folders elsewhere are not looked at", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10))
			h.put("projects/p/a.json", claude("b", 20))
			h.put("elsewhere/p/a.jsonl", claude("c", 40))
			if err := os.Symlink(filepath.Join(h.dir, "elsewhere"), filepath.Join(h.dir, "projects", "link")); err != nil {
				t.Fatal(err)
			}
		}, 10, -1},
		{"archived rollouts count", func(t *testing.T, h home, s *Scanner) {
			h.put("sessions/2026/12/07/rollout-a.jsonl", codex(1, 10))
			h.put("archived_sessions/rollout-b.jsonl", codex(2, 20))
		}, 30, -1},
		{"nothing there is nothing used", func(*testing.T, home, *Scanner) {}, 0, 0},
		{"a folder that nobody may read is passed over", func(t *testing.T, h home, s *Scanner) {
			h.put("projects/p/a.jsonl", claude("a", 10)+large+"\n")
			h.put("projects/q/b.jsonl", claude("b", 20))
			if err := os.Chmod(filepath.Join(h.dir, "projects/q/b.jsonl"), 0); err != nil {
				t.Fatal(err)
			}
			if os.Getuid() == 0 {
				h.put("projects/q/b.jsonl", "")
			}
		}, 10, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			s := h.scanner()
			c.do(t, h, s)
			r := scan(t, s)
			if got := output(r); got != c.want {
				t.Errorf("output %d, want %d", got, c.want)
			}
			if c.read >= 0 && r.Read != c.read {
				t.Errorf("%d bytes read, want %d", r.Read, c.read)
			}
			if whole := scan(t, New(h.roots(), "", time.UTC)); !cmp.Equal(whole.Sums, r.Sums) {
				t.Errorf("a whole scan: %s", cmp.Diff(whole.Sums, r.Sums))
			}
		})
	}
}

func TestTooLong(t *testing.T) {
	h := newHome(t)
	h.put("projects/p/a.jsonl", claude("a", 10)+strings.Repeat("z", longest+1)+claude("b", 20)+claude("c", 40))
	r := scan(t, h.scanner())
	if output(r) != 50 || r.Long != 1 {
		t.Errorf("output %d, %d too long; want 50 and 1", output(r), r.Long)
	}
}

func TestIndex(t *testing.T) {
	h := newHome(t)
	h.put("projects/p/a.jsonl", claude("a", 10)+strings.Repeat("x", worth)+"\n")
	h.put("sessions/a.jsonl", codex(1, 20)+codex(2, 40))
	first := scan(t, h.scanner())
	again := scan(t, h.scanner())
	if again.Read != 0 {
		t.Errorf("Z86 a new process read %d bytes again", again.Read)
	}
	if diff := cmp.Diff(first.Sums, again.Sums); diff != "" {
		t.Errorf("the index tells other sums: %s", diff)
	}
	if diff := cmp.Diff(first.Limits, again.Limits); diff != "" {
		t.Errorf("the index tells other limits: %s", diff)
	}
	west := time.FixedZone("west", -11*3600)
	if got, want := scan(t, New(h.roots(), h.index(), west)).Sums, scan(t, New(h.roots(), "", west)).Sums; !cmp.Equal(got, want) {
		t.Errorf("the index tells the days of another zone: %s", cmp.Diff(want, got))
	}
	good, err := os.ReadFile(h.index())
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]byte{
		"empty": {}, "cut": good[:len(good)/2], "a bit turned": flipped(good, len(good)/2), "another version": flipped(good, 15), "garbage": []byte(strings.Repeat("\xff", 999)),
	} {
		t.Run("an index that is "+name+" is none", func(t *testing.T) {
			if err := os.WriteFile(h.index(), broken, 0o600); err != nil {
				t.Fatal(err)
			}
			r := scan(t, h.scanner())
			if r.Read != r.Bytes || !cmp.Equal(r.Sums, first.Sums) {
				t.Errorf("%d of %d bytes read: %s", r.Read, r.Bytes, cmp.Diff(first.Sums, r.Sums))
			}
		})
	}
	t.Run("an index that cannot be written spoils no report", func(t *testing.T) {
		s := New(h.roots(), filepath.Join(h.dir, "sessions/a.jsonl/usage.index"), time.UTC)
		r, err := s.Scan(t.Context(), nil)
		if err != nil || r.Unsaved == nil || output(r) != 70 {
			t.Errorf("%v, unsaved %v, output %d", err, r.Unsaved, output(r))
		}
	})
}

func flipped(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 4
	return b
}

func TestLimits(t *testing.T) {
	h := newHome(t)
	h.put("sessions/b.jsonl", codex(1, 1))
	h.put("sessions/a.jsonl", codex(9, 1)+codex(5, 1))
	r := scan(t, h.scanner())
	if len(r.Limits) != 1 {
		t.Fatalf("%+v", r.Limits)
	}
	w := r.Limits[0]
	if w.Used != 9.5 || w.Length != 5*time.Hour || w.Limit != "codex" || !w.Observed.Equal(time.Date(2026, 12, 7, 10, 0, 9, 0, time.UTC)) ||
		!w.Resets.Equal(time.Unix(1796637600, 0)) {
		t.Errorf("Z11 the newest row tells what is left, at its own time: %+v", w)
	}
}

func TestProgress(t *testing.T) {
	h := newHome(t)
	h.put("projects/p/a.jsonl", claude("a", 10))
	var last Progress
	if _, err := h.scanner().Scan(t.Context(), func(p Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if want := int64(len(claude("a", 10))); last != (Progress{want, want}) {
		t.Errorf("in the end %+v, want all of %d bytes", last, want)
	}
}

func TestEnded(t *testing.T) {
	h := newHome(t)
	h.put("projects/p/a.jsonl", claude("a", 10))
	s := h.scanner()
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Scan(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended scan: %v", err)
	}
	if n := output(scan(t, s)); n != 10 {
		t.Errorf("the scan after it: output %d, want 10", n)
	}
}

func TestRecent(t *testing.T) {
	h := newHome(t)
	h.put("projects/p/a.jsonl", claude("a", 10))
	s := h.scanner()
	first, err := s.Recent(t.Context(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.append("projects/p/a.jsonl", claude("b", 20))
	if again, err := s.Recent(t.Context(), 0, nil); err != nil || again != first {
		t.Errorf("Z25 asked again at once, it scanned again: %v", err)
	}
}

// Whatever happens to the files between two scans, the second one comes to the
// sums of a scan that reads everything.
func TestIncrementalIsWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := home{t, t.TempDir()}
		s := h.scanner()
		rows := map[string]string{}
		names := []string{"projects/p/a.jsonl", "projects/p/b.jsonl", "projects/q/s/subagents/c.jsonl", "sessions/a.jsonl", "sessions/b.jsonl"}
		row := func(name string) string {
			if strings.HasPrefix(name, "projects") {
				text := claude(rapid.SampledFrom([]string{"m1", "m2", "m3", "m4"}).Draw(r, "id"), rapid.IntRange(0, 999).Draw(r, "output"))
				if rapid.Bool().Draw(r, "side") {
					text = strings.Replace(text, `"requestId":"r"`, `"isSidechain":true,"requestId":"q"`, 1)
				}
				return text
			}
			return rapid.SampledFrom([]string{
				`{"timestamp":"2026-12-07T09:00:00.000Z","type":"session_meta","payload":{"id":"A"}}` + "\n",
				`{"timestamp":"2026-12-07T11:00:00.000Z","type":"session_meta","payload":{"id":"B","forked_from_id":"A"}}` + "\n",
				`{"timestamp":"2026-12-07T11:00:00.000Z","type":"turn_context","payload":{"model":"gpt-5.6-sol"}}` + "\n",
				codex(1, 1), codex(2, 2), codex(3, 4), codex(50, 8),
			}).Draw(r, "row")
		}
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			name := rapid.SampledFrom(names).Draw(r, "file")
			switch rapid.SampledFrom([]string{"append", "append", "append", "half", "cut", "rewrite", "remove", "restart"}).Draw(r, "step") {
			case "append":
				rows[name] += row(name)
				h.put(name, rows[name])
			case "half":
				text := row(name)
				rows[name] += text[:rapid.IntRange(1, len(text)-1).Draw(r, "to")]
				h.put(name, rows[name])
			case "cut":
				rows[name] = rows[name][:rapid.IntRange(0, len(rows[name])).Draw(r, "to")]
				h.put(name, rows[name])
			case "rewrite":
				rows[name] = row(name) + row(name)
				h.put(name, rows[name])
			case "remove":
				os.Remove(filepath.Join(h.dir, name))
				rows[name] = ""
			case "restart":
				s.unsaved = worth
				scan(h.t, s)
				s = h.scanner()
			}
			got, want := scan(h.t, s), scan(h.t, New(h.roots(), "", time.UTC))
			if diff := cmp.Diff(want.Sums, got.Sums); diff != "" {
				r.Fatalf("sums: %s", diff)
			}
			if diff := cmp.Diff(want.Limits, got.Limits); diff != "" {
				r.Fatalf("limits: %s", diff)
			}
		}
	})
}

func TestMarked(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"\n", "g", "ggggggggggggggggggggggggggggggg", `"usage":{`, `"usage":`, "x", "é", "\x00\xff"})).Draw(r, "parts")
		text := strings.Join(parts, "")
		var got, want []string
		marked([]byte(text), tally.ClaudeMark, nil, func(line []byte) { got = append(got, string(line)) })
		for _, line := range strings.Split(text, "\n") {
			if strings.Contains(line, `"usage":{`) {
				want = append(want, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatal(diff)
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("paceline usage 2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "index")
		sum := sealed(b)
		if err := os.WriteFile(path, sum, 0o600); err != nil {
			t.Fatal(err)
		}
		load(path, time.UTC)
	})
}
