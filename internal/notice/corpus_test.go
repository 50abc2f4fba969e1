package notice

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// row is a row of the corpus of real notices.
type row struct {
	ID      string    `json:"id"`
	Harness string    `json:"harness"`
	Channel string    `json:"channel"`
	Text    string    `json:"text"`
	At      time.Time `json:"observed_at"`
	Zone    string    `json:"host_tz"`
	Expect  struct {
		Class       string      `json:"class"`
		Accept      []string    `json:"accept_class"`
		Reset       time.Time   `json:"reset_at"`
		AcceptReset []time.Time `json:"accept_reset_at"`
		Source      string      `json:"reset_source"`
		Window      string      `json:"window"`
		Terminal    bool        `json:"terminal"`
		Tolerance   float64     `json:"tolerance_s"`
	} `json:"expect"`
	Ambiguous bool `json:"ambiguous"`
}

func corpus(tb testing.TB) []row { return rowsOf(tb, "testdata/corpus.jsonl", 300) }

func rowsOf(tb testing.TB, path string, least int) (rows []row) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var r row
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			tb.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) < least {
		tb.Fatalf("only %d rows", len(rows))
	}
	return rows
}

func (r row) read(tb testing.TB) Notice {
	tb.Helper()
	at := r.At.UTC()
	if r.Zone != "" {
		l, err := time.LoadLocation(r.Zone)
		if err != nil {
			tb.Fatal(err)
		}
		at = at.In(l)
	}
	return From(r.Channel, r.Text, at)
}

func (r row) wrong(n Notice) (what []string) {
	e := r.Expect
	if c := n.Class.String(); c != e.Class && !slices.Contains(e.Accept, c) {
		what = append(what, fmt.Sprintf("class %s, want %s", c, e.Class))
	}
	near := func(t time.Time) bool {
		if t.IsZero() {
			return n.Reset.At.IsZero()
		}
		tolerance := max(e.Tolerance, 1)
		return !n.Reset.At.IsZero() && n.Reset.At.Sub(t).Abs().Seconds() <= tolerance
	}
	if !near(e.Reset) && !slices.ContainsFunc(e.AcceptReset, near) {
		what = append(what, fmt.Sprintf("reset %v (%s), want %v (%s)", n.Reset.At, n.Origin, e.Reset, e.Source))
	} else if n.Origin.String() != e.Source && !r.Ambiguous {
		what = append(what, fmt.Sprintf("origin %s, want %s", n.Origin, e.Source))
	}
	if n.Terminal() != e.Terminal {
		what = append(what, fmt.Sprintf("terminal %t, want %t", n.Terminal(), e.Terminal))
	}
	return what
}

// TestCorpus holds the parser to every real notice that was collected, and
// prints its score per class and harness.
func TestCorpus(t *testing.T) {
	type score struct{ right, of int }
	scores := map[string]*score{}
	windows := score{}
	add := func(key string, right bool) {
		if scores[key] == nil {
			scores[key] = &score{}
		}
		if scores[key].of++; right {
			scores[key].right++
		}
	}
	for _, r := range corpus(t) {
		n := r.read(t)
		wrong := r.wrong(n)
		add("class   "+r.Expect.Class, len(wrong) == 0)
		add("harness "+strings.SplitN(r.ID, "-", 2)[0], len(wrong) == 0)
		if windows.of++; n.Window == r.Expect.Window || n.Window == "" && r.Expect.Window == "unknown" {
			windows.right++
		} else if os.Getenv("WINDOWS") != "" {
			t.Logf("%s window %q, want %q: %.100q", r.ID, n.Window, r.Expect.Window, r.Text)
		}
		if len(wrong) > 0 {
			t.Errorf("P7 A2 A3 A4 %s: %s\n  %.300q", r.ID, strings.Join(wrong, "; "), r.Text)
		}
	}
	keys := make([]string, 0, len(scores))
	for k := range scores {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		t.Logf("%-32s %3d of %3d", k, scores[k].right, scores[k].of)
	}
	t.Logf("%-32s %3d of %3d (those that only the distance tells are left unsaid)", "window", windows.right, windows.of)
}

// TestVariants holds it to wordings of the same families that nobody collected:
// other zones, other clocks, other programs, and texts that only quote a notice.
func TestVariants(t *testing.T) {
	for _, r := range rowsOf(t, "testdata/variants.jsonl", 100) {
		n := r.read(t)
		r.Ambiguous = true // their origin is not said
		if c := n.Class.String(); c != r.Expect.Class && slices.Contains(r.Expect.Accept, c) {
			r.Expect.Terminal = n.Terminal()
		}
		if wrong := r.wrong(n); len(wrong) > 0 {
			t.Errorf("P7 A2 A3 A4 %s: %s\n  %.300q", r.ID, strings.Join(wrong, "; "), r.Text)
		}
	}
}
