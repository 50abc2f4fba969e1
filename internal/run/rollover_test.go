package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// rolling is base with rollover allowed and all of the run on record.
func rolling() (State, Facts) {
	s, f := base()
	f.Roll, f.Kept = true, true
	return s, f
}

func TestCarry(t *testing.T) {
	worked := State{ID: "r0", Engine: engine("third"), Work: paceline.WorkSome}
	for _, tt := range []struct {
		name string
		work paceline.Work
		set  func(*State, *Facts)
		want Carry
	}{
		{"F1 the opening message goes again as it is", paceline.WorkNone, func(*State, *Facts) {}, Bare},
		{"F28 F63 a later one goes below what was said before it", paceline.WorkNone, func(_ *State, f *Facts) { f.Message.Opener = false }, History},
		{"P1 after work it goes only inside a packet", paceline.WorkSome, func(*State, *Facts) {}, Progress},
		{"P1 so it does where nothing proves that there was none", paceline.WorkUnknown, func(*State, *Facts) {}, Progress},
		{"P1 a successor that did nothing does not make it a prompt again", paceline.WorkNone, func(_ *State, f *Facts) { f.Earlier = []State{worked} }, Progress},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := rolling()
			tt.set(&s, &f)
			s, _ = Step(s, failed(paceline.CauseUsageLimit, tt.work), f)
			if s.Claim.Phase != Pending {
				t.Fatalf("%+v", s.Claim)
			}
			f.Kept = false // whoever dispatches after a crash has not seen the run
			_, effects := Step(s, DispatchDue{Next: "r2"}, f)
			if got := of[Create](effects); len(got) != 1 || got[0].Run.Carry != tt.want {
				t.Errorf("%+v, want it carried as %q", got, tt.want)
			}
		})
	}
	t.Run("a refreshed sign-in is sent what the run before was sent", func(t *testing.T) {
		s, f := rolling()
		s.Carry, f.Probe = Progress, ProbeIn
		s, _ = Step(s, failed(paceline.CauseAuth, paceline.WorkNone), f)
		_, effects := Step(s, DispatchDue{Next: "r2"}, f)
		if got := of[Create](effects); len(got) != 1 || got[0].Run.Carry != Progress || got[0].Run.Engine != s.Engine {
			t.Errorf("%+v", got)
		}
	})
}

func TestRollover(t *testing.T) {
	t.Run("Z58 a limit after work holds the engine, says why, and moves the seat", func(t *testing.T) {
		s, f := rolling()
		s, _ = Step(s, Worked{Work: paceline.WorkSome, Evidence: paceline.Evidence{Frame: FrameTool, Says: "Write"}}, f)
		s, effects := Step(s, failed(paceline.CauseUsageLimit, paceline.WorkSome), f)
		d := of[Decide](effects)[0].Decision
		if s.Claim.Phase != Pending || len(of[Hold](effects)) != 1 || len(of[Settle](effects)) != 0 {
			t.Fatalf("%+v %+v", s.Claim, effects)
		}
		if d.What != "claim codex for a rollover" || !strings.Contains(d.Why, "it had already worked: tool (Write)") {
			t.Errorf("%+v", d)
		}
		_, effects = Step(s, DispatchDue{Next: "r2"}, f)
		if diff := cmp.Diff([]Announce{{"Switched to codex after claude hit its usage limit; it goes on from what was done."}}, of[Announce](effects)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("F13 P2 a steered run goes on in a packet, which holds the steer", func(t *testing.T) {
		s, f := rolling()
		f.Steered = true
		if s, _ = Step(s, failed(paceline.CauseUsageLimit, paceline.WorkSome), f); s.Claim.Phase != Pending {
			t.Errorf("%+v", s.Claim)
		}
		if s, _ = Step(s, DispatchDue{Next: "r2"}, f); s.Claim.Phase != Dispatched {
			t.Errorf("%+v", s.Claim)
		}
	})
	silent := func(_ *State, f *Facts) { f.Silent = []string{"Bash: make deploy"} }
	for _, tt := range []struct {
		name  string
		set   func(*State, *Facts)
		cause paceline.Cause
		why   string
		end   Status
	}{
		{"rollover = off keeps it", func(_ *State, f *Facts) { f.Roll = false }, paceline.CauseUsageLimit, "it had already worked", Blocked},
		{"what is not all on record is not told to anybody", func(_ *State, f *Facts) { f.Kept = false }, paceline.CauseUsageLimit, "not all on record", Blocked},
		{"Z43 a call that never reported halts it for a person, and is named", silent, paceline.CauseUsageLimit, "it began and never reported: Bash: make deploy", NeedPerson},
		{"a crash is not its engine's fault", func(*State, *Facts) {}, paceline.CauseCrash, "another engine does not help", Broke},
		{"a stop is a stop", func(_ *State, f *Facts) { f.Stop = true }, paceline.CauseUsageLimit, "stopped by its user", Blocked},
		{"Z55 F70 nobody gets the work twice", func(_ *State, f *Facts) {
			f.MaxHops, f.Earlier = 5, []State{{ID: "r0", Engine: engine("codex"), Work: paceline.WorkSome}}
		}, paceline.CauseUsageLimit, "no engine below it", Blocked},
		{"Z47 another's money is not spent on it", func(_ *State, f *Facts) { f.Chain[1].Posture = paceline.PostureMetered }, paceline.CauseUsageLimit, "no engine below it", Blocked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := rolling()
			tt.set(&s, &f)
			got, effects := Step(s, failed(tt.cause, paceline.WorkSome), f)
			d, end := of[Decide](effects), of[Settle](effects)
			if got.Claim.Phase != NoClaim || len(end) != 1 || len(d) != 1 {
				t.Fatalf("%+v %+v", got.Claim, effects)
			}
			if !strings.Contains(d[0].Decision.Why, tt.why) || end[0].Status != tt.end {
				t.Errorf("%q, settled as %s; want %q, %s", d[0].Decision.Why, end[0].Status, tt.why, tt.end)
			}
		})
	}
	t.Run("Z43 the hint says how to settle it", func(t *testing.T) {
		s, f := rolling()
		silent(&s, &f)
		_, effects := Step(s, failed(paceline.CauseUsageLimit, paceline.WorkSome), f)
		if end := of[Settle](effects)[0]; !strings.Contains(end.Hint, "Bash: make deploy") || !strings.Contains(end.Hint, "paceline reconcile t1") {
			t.Errorf("%+v", end)
		}
	})
	t.Run("rollover = always goes on in spite of it", func(t *testing.T) {
		s, f := rolling()
		silent(&s, &f)
		f.RollSilent = true
		if s, _ = Step(s, failed(paceline.CauseUsageLimit, paceline.WorkSome), f); s.Claim.Phase != Pending {
			t.Errorf("%+v", s.Claim)
		}
	})
	t.Run("Z46 an engine that did not start gives the packet on, where all of the work before it is on record", func(t *testing.T) {
		for _, on := range []bool{true, false} {
			s, f := rolling()
			f.Kept, f.Chain = false, append(f.Chain, candidate("third"))
			f.Earlier = []State{{ID: "r0", Engine: engine("claude"), Work: paceline.WorkSome, Kept: on}}
			s.Engine, s.Phase, s.Sent, s.Hop = engine("codex"), Starting, false, 1
			s, _ = Step(s, failed(paceline.CauseCrash, paceline.WorkNone), f)
			if (s.Claim.Target == engine("third")) != on {
				t.Errorf("on record %t: %+v", on, s.Claim)
			}
		}
	})
	t.Run("a limit that a transcript told after a crash is not carried on: what was done is not all on record", func(t *testing.T) {
		s, f := rolling()
		f.Kept = false
		s, _ = Step(s, Lost{Delivered: true, Ending: wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseUsageLimit, Work: paceline.WorkSome}}}, f)
		if s.Claim.Phase != NoClaim {
			t.Errorf("%+v", s.Claim)
		}
	})
}

func TestReconciled(t *testing.T) {
	halted := func(c paceline.Cause) (State, Facts) {
		s, f := rolling()
		f.Silent = []string{"Bash: make deploy"}
		s, _ = Step(s, failed(c, paceline.WorkSome), f)
		f.Silent, f.Kept = nil, false
		return s, f
	}
	t.Run("Z43 after a limit the next engine goes on with a packet", func(t *testing.T) {
		s, f := halted(paceline.CauseUsageLimit)
		s, effects := Step(s, Reconciled{}, f)
		if s.Claim.Phase != Pending || s.Claim.Target != engine("codex") || len(of[Reopen](effects)) != 1 || len(of[Dispatch](effects)) != 1 {
			t.Fatalf("%+v %+v", s.Claim, effects)
		}
		_, effects = Step(s, DispatchDue{Next: "r2"}, f)
		if got := of[Create](effects); len(got) != 1 || got[0].Run.Carry != Progress {
			t.Errorf("%+v", got)
		}
	})
	t.Run("Z43 a crash halts too, and its own engine goes on, with a packet", func(t *testing.T) {
		s, f := halted(paceline.CauseCrash)
		s, _ = Step(s, Reconciled{}, f)
		_, effects := Step(s, DispatchDue{Next: "r2"}, f)
		if got := of[Create](effects); len(got) != 1 || got[0].Run.Carry != Progress || got[0].Run.Engine != engine("claude") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("Z43 twice is once", func(t *testing.T) {
		s, f := halted(paceline.CauseUsageLimit)
		s, _ = Step(s, Reconciled{}, f)
		if again, effects := Step(s, Reconciled{}, f); len(effects) != 0 || again.Claim != s.Claim {
			t.Errorf("%+v", effects)
		}
	})
	t.Run("with nobody to go on it stays as it is, and says why", func(t *testing.T) {
		s, f := halted(paceline.CauseUsageLimit)
		f.Chain[1].Unready = "it is signed out"
		s, effects := Step(s, Reconciled{}, f)
		if d := of[Decide](effects); s.Claim.Phase != NoClaim || len(of[Reopen](effects)) != 0 || len(d) != 1 || !strings.Contains(d[0].Decision.Why, "no engine below it") {
			t.Errorf("%+v", effects)
		}
	})
	t.Run("a run that is not over has nothing to settle", func(t *testing.T) {
		s, f := rolling()
		if _, effects := Step(s, Reconciled{}, f); len(effects) != 0 {
			t.Errorf("%+v", effects)
		}
	})
}
