package health

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func policies(t *rapid.T) Policy {
	p := Policy{
		Enabled:    true,
		OpenAfter:  rapid.IntRange(1, MaxFails).Draw(t, "open after"),
		Window:     time.Duration(rapid.IntRange(1, 1200).Draw(t, "window")) * time.Second,
		Cooldown:   time.Duration(rapid.IntRange(1, 1200).Draw(t, "cooldown")) * time.Second,
		ErrorPct:   rapid.IntRange(1, 100).Draw(t, "rate"),
		MinSamples: rapid.IntRange(2, 12).Draw(t, "samples"),
	}
	if rapid.Bool().Draw(t, "latency") {
		p.TTFT = time.Duration(rapid.IntRange(1000, 60_000).Draw(t, "ttft")) * time.Millisecond
	}
	return p
}

func outcomes(t *rapid.T, i int, now time.Time) Outcome {
	return Outcome{
		Kind: Kind(rapid.IntRange(0, int(ModelRefused)).Draw(t, "kind")),
		// Some come twice, late, or without a time.
		ID:    fmt.Sprintf("r-%d", rapid.IntRange(max(0, i-3), i).Draw(t, "id")),
		At:    rapid.SampledFrom([]time.Time{now, now, now, now.Add(-time.Minute), now.Add(-time.Hour), now.Add(time.Minute), {}}).Draw(t, "at"),
		New:   rapid.Bool().Draw(t, "new"),
		Model: rapid.SampledFrom([]string{"", "opus", "sonnet"}).Draw(t, "model"),
		First: time.Duration(rapid.IntRange(0, 90).Draw(t, "first")) * time.Second,
	}
}

func TestAnyOrder(t *testing.T) {
	t.Run("Z66 Z77 Z83 Z86 in any order of outcomes and placements: one trial at a time, nothing counted twice, and every phase heals", rapid.MakeCheck(func(t *rapid.T) {
		p := policies(t)
		r, at := Record{Route: route}, now
		var holder string
		var expires time.Time
		var seen []Outcome
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(0, 120_000).Draw(t, "ms")) * time.Millisecond)
			before := r
			if rapid.Bool().Draw(t, "placement") {
				who := fmt.Sprintf("r-%d", rapid.IntRange(i, i+2).Draw(t, "who"))
				v := Admit(r, who, at, p)
				r = v.Record
				if v.OK == (v.Why != "") || v.OK != v.Back.IsZero() {
					t.Fatalf("a verdict without a reason: %+v", v)
				}
				if !v.OK && !v.Back.After(at) {
					t.Fatalf("denied until %s at %s", v.Back, at)
				}
				if v.Claimed {
					if holder != "" && holder != who && at.Before(expires) {
						t.Fatalf("Z77 %s and %s try it at once", holder, who)
					}
					holder, expires = who, r.Trial.Until
				}
				if v.OK && r.Phase == HalfOpen && r.Trial.Who != who {
					t.Fatal("Z77 somebody goes to a half-open route without the trial")
				}
				if again := Admit(r, who, at, p); again.OK != v.OK || again.Claimed {
					t.Fatalf("the same question has another answer: %+v, then %+v", v, again)
				}
			} else {
				o := outcomes(t, i, at)
				seen = append(seen, o)
				var lines []Line
				r, lines = Observe(r, o, at, p)
				again, more := Observe(r, o, at, p)
				if diff := cmp.Diff(r, again); diff != "" || len(more) > 0 {
					t.Fatalf("Z86 the same outcome again: %s, told %v", diff, more)
				}
				for _, l := range lines {
					if l.Text == "" || l.Why == "" {
						t.Fatalf("Z84 a line without a word: %+v", l)
					}
				}
				aged, _ := Age(before, at, p)
				if aged.Phase != r.Phase && len(lines) == 0 && r.Phase != Suspect && r.Phase != Healthy {
					t.Fatalf("Z84 %s to %s is not told", aged.Phase, r.Phase)
				}
				if (o.Kind == Capacity || o.Kind == Session || o.Kind == Nothing) && r.Phase != aged.Phase {
					t.Fatalf("Z70 %s made %s of %s", o.Kind, r.Phase, aged.Phase)
				}
			}
			if r.Trial.Who == "" {
				holder = ""
			}
			if len(r.Fails) > MaxFails || len(r.Oks) > maxOks || len(r.Refused) > maxRefused {
				t.Fatal("Z87 a ring grew")
			}
		}
		// Everything that was seen, read from the start once more.
		before := r
		r, _ = Age(r, at, p)
		aged := r
		for _, o := range seen {
			if o.At.IsZero() {
				o.New = false // it is no news any more
			}
			if o.Kind == Reached {
				continue // nothing is kept of a first word: it is told while it is one
			}
			r, _ = Observe(r, o, at, p)
		}
		r.Trial = aged.Trial
		if diff := cmp.Diff(aged, r); diff != "" {
			t.Fatalf("Z86 read again from the start (%s): %s", before.Phase, diff)
		}
		// Time alone lets somebody try, and one answer ends it.
		at = at.Add(p.Cooldown + p.Window + time.Minute)
		v := Admit(r, "late", at, p)
		if !v.OK {
			t.Fatalf("Z83 it never heals: %+v", v)
		}
		r, _ = Observe(v.Record, Outcome{Kind: Success, ID: "late", At: at}, at, p)
		if r.Phase != Healthy {
			t.Fatalf("Z83 %s after an answer", r.Phase)
		}
	}))
	t.Run("Z72 Z84 a rate that stands on the line does not flap: entering and leaving are far apart", rapid.MakeCheck(func(t *rapid.T) {
		p := policies(t)
		p.OpenAfter, p.TTFT, p.Window = MaxFails, 0, time.Hour
		r, at := Record{Route: route}, now
		was := Healthy
		for i := range rapid.IntRange(1, 120).Draw(t, "turns") {
			at = at.Add(time.Second)
			k := rapid.SampledFrom([]Kind{Success, Success, Success, Transport}).Draw(t, "kind")
			r, _ = Observe(r, Outcome{Kind: k, ID: fmt.Sprint(i), At: at}, at, p)
			errs, all := r.rate(at, p)
			switch {
			case r.Phase.shut():
				return
			case was != Degraded && r.Phase == Degraded && (100*errs < p.ErrorPct*all || all < p.MinSamples):
				t.Fatalf("degraded by %d of %d", errs, all)
			case was == Degraded && r.Phase != Degraded && 200*errs >= p.ErrorPct*all && errs > 0:
				t.Fatalf("restored at %d of %d", errs, all)
			case was == Degraded && r.Phase != Degraded && k != Success:
				t.Fatal("a failure restored it")
			}
			was = r.Phase
		}
	}))
}
