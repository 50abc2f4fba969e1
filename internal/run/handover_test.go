package run

import (
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/wire"
)

// wanted is a running run whose user wants the seat on codex, now.
func wanted(change ...func(*State, *Facts)) (State, Facts) {
	s, f := base()
	c := candidate("codex")
	f.Asked, f.Kept = &c, true
	for _, do := range change {
		do(&s, &f)
	}
	return s, f
}

func halfway(w paceline.Work) HandedOver {
	return HandedOver{wire.Ending{Failure: paceline.Failure{Work: w}}}
}

func TestHandedOver(t *testing.T) {
	deploy := func(_ *State, f *Facts) { f.Silent = []string{"Bash: make deploy"} }
	for _, tt := range []struct {
		name  string
		work  paceline.Work
		set   func(*State, *Facts)
		carry Carry
		hop   int
	}{
		{"Z91 in the middle of the work it goes on in a packet", paceline.WorkSome, func(*State, *Facts) {}, Progress, 0},
		{"Z91 P1 what nobody can say the work of is no prompt again", paceline.WorkUnknown, func(*State, *Facts) {}, Progress, 0},
		{"Z91 before any work the prompt goes on as it is", paceline.WorkNone, func(*State, *Facts) {}, Bare, 0},
		{"Z91 before it was sent the prompt goes on as it is", paceline.WorkUnknown, func(s *State, _ *Facts) { s.Phase, s.Sent, s.Work = Starting, false, paceline.WorkUnknown }, Bare, 0},
		{"Z91 F13 what was added goes along", paceline.WorkNone, func(_ *State, f *Facts) { f.Steered = true }, Progress, 0},
		{"Z91 F28 a later message goes below what was said before it", paceline.WorkNone, func(_ *State, f *Facts) { f.Message.Opener = false }, History, 0},
		{"Z91 rollover = off does not bind its user", paceline.WorkSome, func(_ *State, f *Facts) { f.Roll = false }, Progress, 0},
		{"Z91 nor does failover switched off", paceline.WorkSome, func(_ *State, f *Facts) { f.Off = true }, Progress, 0},
		{"Z91 outside of the chain too", paceline.WorkSome, func(_ *State, f *Facts) { f.Chain = f.Chain[:1] }, Progress, 0},
		{"Z47 another posture is his to choose", paceline.WorkSome, func(_ *State, f *Facts) { f.Asked.Posture = paceline.PostureMetered }, Progress, 0},
		{"Z91 it is no hop of the chain", paceline.WorkNone, func(s *State, f *Facts) { s.Hop, f.MaxHops = 1, 1 }, Bare, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := wanted(tt.set)
			s, effects := Step(s, halfway(tt.work), f)
			if s.Phase != Failed || s.Claim.Phase != Pending || !s.Claim.Asked || len(of[Settle](effects)) != 0 || len(of[Dispatch](effects)) != 1 {
				t.Fatalf("%s %+v %+v", s.Phase, s.Claim, effects)
			}
			if again, more := Step(s, halfway(tt.work), f); len(more) != 0 || again.Claim != s.Claim {
				t.Errorf("twice: %+v", more)
			}
			f.Kept = false // whoever dispatches after a crash has not seen the run
			s, effects = Step(s, DispatchDue{Next: "r2"}, f)
			got := of[Create](effects)
			if s.Claim.Phase != Dispatched || len(got) != 1 || !got[0].Asked || got[0].Run.Carry != tt.carry || got[0].Run.Hop != tt.hop || got[0].Run.Engine != engine("codex") {
				t.Fatalf("%+v, want %q", got, tt.carry)
			}
			if line := of[Announce](effects); len(line) != 1 || !strings.HasPrefix(line[0].Text, "Handed over from claude to codex, as its user asked") {
				t.Errorf("%+v", line)
			}
		})
	}
	t.Run("Z42 Z43 a call in the middle halts the successor, and is named; settled, it goes on where its user wants it", func(t *testing.T) {
		s, f := wanted(deploy)
		s, effects := Step(s, halfway(paceline.WorkSome), f)
		end := of[Settle](effects)
		if s.Claim.Phase != NoClaim || len(end) != 1 || end[0].Status != NeedPerson || !strings.Contains(end[0].Hint, "Bash: make deploy") {
			t.Fatalf("%+v %+v", s.Claim, effects)
		}
		f.Silent = nil
		s, effects = Step(s, Reconciled{}, f)
		if s.Claim.Target != engine("codex") || !s.Claim.Asked || len(of[Reopen](effects)) != 1 {
			t.Fatalf("%+v %+v", s.Claim, effects)
		}
		if _, effects = Step(s, DispatchDue{Next: "r2"}, f); len(of[Create](effects)) != 1 || of[Create](effects)[0].Run.Carry != Progress {
			t.Errorf("%+v", effects)
		}
	})
	t.Run("Z43 settled after the move was taken back, its own engine goes on", func(t *testing.T) {
		s, f := wanted(deploy)
		s, _ = Step(s, halfway(paceline.WorkSome), f)
		f.Silent, f.Asked, f.Roll = nil, nil, true
		if s, _ = Step(s, Reconciled{}, f); s.Claim.Target != engine("claude") {
			t.Errorf("%+v", s.Claim)
		}
	})
	for _, tt := range []struct {
		name string
		set  func(*State, *Facts)
		why  string
	}{
		{"Z46 a target that is limited", func(_ *State, f *Facts) { limited(f.Asked) }, "codex cannot take the seat: it is limited"},
		{"Z46 a target that is signed out", func(_ *State, f *Facts) { f.Asked.Unready = "nobody is signed in" }, "codex cannot take the seat: nobody is signed in"},
		{"what is not all on record is told to nobody", func(_ *State, f *Facts) { f.Kept = false }, "not all on record"},
	} {
		t.Run("Z30 "+tt.name+" leaves the source to go on at once, in its own conversation", func(t *testing.T) {
			s, f := wanted(tt.set)
			f.Message.Patience = -1 // going on is no waiting
			s, effects := Step(s, halfway(paceline.WorkSome), f)
			if !s.Waiting() || s.Wait.For != engine("claude") || s.Wait.Until.After(f.Now.Add(2*time.Second)) || len(of[Settle](effects)) != 0 {
				t.Fatalf("%+v %+v", s.Wait, effects)
			}
			line := of[Announce](effects)
			if len(line) != 1 || !strings.Contains(line[0].Text, "The seat stays with claude: ") || !strings.Contains(line[0].Text, tt.why) {
				t.Errorf("%+v", line)
			}
			f.Asked, f.Now = nil, s.Wait.Until
			_, effects = Step(s, WaitOver{Next: "r2"}, f)
			if got := of[Resume](effects); len(got) != 1 || got[0].Run.Carry != Continue || got[0].Run.Engine != engine("claude") {
				t.Errorf("%+v", effects)
			}
		})
	}
	t.Run("Z30 a target that is lost between claim and dispatch leaves the source to go on", func(t *testing.T) {
		s, f := wanted()
		s, _ = Step(s, halfway(paceline.WorkSome), f)
		f.Asked.Unready = "it is not installed"
		s, effects := Step(s, DispatchDue{Next: "r2"}, f)
		if s.Claim.Phase != Skipped || !s.Waiting() || s.Wait.For != engine("claude") || len(of[Create](effects)) != 0 {
			t.Errorf("%+v %+v", s.Claim, effects)
		}
	})
	t.Run("Z30 a successor that did nothing gives the seat back: the source goes on where it was", func(t *testing.T) {
		for cause, want := range map[paceline.Cause]bool{paceline.CauseAuth: true, paceline.CauseUsageLimit: true, paceline.CauseServer: true, paceline.CauseModel: false} {
			s, f := wanted(func(s *State, _ *Facts) { s.Created = now.Add(-time.Hour) })
			source, _ := Step(s, halfway(paceline.WorkSome), f)
			source, effects := Step(source, DispatchDue{Next: "r2"}, f)
			next := of[Create](effects)[0].Run
			next.Phase, next.Sent, next.Work = Running, true, paceline.WorkNone
			f.Asked, f.Earlier, f.Roll = nil, []State{source}, true
			f.Chain = []place.Candidate{candidate("codex"), candidate("claude")} // the seat's own order now
			next, _ = Step(next, failed(cause, paceline.WorkNone), f)
			if (next.Claim.Phase == Pending) != want {
				t.Fatalf("%s: %+v", cause, next.Claim)
			}
			if !want {
				continue
			}
			_, effects = Step(next, DispatchDue{Next: "r3"}, f)
			if got := of[Create](effects); len(got) != 1 || got[0].Run.Engine != engine("claude") || got[0].Run.Carry != Continue {
				t.Errorf("%s: %+v", cause, got)
			}
			f.Lacks = map[paceline.Engine]bool{engine("claude"): true}
			if _, effects = Step(next, DispatchDue{Next: "r3"}, f); of[Create](effects)[0].Run.Carry != Progress {
				t.Errorf("%s: a conversation without the message was continued", cause)
			}
			next.Work = paceline.WorkSome
			f.Lacks = nil
			if _, effects = Step(next, DispatchDue{Next: "r3"}, f); of[Create](effects)[0].Run.Carry != Progress {
				t.Errorf("%s: what codex did was not told", cause)
			}
		}
	})
	t.Run("Z91 without anybody's wish nothing is handed over", func(t *testing.T) {
		s, f := base()
		if got, effects := Step(s, halfway(paceline.WorkSome), f); len(effects) != 0 || got.Phase != Running {
			t.Errorf("%+v", effects)
		}
	})
	t.Run("F19 a stop wins over a handover", func(t *testing.T) {
		s, f := wanted()
		s, _ = Step(s, halfway(paceline.WorkSome), f)
		f.Stop = true
		s, effects := Step(s, StopAsked{By: "its user"}, f)
		if s.Claim.Phase != Skipped || s.Waiting() || of[Settle](effects)[0].Status != Halted {
			t.Errorf("%+v %+v", s.Claim, effects)
		}
	})
	t.Run("Z91 a failure at the boundary goes where its user wants the seat, and not down the chain", func(t *testing.T) {
		s, f := wanted(func(_ *State, f *Facts) {
			f.Chain = append(f.Chain, candidate("third"))
			c := candidate("third")
			f.Asked, f.Roll = &c, true
		})
		for _, cause := range []paceline.Cause{paceline.CauseUsageLimit, paceline.CauseCrash} {
			if got, _ := Step(s, failed(cause, paceline.WorkSome), f); got.Claim.Target != engine("third") || !got.Claim.Asked {
				t.Errorf("%s: %+v", cause, got.Claim)
			}
		}
	})
}

func TestHandedOverWhileItWaits(t *testing.T) {
	waiting := func(work paceline.Work, kept bool) (State, Facts) {
		s, f := base()
		f.Message.Patience, f.Chain, f.Kept, f.Roll = 0, f.Chain[:1], kept, true
		s, _ = Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseUsageLimit, Work: work, Reset: stated(time.Hour)}}}, f)
		if !s.Waiting() {
			panic("it does not wait")
		}
		c := candidate("codex")
		f.Asked, f.Kept = &c, false // nobody has seen the run any more
		return s, f
	}
	for _, tt := range []struct {
		name  string
		work  paceline.Work
		kept  bool
		set   func(*Facts)
		carry Carry
		moved bool
	}{
		{"Z42 before work its message goes there", paceline.WorkNone, true, func(*Facts) {}, Bare, true},
		{"Z42 after work a packet does", paceline.WorkSome, true, func(*Facts) {}, Progress, true},
		{"Z42 what is not all on record stays", paceline.WorkSome, false, func(*Facts) {}, 0, false},
		{"Z46 an engine that cannot take it leaves it waiting", paceline.WorkNone, true, func(f *Facts) { limited(f.Asked) }, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := waiting(tt.work, tt.kept)
			f.Chain[0].Limit = &paceline.Limit{Engine: engine("claude"), Reset: stated(time.Hour)}
			tt.set(&f)
			got, effects := Step(s, WaitOver{Next: "r2"}, f)
			next := of[Resume](effects)
			if (len(next) == 1) != tt.moved || got.Waiting() == tt.moved {
				t.Fatalf("%+v", effects)
			}
			if tt.moved && (!next[0].Asked || next[0].Run.Engine != engine("codex") || next[0].Run.Carry != tt.carry) {
				t.Errorf("%+v", next)
			}
		})
	}
	t.Run("A18 after work the seat goes to whoever of the chain is back first, with a packet", func(t *testing.T) {
		s, f := base()
		f.Message.Patience, f.Kept, f.Roll = 0, true, true
		f.Chain[1].Limit = &paceline.Limit{Engine: engine("codex"), Reset: stated(time.Minute)}
		s, _ = Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseUsageLimit, Work: paceline.WorkSome, Reset: stated(time.Hour)}}}, f)
		if s.Wait.For != engine("codex") {
			t.Fatalf("%+v", s.Wait)
		}
		f.Now, f.Kept = s.Wait.Until, false
		f.Chain[0].Limit = &paceline.Limit{Engine: engine("claude"), Reset: stated(time.Hour)}
		_, effects := Step(s, WaitOver{Next: "r2"}, f)
		if next := of[Resume](effects); len(next) != 1 || next[0].Run.Engine != engine("codex") || next[0].Run.Carry != Progress {
			t.Errorf("%+v", effects)
		}
	})
}

func TestUnborn(t *testing.T) {
	starting := func(s *State) { s.Phase, s.Sent, s.Conversation = Starting, false, "" }
	t.Run("Z30 a successor that does not start gives the message on, and one that was sent it does not", func(t *testing.T) {
		s, f := base()
		if got, _ := Step(s, failed(paceline.CauseCrash, paceline.WorkNone), f); got.Claim.Phase == Pending {
			t.Error("an engine that died with the prompt in its hands was passed over")
		}
		starting(&s)
		if got, _ := Step(s, failed(paceline.CauseCrash, paceline.WorkNone), f); got.Claim.Phase == Pending {
			t.Error("what is broken in the engine that a thread begins with is not told")
		}
		s.Hop, f.MaxHops = 1, 2
		got, _ := Step(s, failed(paceline.CauseCrash, paceline.WorkNone), f)
		if got.Claim.Target != engine("codex") || got.Claim.Why != "did not start" {
			t.Errorf("%+v", got.Claim)
		}
	})
	t.Run("Z30 the message goes back to the conversation that holds the thread, as it is", func(t *testing.T) {
		s, f := base()
		starting(&s)
		s.Carry = History
		f.Message.Opener = false
		s, _ = Step(s, failed(paceline.CauseCrash, paceline.WorkNone), f)
		for held, want := range map[string]Carry{"codex": Bare, "third": History} {
			f.Held = engine(held)
			_, effects := Step(s, DispatchDue{Next: "r2"}, f)
			if got := of[Create](effects); len(got) != 1 || got[0].Run.Carry != want {
				t.Errorf("held by %s: %+v", held, got)
			}
		}
	})
	t.Run("A28 alone it is tried again by the schedule", func(t *testing.T) {
		s, f := base()
		starting(&s)
		f.Chain, f.Message.Patience = f.Chain[:1], 0
		if s, _ = Step(s, failed(paceline.CauseCrash, paceline.WorkNone), f); !s.Waiting() {
			t.Errorf("%+v", s)
		}
	})
}

func TestGrown(t *testing.T) {
	t.Run("A18 bug-29 a conversation that went on by itself is not gone on with, and reported", func(t *testing.T) {
		s, f := base()
		f.Message.Patience, f.Chain = 0, f.Chain[:1]
		s, _ = Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseUsageLimit, Work: paceline.WorkSome, Reset: stated(time.Hour)}}}, f)
		f.Now = s.Wait.Until
		for _, grown := range []bool{false, true} {
			f.Grown = map[paceline.Engine]bool{engine("claude"): grown}
			got, effects := Step(s, WaitOver{Next: "r2"}, f)
			end := of[Settle](effects)
			if got.Waiting() || (len(end) == 1 && end[0].Status == NeedPerson) != grown || (len(of[Resume](effects)) == 0) != grown {
				t.Errorf("grown %t: %+v", grown, effects)
			}
		}
	})
}
