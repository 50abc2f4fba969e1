package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestStatusWindows(t *testing.T) {
	t.Run("Z4 Z11 Z25 what is left of a usage window is read from the program's own files, and nobody is asked", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{OpenAI: fakeapi.Steps(fakeapi.Text{Text: "Done.", Used: 0.43})})
		lacks(t, b.want(0, "status").out, "% left")
		b.want(0, "run", "-e", "codex", prompt)
		asked := len(b.vendors.Requests())
		out := b.want(0, "status").out
		has(t, out, "codex 5h [###########---------] 57 % left, resets ", ", read ")
		lacks(t, out, "stale")
		var s struct {
			Windows []struct {
				Account, Window string
				Left            float64   `json:"left_pct"`
				ResetsAt        time.Time `json:"resets_at"`
				Stale           bool
			}
		}
		if err := json.Unmarshal([]byte(b.want(0, "status", "--json").out), &s); err != nil || len(s.Windows) == 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		if w := s.Windows[0]; w.Account != "codex" || w.Window != "5h" || w.Left != 57 || w.Stale || !w.ResetsAt.After(time.Now()) {
			t.Errorf("%+v", w)
		}
		if n := len(b.vendors.Requests()); n != asked {
			t.Errorf("%d requests were made for it", n-asked)
		}
	})
	t.Run("Z4 a status that is watched is drawn anew, and ends on Ctrl-C", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{})
		cmd, out, _, wait := b.started("status", "--watch", "--json")
		until(t, "it is drawn twice", func() bool { return strings.Count(out.String(), "\n") >= 2 })
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if r := wait(); r.code != 0 && r.code != 130 {
			t.Error(r)
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("no line of JSON: %s", line)
			}
		}
	})
}
