package place

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/paceline/paceline"
)

var now = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

func c(name string, change ...func(*Candidate)) Candidate {
	out := Candidate{Engine: paceline.Engine{Account: name}, Route: name + ":443", Posture: paceline.PostureSubscription}
	for _, f := range change {
		f(&out)
	}
	return out
}

func TestChoose(t *testing.T) {
	limited := func(at time.Time) func(*Candidate) {
		return func(c *Candidate) {
			c.Limit = &paceline.Limit{Engine: c.Engine, Reset: paceline.Reset{At: at, Source: paceline.ResetStated}}
		}
	}
	words := func(c *Candidate) { c.Limit.Reset.Source = paceline.ResetDerived }
	weaker := func(c *Candidate) { c.Containment.Weaker = "no cage" }
	first := c("a")
	for _, tt := range []struct {
		name string
		cs   []Candidate
		ask  Ask
		want string // "" is nobody
		out  map[string]string
	}{
		{"the first that can serve", []Candidate{c("a"), c("b")}, Ask{}, "a", map[string]string{"b": "comes after a"}},
		{"a limited one is passed over until its reset", []Candidate{c("a", limited(now.Add(time.Hour))), c("b")}, Ask{}, "b", map[string]string{"a": "limited until 2026-12-01T03:00:00Z (stated)"}},
		{"a lifted limit holds nothing", []Candidate{c("a", limited(now)), c("b")}, Ask{}, "a", nil},
		{"a reset that was read from words holds a minute more", []Candidate{c("a", limited(now.Add(-59*time.Second)), words), c("b")}, Ask{}, "b", map[string]string{"a": "limited until"}},
		{"and no longer", []Candidate{c("a", limited(now.Add(-time.Minute)), words), c("b")}, Ask{}, "a", nil},
		{"a limit without a reset holds", []Candidate{c("a", limited(time.Time{})), c("b")}, Ask{}, "b", map[string]string{"a": "did not say until when"}},
		{"Z20 an unready one says why", []Candidate{c("a", func(c *Candidate) { c.Unready = "it is signed out" }), c("b")}, Ask{}, "b", map[string]string{"a": "it is signed out"}},
		{"F11 a hop goes down, never up", []Candidate{c("a"), c("b"), c("c")}, Ask{After: ptr(c("b"))}, "c", map[string]string{"a": "at or above", "b": "at or above"}},
		{"F11 nobody stands below the last", []Candidate{c("a"), c("b")}, Ask{After: ptr(c("b"))}, "", nil},
		{"F70 an engine serves a message once", []Candidate{c("a"), c("b"), c("c")}, Ask{After: &first, Tried: []paceline.Engine{{Account: "b"}}}, "c", map[string]string{"b": "already had this message"}},
		{"Z47 metered money is not spent for a subscription's", []Candidate{c("a"), c("b", func(c *Candidate) { c.Posture = paceline.PostureMetered }), c("c")}, Ask{After: &first}, "c", map[string]string{"b": "posture is metered"}},
		{"F45 a weaker containment is skipped", []Candidate{c("a"), c("b", weaker), c("c")}, Ask{After: &first}, "c", map[string]string{"b": "weaker: no cage"}},
		{"F45 or announced, where the operator said so", []Candidate{c("a"), c("b", weaker)}, Ask{After: &first, Weaker: WeakerAnnounce}, "b", nil},
		{"F45 one that is as weak as where it was is not weaker", []Candidate{c("a", weaker), c("b", weaker)}, Ask{After: ptr(c("a", weaker))}, "b", nil},
		{"the same route fails again", []Candidate{c("a"), c("b", func(c *Candidate) { c.Route = "a:443" }), c("c")}, Ask{After: &first, OffRoute: true}, "c", map[string]string{"b": "same route"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.ask.Now = now
			got := Choose(tt.cs, tt.ask)
			if got.Engine.Account != tt.want || got.Found != (tt.want != "") {
				t.Fatalf("chose %q, want %q (%+v)", got.Engine, tt.want, got.Out)
			}
			for name, why := range tt.out {
				if !excluded(got, name, why) {
					t.Errorf("%s should be out because %q: %+v", name, why, got.Out)
				}
			}
		})
	}
}

func TestEveryLoserIsNamed(t *testing.T) {
	t.Run("P5 Z10 the same question has the same answer, and names every other engine once", rapid.MakeCheck(func(t *rapid.T) {
		var cs []Candidate
		for i := range rapid.IntRange(1, 6).Draw(t, "n") {
			cs = append(cs, c(string(rune('a'+i)), func(c *Candidate) {
				c.Unready = rapid.SampledFrom([]string{"", "", "it is signed out"}).Draw(t, "unready")
				c.Posture = paceline.Posture(rapid.IntRange(0, 3).Draw(t, "posture"))
				c.Containment.Weaker = rapid.SampledFrom([]string{"", "", "no cage"}).Draw(t, "weaker")
			}))
		}
		a := Ask{Now: now}
		if rapid.Bool().Draw(t, "after") {
			a.After = &cs[rapid.IntRange(0, len(cs)-1).Draw(t, "which")]
		}
		ch := Choose(cs, a)
		if diff := cmp.Diff(ch, Choose(cs, a)); diff != "" {
			t.Fatal(diff)
		}
		named := map[paceline.Engine]int{}
		for _, x := range ch.Out {
			if x.Why == "" {
				t.Fatalf("%s is out without a reason", x.Engine)
			}
			named[x.Engine]++
		}
		if ch.Found {
			named[ch.Engine]++
		}
		for _, c := range cs {
			if named[c.Engine] != 1 {
				t.Fatalf("%s is named %d times", c.Engine, named[c.Engine])
			}
		}
	}))
}

func excluded(ch Choice, name, why string) bool {
	for _, x := range ch.Out {
		if x.Engine.Account == name && strings.Contains(x.Why, why) {
			return true
		}
	}
	return false
}

func ptr[T any](v T) *T { return &v }
