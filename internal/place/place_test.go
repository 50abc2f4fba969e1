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
	metered := func(c *Candidate) { c.Posture = paceline.PostureMetered }
	down := func(c *Candidate) { c.Health = Health{Down: "route health open: 3", Back: now.Add(time.Minute)} }
	sibling := func(c *Candidate) {
		c.Health = Health{Down: "the same endpoint", Back: now.Add(time.Minute), Shared: true}
	}
	last := func(c *Candidate) { c.Health.Last = "route health degraded: 25%" }
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
		{"Z79 an open route is passed over, for a reason of its own", []Candidate{c("a", down), c("b")}, Ask{}, "b", map[string]string{"a": "route health open: 3"}},
		{"Z79 also by a successor", []Candidate{c("a"), c("b", down), c("c")}, Ask{After: &first}, "c", map[string]string{"b": "route health open: 3"}},
		{"Z79 nowhere healthy: nobody", []Candidate{c("a", down), c("b", down)}, Ask{}, "", map[string]string{"a": "open", "b": "open"}},
		{"Z80 the seat leaves a route of its own that is open", []Candidate{c("a", down)}, Ask{Sits: true}, "", nil},
		{"Z75 and stays where another's is", []Candidate{c("a", sibling)}, Ask{Sits: true}, "a", nil},
		{"Z75 a placement does not go there", []Candidate{c("a", sibling), c("b")}, Ask{}, "b", map[string]string{"a": "the same endpoint"}},
		{"Z72 Z100 a degraded route comes last", []Candidate{c("a", last), c("b")}, Ask{}, "b", map[string]string{"a": "route health degraded: 25%"}},
		{"Z100 after every other that can serve", []Candidate{c("a", last), c("b", down), c("c")}, Ask{}, "c", nil},
		{"Z74 where all are degraded the work stays in its order", []Candidate{c("a", last), c("b", last)}, Ask{}, "a", map[string]string{"b": "comes after a"}},
		{"Z74 a degraded one serves where no other can", []Candidate{c("a", last), c("b", down)}, Ask{}, "a", nil},
		{"Z74 a seat does not leave for it", []Candidate{c("a", last)}, Ask{Sits: true}, "a", nil},
		{"Z72 a successor prefers the better one below", []Candidate{c("a"), c("b", last), c("c")}, Ask{After: &first}, "c", nil},
		{"P6 Z72 other money is not spent for a better route", []Candidate{c("a", last), c("b", metered)}, Ask{}, "a", nil},
		{"P6 Z72 nor is a cage given up", []Candidate{c("a", last), c("b", weaker)}, Ask{Weaker: WeakerAnnounce}, "a", nil},
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
				c.Health.Down = rapid.SampledFrom([]string{"", "", "", "it is down"}).Draw(t, "down")
				c.Health.Shared = rapid.Bool().Draw(t, "shared")
				c.Health.Last = rapid.SampledFrom([]string{"", "", "it is slow"}).Draw(t, "last")
			}))
		}
		a := Ask{Now: now, Sits: rapid.Bool().Draw(t, "sits")}
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

func TestFrees(t *testing.T) {
	limit := func(r paceline.Reset) *paceline.Limit { return &paceline.Limit{Reset: r} }
	stated := paceline.Reset{At: now.Add(time.Hour), Source: paceline.ResetStated}
	back := func(d time.Duration) Health { return Health{Down: "open", Back: now.Add(d)} }
	for _, tt := range []struct {
		name  string
		c     Candidate
		want  paceline.Reset
		known bool
	}{
		{"a limit lifts at its reset", Candidate{Limit: limit(stated)}, stated, true},
		{"Z79 a route that is down is asked again when it is tried again", Candidate{Health: back(time.Minute)}, paceline.Reset{At: now.Add(time.Minute), Source: paceline.ResetAssumed}, true},
		{"the later of the two", Candidate{Limit: limit(stated), Health: back(time.Minute)}, stated, true},
		{"the later of the two, the other way round", Candidate{Limit: limit(stated), Health: back(2 * time.Hour)}, paceline.Reset{At: now.Add(2 * time.Hour), Source: paceline.ResetAssumed}, true},
		{"of a limit that names no reset nobody knows", Candidate{Limit: limit(paceline.Reset{}), Health: back(time.Minute)}, paceline.Reset{}, false},
		{"one that is free is free", Candidate{}, paceline.Reset{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, known := Frees(tt.c, now, false); got != tt.want || known != tt.known {
				t.Errorf("%+v %t", got, known)
			}
			if want := tt.want.Known() || !tt.known; Closed(tt.c, now, false) != want {
				t.Errorf("closed: %t", !want)
			}
		})
	}
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
