package run

import (
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/wire"
)

// ended is a run of m1 on claude that failed, and the facts of a message that
// may wait.
func ended(c paceline.Cause, w paceline.Work, r paceline.Reset, change ...func(*State, *Facts)) (State, Facts, paceline.Failure) {
	s, f := base()
	s.Work, s.Created = w, now
	f.Message.Patience, f.Message.At = 0, now
	for _, do := range change {
		do(&s, &f)
	}
	return s, f, paceline.Failure{Cause: c, Work: w, Reset: r}
}

func stated(d time.Duration) paceline.Reset {
	return paceline.Reset{At: now.Add(d), Source: paceline.ResetStated}
}

// alone leaves the thread one engine.
func alone(_ *State, f *Facts) { f.Chain = f.Chain[:1] }

// again makes it the nth failure of this cause in a row.
func again(n int, c paceline.Cause) func(*State, *Facts) {
	return func(s *State, f *Facts) {
		for i := range n - 1 {
			f.Earlier = append(f.Earlier, State{ID: paceline.RunID(rune('a' + i)), Engine: s.Engine, Phase: Failed, Created: now.Add(-time.Hour), Work: paceline.WorkNone, Failure: &paceline.Failure{Cause: c, Work: paceline.WorkNone}})
		}
	}
}

func held(name string, d time.Duration) func(*State, *Facts) {
	return func(_ *State, f *Facts) {
		for i := range f.Chain {
			if f.Chain[i].Engine.Account == name {
				f.Chain[i].Limit = &paceline.Limit{Engine: f.Chain[i].Engine, Reset: stated(d)}
			}
		}
	}
}

// down has a route that is tried again after d.
func down(name string, d time.Duration) func(*State, *Facts) {
	return func(_ *State, f *Facts) {
		for i := range f.Chain {
			if f.Chain[i].Engine.Account == name {
				f.Chain[i].Health = place.Health{Down: "route health open", Back: now.Add(d)}
			}
		}
	}
}

// let has nothing against a route, nor against its engine.
func let(name string) func(*State, *Facts) {
	return func(_ *State, f *Facts) {
		for i := range f.Chain {
			if f.Chain[i].Engine.Account == name {
				f.Chain[i].Health, f.Chain[i].Limit = place.Health{}, nil
			}
		}
	}
}

func TestWaits(t *testing.T) {
	some, none := paceline.WorkSome, paceline.WorkNone
	limit, unread := paceline.CauseUsageLimit, paceline.Reset{}
	for _, tt := range []struct {
		name   string
		cause  paceline.Cause
		work   paceline.Work
		reset  paceline.Reset
		change []func(*State, *Facts)
		least  time.Duration // until; 0 is no wait
		waits  string
	}{
		{"A34 one engine and no chain: a limit is a wait", limit, some, stated(time.Hour), []func(*State, *Facts){alone}, time.Hour, "claude"},
		{"A6 a limit whose reset nobody could read is asked again after half an hour", limit, none, unread, []func(*State, *Facts){alone}, 30 * time.Minute, "claude"},
		{"A reset that was read from words drops the seconds: a minute more", limit, none, paceline.Reset{At: now.Add(time.Hour), Source: paceline.ResetDerived}, []func(*State, *Facts){alone}, time.Hour + time.Minute, "claude"},
		{"A limit that outlasts its reset is asked again in ten seconds", limit, none, stated(-time.Second), []func(*State, *Facts){alone}, 10 * time.Second, "claude"},
		{"A limit that outlasts its reset is asked less and less: the eighth time after two minutes", limit, none, stated(-time.Second), []func(*State, *Facts){alone, again(8, limit)}, 2 * time.Minute, "claude"},
		{"F46 a 429 that comes again and again holds for longer", paceline.CauseThrottle, none, unread, []func(*State, *Facts){alone, again(5, paceline.CauseThrottle)}, 15 * time.Minute, "claude"},
		{"A18 the soonest reset of all: another's", limit, none, stated(time.Hour), []func(*State, *Facts){held("codex", 20*time.Minute)}, 20 * time.Minute, "codex"},
		{"A18 the soonest reset of all: its own", limit, none, stated(time.Minute), []func(*State, *Facts){held("codex", 20*time.Minute)}, time.Minute, "claude"},
		{"Z79 A18 a route that is down is waited for until it is tried again", limit, none, stated(time.Hour), []func(*State, *Facts){down("codex", 5*time.Minute)}, 5 * time.Minute, "codex"},
		{"Z79 A18 the later of a limit and a route", limit, none, stated(time.Hour), []func(*State, *Facts){held("codex", 20*time.Minute), down("codex", 5*time.Minute)}, 20 * time.Minute, "codex"},
		{"Z79 A18 also of its own", limit, none, stated(time.Minute), []func(*State, *Facts){alone, down("claude", 5*time.Minute)}, 5 * time.Minute, "claude"},
		{"A25 Z79 nowhere healthy: its own schedule", paceline.CauseTransport, none, unread, []func(*State, *Facts){down("codex", 5*time.Minute)}, time.Minute, "claude"},
		{"A25 Z79 or until the other route is tried again, where that is sooner", paceline.CauseTransport, none, unread, []func(*State, *Facts){again(4, paceline.CauseTransport), down("codex", 5*time.Minute)}, 5 * time.Minute, "codex"},
		{"A25 the same endpoint is not waited for", paceline.CauseTransport, none, unread, []func(*State, *Facts){again(4, paceline.CauseTransport), down("codex", 5*time.Minute), func(_ *State, f *Facts) { f.Chain[1].Route = f.Chain[0].Route }}, 8 * time.Minute, "claude"},
		{"P6 another's money is not waited for", limit, none, stated(time.Hour), []func(*State, *Facts){held("codex", time.Minute), func(_ *State, f *Facts) { f.Chain[1].Posture = paceline.PostureMetered }}, time.Hour, "claude"},
		{"P1 after work that may not move, its own engine alone", limit, some, stated(time.Hour), []func(*State, *Facts){held("codex", time.Minute)}, time.Hour, "claude"},
		{"F46 a 429 whose cause was not told holds for a minute", paceline.CauseThrottle, none, unread, []func(*State, *Facts){alone}, time.Minute, "claude"},
		{"A25 not reached: a minute", paceline.CauseTransport, none, unread, []func(*State, *Facts){alone}, time.Minute, "claude"},
		{"A25 the second time in a row: two", paceline.CauseServer, none, unread, []func(*State, *Facts){alone, again(2, paceline.CauseTransport)}, 2 * time.Minute, "claude"},
		{"A25 the fourth: eight", paceline.CauseStall, none, unread, []func(*State, *Facts){alone, again(4, paceline.CauseServer)}, 8 * time.Minute, "claude"},
		{"A25 from then on every quarter of an hour, without an end", paceline.CauseTransport, none, unread, []func(*State, *Facts){alone, again(40, paceline.CauseTransport)}, 15 * time.Minute, "claude"},
		{"A28 a crash: a second", paceline.CauseCrash, some, unread, []func(*State, *Facts){alone}, time.Second, "claude"},
		{"A28 the seventh in a row: half an hour", paceline.CauseCrash, none, unread, []func(*State, *Facts){alone, again(7, paceline.CauseCrash)}, 30 * time.Minute, "claude"},
		{"A28 the eleventh: an hour", paceline.CauseOther, none, unread, []func(*State, *Facts){alone, again(11, paceline.CauseOther)}, time.Hour, "claude"},
		{"A28 A30 the twelfth is the last", paceline.CauseCrash, none, unread, []func(*State, *Facts){alone, again(12, paceline.CauseCrash)}, 0, ""},
		{"A29 a failure of another kind begins anew", paceline.CauseCrash, none, unread, []func(*State, *Facts){alone, again(7, paceline.CauseServer)}, time.Second, "claude"},
		{"A29 bug-57 limits are no crashes: the crash after eleven of them is the first", paceline.CauseCrash, none, unread, []func(*State, *Facts){alone, again(12, limit)}, time.Second, "claude"},
		{"A28 bug-59 a limit has no last attempt: the twelfth is waited for like the first", limit, none, stated(4 * time.Hour), []func(*State, *Facts){alone, again(12, limit)}, 4 * time.Hour, "claude"},
		{"A sign-out is not waited for", paceline.CauseAuth, none, unread, []func(*State, *Facts){alone}, 0, ""},
		{"Money does not come back by itself", paceline.CauseBilling, none, unread, []func(*State, *Facts){alone}, 0, ""},
		{"An unknown model does not appear", paceline.CauseModel, none, unread, []func(*State, *Facts){alone}, 0, ""},
		{"What was not read is not waited for", paceline.CauseUnknown, none, unread, []func(*State, *Facts){alone}, 0, ""},
		{"A19 a stop ends it", limit, none, stated(time.Hour), []func(*State, *Facts){alone, func(_ *State, f *Facts) { f.Stop = true }}, 0, ""},
		{"--no-wait", limit, none, stated(time.Hour), []func(*State, *Facts){alone, func(_ *State, f *Facts) { f.Message.Patience = -1 }}, 0, ""},
		{"--wait-max counts from the message on", limit, none, stated(time.Hour), []func(*State, *Facts){alone, func(_ *State, f *Facts) {
			f.Message.Patience, f.Message.At = time.Hour, now.Add(-time.Minute)
		}}, 0, ""},
		{"F19 what ran since makes it stale", limit, none, stated(time.Hour), []func(*State, *Facts){alone, func(_ *State, f *Facts) { f.Since = 1 }}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f, failure := ended(tt.cause, tt.work, tt.reset, tt.change...)
			got, effects := Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: failure}}, f)
			if tt.least == 0 {
				if got.Waiting() || len(of[Settle](effects)) != 1 {
					t.Fatalf("it waits: %+v", got.Wait)
				}
				return
			}
			until := got.Wait.Until.Sub(now)
			if !got.Open() || until < tt.least || until >= tt.least+time.Second || got.Wait.For.Account != tt.waits {
				t.Errorf("waits %s for %s, want %s for %s", until, got.Wait.For, tt.least, tt.waits)
			}
			if len(of[Await](effects)) != 1 || len(of[Settle](effects)) != 0 || got.Wait.Source == paceline.ResetNone {
				t.Errorf("%+v", effects)
			}
		})
	}
}

func TestWaitOver(t *testing.T) {
	lift := func(f *Facts) {
		f.Now = now.Add(2 * time.Hour)
		for i := range f.Chain {
			f.Chain[i].Limit = nil
		}
	}
	for _, tt := range []struct {
		name   string
		work   paceline.Work
		change []func(*State, *Facts)
		after  func(*Facts)
		want   string // engine and carry; "" waits on
	}{
		{"Z61 the conversation that holds the message goes on, after work", paceline.WorkSome, nil, lift, "claude continue"},
		{"P1 and before work: the message is in it already", paceline.WorkNone, nil, lift, "claude continue"},
		{"A program that did not write it down is asked anew, before work", paceline.WorkNone, nil, func(f *Facts) {
			lift(f)
			f.Lacks = map[paceline.Engine]bool{{Account: "claude"}: true}
		}, "claude "},
		{"P1 and after work is told in a packet", paceline.WorkSome, nil, func(f *Facts) {
			lift(f)
			f.Lacks = map[paceline.Engine]bool{{Account: "claude"}: true}
		}, "claude progress"},
		{"One that was never sent anything starts as it would have", paceline.WorkNone, []func(*State, *Facts){func(s *State, _ *Facts) { s.Sent = false }}, lift, "claude "},
		{"A22 the earliest free entry of the chain, not the one that was waited for", paceline.WorkNone, []func(*State, *Facts){held("codex", time.Minute)}, lift, "claude continue"},
		{"A22 the other one, where the first is still limited", paceline.WorkNone, nil, func(f *Facts) {
			f.Now = now.Add(30 * time.Minute)
			f.Chain[0].Limit = &paceline.Limit{Engine: f.Chain[0].Engine, Reset: stated(time.Hour)}
			f.Chain[1].Limit = nil
		}, "codex "},
		{"A reset that moved is followed", paceline.WorkNone, nil, func(f *Facts) {
			f.Now = now.Add(time.Hour)
			for i := range f.Chain {
				f.Chain[i].Limit = &paceline.Limit{Engine: f.Chain[i].Engine, Reset: stated(3 * time.Hour)}
			}
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f, failure := ended(paceline.CauseUsageLimit, tt.work, stated(time.Hour), append(tt.change, held("codex", 2*time.Hour))...)
			s, _ = Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: failure}}, f)
			if !s.Waiting() {
				t.Fatal("it does not wait")
			}
			tt.after(&f)
			got, effects := Step(s, WaitOver{Next: "r2"}, f)
			next := of[Resume](effects)
			if tt.want == "" {
				if !got.Waiting() || len(next) != 0 || got.Wait.Until.Before(now.Add(3*time.Hour)) {
					t.Errorf("%+v %+v", got.Wait, effects)
				}
				return
			}
			if len(next) != 1 || got.Waiting() || got.Open() {
				t.Fatalf("%+v %+v", got.Wait, effects)
			}
			r := next[0].Run
			if is := r.Engine.Account + " " + r.Carry.String(); is != tt.want {
				t.Errorf("goes on with %q, want %q", is, tt.want)
			}
			if _, more := Step(got, WaitOver{Next: "r3"}, f); len(more) > 0 {
				t.Errorf("F18 twice: %+v", more)
			}
		})
	}
	for _, tt := range []struct {
		name   string
		cause  paceline.Cause
		change []func(*State, *Facts)
		after  []func(*State, *Facts)
		want   string // "" waits on
	}{
		{"A25 one that was cut from its vendor is tried again by its schedule, though its route is down", paceline.CauseTransport, []func(*State, *Facts){down("codex", time.Hour)}, []func(*State, *Facts){down("claude", time.Hour)}, "claude"},
		{"Z79 unless another route is free by then", paceline.CauseTransport, []func(*State, *Facts){down("codex", time.Hour)}, []func(*State, *Facts){down("claude", time.Hour), let("codex")}, "codex"},
		{"A25 its own is tried where it is not down", paceline.CauseTransport, []func(*State, *Facts){down("codex", time.Hour)}, []func(*State, *Facts){let("codex")}, "claude"},
		{"Z79 the other route that was waited for is taken", paceline.CauseTransport, []func(*State, *Facts){again(4, paceline.CauseServer), down("codex", time.Minute)}, []func(*State, *Facts){let("codex")}, "codex"},
		{"A28 a program that died is started again, whatever is known of its route", paceline.CauseCrash, nil, []func(*State, *Facts){down("claude", time.Hour)}, "claude"},
		{"Z79 a limit that lifted does not help where its route is down", paceline.CauseUsageLimit, []func(*State, *Facts){held("codex", 2*time.Hour)}, []func(*State, *Facts){down("claude", 3*time.Hour)}, ""},
		{"Z75 the seat goes on where it is another's fault on the same endpoint", paceline.CauseUsageLimit, []func(*State, *Facts){held("codex", 2*time.Hour)}, []func(*State, *Facts){down("claude", 3*time.Hour), func(_ *State, f *Facts) { f.Chain[0].Health.Shared = true }}, "claude"},
		{"Z79 a route that is down is not taken for its limit's sake", paceline.CauseUsageLimit, []func(*State, *Facts){held("codex", time.Minute)}, []func(*State, *Facts){down("codex", 3*time.Hour), held("claude", 2*time.Hour)}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f, failure := ended(tt.cause, paceline.WorkNone, stated(time.Hour), tt.change...)
			s, _ = Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: failure}}, f)
			if !s.Waiting() {
				t.Fatalf("it does not wait: %+v", s.Claim)
			}
			f.Now = s.Wait.Until.Add(time.Second)
			for _, do := range tt.after {
				do(&s, &f)
			}
			got, effects := Step(s, WaitOver{Next: "r2"}, f)
			next := of[Resume](effects)
			switch {
			case tt.want == "":
				if !got.Waiting() || len(next) != 0 || !got.Wait.Until.After(f.Now) {
					t.Errorf("%+v %+v", got.Wait, effects)
				}
			case len(next) != 1 || next[0].Run.Engine.Account != tt.want:
				t.Errorf("%+v", effects)
			}
		})
	}
	t.Run("A19 a stop ends a wait, once", func(t *testing.T) {
		s, f, failure := ended(paceline.CauseUsageLimit, paceline.WorkSome, stated(time.Hour), alone)
		s, _ = Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: failure}}, f)
		got, effects := Step(s, StopAsked{By: "its user"}, f)
		if got.Open() || len(of[Settle](effects)) != 1 || of[Settle](effects)[0].Status != Halted {
			t.Errorf("%+v", effects)
		}
		if _, more := Step(got, StopAsked{By: "its user"}, f); len(more) > 0 {
			t.Errorf("again: %+v", more)
		}
	})
	t.Run("F29 a claim that is skipped since its target became limited falls back to waiting", func(t *testing.T) {
		s, f, failure := ended(paceline.CauseUsageLimit, paceline.WorkNone, stated(time.Hour))
		s, _ = Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: failure}}, f)
		if s.Claim.Phase != Pending {
			t.Fatalf("%+v", s.Claim)
		}
		held("codex", time.Minute)(&s, &f)
		got, effects := Step(s, DispatchDue{Next: "r2"}, f)
		if got.Claim.Phase != Skipped || !got.Waiting() || len(of[Settle](effects)) != 0 {
			t.Errorf("%+v %+v", got.Claim, effects)
		}
	})
	t.Run("A7 a limit of all models closes the account, a model's own closes that model", func(t *testing.T) {
		for scope, want := range map[string]string{"five_hour": "claude", "seven_day": "claude", "seven_day_opus": "claude:opus", "": "claude:opus"} {
			s, f, failure := ended(paceline.CauseUsageLimit, paceline.WorkNone, stated(time.Hour), alone)
			s.Engine.Model, failure.Scope = "opus", scope
			f.Chain[0].Engine = s.Engine
			_, effects := Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: failure}}, f)
			if held := of[Hold](effects); len(held) != 1 || held[0].Limit.Engine.String() != want {
				t.Errorf("%q is held against %+v, want %s", scope, held, want)
			}
		}
	})
	t.Run("A28 the twelfth failure says that it gave up", func(t *testing.T) {
		s, f, failure := ended(paceline.CauseCrash, paceline.WorkNone, paceline.Reset{}, alone, again(12, paceline.CauseCrash))
		_, effects := Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: failure}}, f)
		want := "Gave up after 12 failed attempts in a row, over five hours (claude died); run paused — resume to try again"
		if end := of[Settle](effects); len(end) != 1 || end[0].Text != want {
			t.Errorf("%+v", end)
		}
	})
	t.Run("A26 what people are told", func(t *testing.T) {
		for _, tt := range []struct {
			cause paceline.Cause
			chain int
			want  string
		}{
			{paceline.CauseTransport, 1, "claude could not be reached; trying it again at 02:01:00 UTC"},
			{paceline.CauseTransport, 2, "No engine can be reached; trying again at 02:01:00 UTC"},
			{paceline.CauseCrash, 1, "claude died; trying it again at 02:00:01 UTC."},
			{paceline.CauseUsageLimit, 1, "Waiting for claude, free again at 02:30 UTC (assumed)."},
		} {
			s, f, failure := ended(tt.cause, paceline.WorkNone, paceline.Reset{}, func(_ *State, f *Facts) {
				f.Chain = f.Chain[:tt.chain]
				f.Off = true
			})
			_, effects := Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: failure}}, f)
			lines := of[Announce](effects)
			if len(lines) != 1 || !strings.HasPrefix(lines[0].Text, tt.want) {
				t.Errorf("%s: %+v", tt.cause, lines)
			}
		}
	})
}
