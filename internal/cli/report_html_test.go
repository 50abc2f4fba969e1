package cli

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func night() report {
	at := func(h, m int) time.Time { return time.Date(2026, 12, 1, h, m, 0, 0, time.UTC) }
	return report{
		Since: at(0, 0), Until: at(12, 0),
		Lost: map[string]float64{"usage_limit": 3 * 3600, "server": 240, "crash": 0.4},
		Threads: []threadReport{{
			Thread: "t-1", Title: "Fix the failing test", Dir: "/src/p", Answered: 1, Messages: 2, Status: "answered",
			Engines: []string{"claude", "codex"}, Chain: []string{"claude", "codex"},
			Runs: []spell{
				{"r-1", "claude", "failed", at(1, 0), at(2, 0)},
				{"r-2", "codex", "failed", at(2, 0), at(5, 0)},
				{"r-3", "claude", "done", at(8, 0), at(9, 30)},
			},
			Moves: []move{
				{At: at(2, 0), From: "claude", To: "codex", Cause: "usage_limit", Idle: 2},
				{At: at(5, 0), From: "codex", To: "claude", Cause: "usage_limit", Idle: 3*3600 - 2},
			},
		}, {
			Thread: "t-2", Title: "Alone", Dir: "/src/q", Messages: 1, Status: "open", Outcome: "claude could not be reached",
			Engines: []string{"claude"}, Chain: []string{"claude"},
			Runs:  []spell{{"r-4", "claude", "failed", at(11, 50), at(11, 56)}},
			Moves: []move{{At: at(11, 56), From: "claude", Cause: "server", Idle: 240}},
		}},
	}
}

func rendered(t *testing.T, r report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.html(&b, time.UTC); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportPage(t *testing.T) {
	got := rendered(t, night())
	const golden = "testdata/report.html"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got (-update writes it anew):\n%s", diff)
	}
	for _, foreign := range []string{"<script", "http:", "https:", "url(", "@import", "src="} {
		if strings.Contains(got, foreign) {
			t.Errorf("the page holds %q: it is to need nothing from elsewhere", foreign)
		}
	}
}

func TestReportPageOfNothing(t *testing.T) {
	r := night()
	r.Threads, r.Lost = nil, nil
	if got := rendered(t, r); !strings.Contains(got, "Nothing was worked on.") || strings.Contains(got, "<svg") {
		t.Errorf("an empty night:\n%s", got)
	}
}

// TestReportPageEscapes puts markup into each field in turn. The page must not
// have one mark more than it has with a plain word there.
func TestReportPageEscapes(t *testing.T) {
	const bad = "\"'></title></style></svg><script>alert(1)</script><!--{{.}}`javascript:"
	fields := 0
	planted := func(r *report, word string, n int) bool {
		i := 0
		return plant(reflect.ValueOf(r).Elem(), func() bool { i++; return i-1 == n }, word)
	}
	for n := 0; ; n++ {
		plain, evil := night(), night()
		if !planted(&plain, "word", n) {
			fields = n
			break
		}
		planted(&evil, bad, n)
		want, got := rendered(t, plain), rendered(t, evil)
		for _, mark := range []string{"<", ">", `"`, "'", "<!--", "<script"} {
			if w, g := strings.Count(want, mark), strings.Count(got, mark); w != g {
				t.Errorf("field %d: %d of %q, %d with markup in it", n, w, mark, g)
			}
		}
	}
	if fields < 30 {
		t.Errorf("only %d fields were tried", fields)
	}
}

// plant sets the string that hit names to word, and reports whether there was one.
func plant(v reflect.Value, hit func() bool, word string) bool {
	switch v.Kind() {
	case reflect.String:
		if !hit() {
			return false
		}
		v.SetString(word)
		return true
	case reflect.Slice:
		for i := range v.Len() {
			if plant(v.Index(i), hit, word) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() && plant(v.Field(i), hit, word) {
				return true
			}
		}
	case reflect.Map: // of causes to seconds
		if hit() {
			v.SetMapIndex(reflect.ValueOf(word), reflect.ValueOf(7200.0))
			return true
		}
	}
	return false
}
