package run

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/wire"
)

var now = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

func engine(s string) paceline.Engine { return paceline.Engine{Account: s} }

func candidate(name string) place.Candidate {
	return place.Candidate{Engine: engine(name), Vendor: name, Route: name + ":443", Posture: paceline.PostureSubscription}
}

// base is a running run on claude with codex below it, and nothing against a
// failover.
func base() (State, Facts) {
	s := State{ID: "r1", Thread: "t1", Message: "m1", Engine: engine("claude"), Phase: Running, Work: paceline.WorkNone, Sent: true, Conversation: "c1"}
	f := Facts{
		Now:     now,
		Message: paceline.Message{ID: "m1", Thread: "t1", Kind: paceline.KindPrompt, Opener: true, Patience: -1},
		Chain:   []place.Candidate{candidate("claude"), candidate("codex")},
	}
	return s, f
}

func failed(c paceline.Cause, w paceline.Work) End {
	return End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: c, Work: w}}}
}

func of[T Effect](effects []Effect) (out []T) {
	for _, e := range effects {
		if x, ok := e.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

func TestCauseAndWorkDecide(t *testing.T) {
	claims := map[paceline.Cause]bool{
		paceline.CauseUsageLimit: true, paceline.CauseBilling: true, paceline.CauseAuth: true, paceline.CauseThrottle: true,
		paceline.CauseTransport: true, paceline.CauseServer: true, paceline.CauseStall: true,
	}
	for c := paceline.CauseUnknown; c <= paceline.CauseOther; c++ {
		for _, w := range []paceline.Work{paceline.WorkUnknown, paceline.WorkNone, paceline.WorkSome} {
			t.Run("F1 F2 F15 F16 F30 "+c.String()+" with work "+w.String(), func(t *testing.T) {
				s, f := base()
				got, effects := Step(s, failed(c, w), f)
				want := claims[c] && w == paceline.WorkNone
				if (got.Claim.Phase == Pending) != want {
					t.Fatalf("claim %s, want pending %t", got.Claim.Phase, want)
				}
				// F15 F16 F30: a claim has its effect and nothing settled; no claim
				// settles at once.
				if n := len(of[Dispatch](effects)); (n == 1) != want {
					t.Errorf("%d dispatch effects", n)
				}
				if n := len(of[Settle](effects)); (n == 0) != want {
					t.Errorf("%d settlements", n)
				}
				if n := len(of[Decide](effects)); n != 1 {
					t.Errorf("%d decisions", n)
				}
			})
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*State, *Facts)
		why  string
	}{
		{"F11 no chain is no failover", func(_ *State, f *Facts) { f.Chain = f.Chain[:1] }, "no other engine is named"},
		{"F11 a hop beyond max_hops is refused", func(s *State, f *Facts) { s.Hop = 1 }, "allows 1 hops"},
		{"F12 a wake is never sent again", func(_ *State, f *Facts) { f.Message.Kind = paceline.KindWake }, "wake, not a prompt"},
		{"F12 a slash command is never sent again", func(_ *State, f *Facts) { f.Message.Kind = paceline.KindSlash }, "slash, not a prompt"},
		{"F12 a delegated result is never sent again", func(_ *State, f *Facts) { f.Message.Kind = paceline.KindDelegated }, "delegated, not a prompt"},
		{"F12 a script is never sent again", func(_ *State, f *Facts) { f.Message.Kind = paceline.KindScript }, "script, not a prompt"},
		{"F12 a continuation is never sent again", func(_ *State, f *Facts) { f.Message.Kind = paceline.KindContinuation }, "continuation, not a prompt"},
		{"F12 a message of no known kind is never sent again", func(_ *State, f *Facts) { f.Message.Kind = paceline.KindUnknown }, "unknown, not a prompt"},
		{"F13 a steered run keeps its claim to itself", func(_ *State, f *Facts) { f.Steered = true }, "it was steered"},
		{"F19 a Stop that came before the failure landed", func(_ *State, f *Facts) { f.Stop = true }, "stopped by its user"},
		{"F19 an archived thread moves nothing", func(_ *State, f *Facts) { f.Archived = true }, "archived"},
		{"F19 an unanswered question holds the run", func(_ *State, f *Facts) { f.Asking = true }, "question"},
		{"F19 something ran since", func(_ *State, f *Facts) { f.Since = 1 }, "ran in the thread since"},
		{"F47 a switched off failover moves nothing", func(_ *State, f *Facts) { f.Off = true }, "switched off"},
		{"P1 an earlier run of the message worked", func(_ *State, f *Facts) {
			f.Chain = append(f.Chain, candidate("third"))
			f.Earlier = []State{{ID: "r0", Engine: engine("third"), Work: paceline.WorkSome}}
		}, "an earlier run of the message may have worked: r0 on third"},
		{"P1 an earlier run of the message is not proved idle", func(_ *State, f *Facts) {
			f.Earlier = []State{{ID: "r0", Engine: engine("third")}}
		}, "may have worked: r0"},
		{"F70 an engine that had the message does not get it again", func(_ *State, f *Facts) {
			f.MaxHops = 5
			f.Earlier = []State{{ID: "r0", Engine: engine("codex"), Work: paceline.WorkNone}}
		}, "no engine below it"},
		{"Z47 another posture is another's money", func(_ *State, f *Facts) { f.Chain[1].Posture = paceline.PostureMetered }, "no engine below it"},
		{"Z47 a posture that nobody could read is not spent", func(_ *State, f *Facts) { f.Chain[1].Posture = paceline.PostureUnknown }, "no engine below it"},
		{"F45 a weaker containment is passed over by default", func(_ *State, f *Facts) { f.Chain[1].Containment.Weaker = "no cage" }, "no engine below it"},
		{"F11 a target that cannot start is passed over", func(_ *State, f *Facts) { f.Chain[1].Unready = "it is not installed" }, "no engine below it"},
		{"F11 a limited target is passed over", func(_ *State, f *Facts) {
			f.Chain[1].Limit = &paceline.Limit{Reset: paceline.Reset{At: now.Add(time.Hour), Source: paceline.ResetStated}}
		}, "no engine below it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := base()
			tt.set(&s, &f)
			got, effects := Step(s, failed(paceline.CauseUsageLimit, paceline.WorkNone), f)
			d := of[Decide](effects)
			if got.Claim.Phase != NoClaim || len(of[Dispatch](effects)) > 0 {
				t.Fatalf("it was claimed: %+v", got.Claim)
			}
			if len(d) != 1 || !strings.Contains(d[0].Decision.Why, tt.why) {
				t.Errorf("the decision says %+v, want %q", d, tt.why)
			}
			if len(of[Settle](effects)) != 1 {
				t.Error("the message is not settled")
			}
		})
		t.Run("F24 F25 F58 the same at dispatch: "+tt.name, func(t *testing.T) {
			s, f := base()
			s, _ = Step(s, failed(paceline.CauseUsageLimit, paceline.WorkNone), f)
			hop := s.Hop
			tt.set(&s, &f)
			if s.Hop != hop && f.MaxHops == 0 {
				f.MaxHops = 1
			}
			got, effects := Step(s, DispatchDue{Next: "r2"}, f)
			if got.Claim.Phase != Skipped || !strings.Contains(got.Claim.Why, tt.why) {
				t.Fatalf("claim %s: %q", got.Claim.Phase, got.Claim.Why)
			}
			// F24 F25: every other exit skips, and settles once.
			if len(of[Create](effects)) != 0 || len(of[Settle](effects)) != 1 {
				t.Errorf("effects %+v", effects)
			}
		})
	}
}

func TestPostures(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to paceline.Posture
		want     bool
	}{
		{"Z47 subscription to subscription", paceline.PostureSubscription, paceline.PostureSubscription, true},
		{"Z47 metered to metered", paceline.PostureMetered, paceline.PostureMetered, true},
		{"Z47 metered to subscription is not asked for either", paceline.PostureMetered, paceline.PostureSubscription, false},
		{"Z47 anything to local costs nobody", paceline.PostureSubscription, paceline.PostureLocal, true},
		{"Z47 an unread source moves only to local", paceline.PostureUnknown, paceline.PostureLocal, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := base()
			f.Chain[0].Posture, f.Chain[1].Posture = tt.from, tt.to
			got, _ := Step(s, failed(paceline.CauseUsageLimit, paceline.WorkNone), f)
			if (got.Claim.Phase == Pending) != tt.want {
				t.Errorf("claim %s, want pending %t", got.Claim.Phase, tt.want)
			}
		})
	}
}

func TestDispatch(t *testing.T) {
	claimed := func() (State, Facts) {
		s, f := base()
		s, _ = Step(s, failed(paceline.CauseUsageLimit, paceline.WorkNone), f)
		return s, f
	}
	t.Run("F23 one commit announces, creates the successor and ends the claim", func(t *testing.T) {
		s, f := claimed()
		got, effects := Step(s, DispatchDue{Next: "r2"}, f)
		if got.Claim.Phase != Dispatched || got.Claim.Next != "r2" {
			t.Fatalf("claim %+v", got.Claim)
		}
		want := State{ID: "r2", Thread: "t1", Message: "m1", After: "r1", Hop: 1, Engine: engine("codex"), Created: now}
		if diff := cmp.Diff([]Create{{Run: want}}, of[Create](effects)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]Announce{{"Switched to codex after claude hit its usage limit."}}, of[Announce](effects)); diff != "" {
			t.Error(diff)
		}
		if len(of[Settle](effects)) != 0 {
			t.Error("F30 a failing over run settled its message")
		}
	})
	t.Run("F20 F21 the successor names the message itself, so no other text or sender can take its place", func(t *testing.T) {
		s, f := claimed()
		f.Message.Text, f.Message.Sender = "forged", "somebody else"
		_, effects := Step(s, DispatchDue{Next: "r2"}, f)
		got := of[Create](effects)
		if len(got) != 1 || got[0].Run.Message != "m1" || got[0].Run.After != "r1" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("F18 two attempts create one run", func(t *testing.T) {
		s, f := claimed()
		s, _ = Step(s, DispatchDue{Next: "r2"}, f)
		again, effects := Step(s, DispatchDue{Next: "r3"}, f)
		if diff := cmp.Diff(s, again); diff != "" || len(effects) > 0 {
			t.Error(diff, effects)
		}
	})
	t.Run("F17 a refused attempt is tried again, the fifth is a skip", func(t *testing.T) {
		s, f := claimed()
		var settled int
		for range MaxRefusals {
			if s.Claim.Phase != Pending {
				t.Fatalf("gave up early: %+v", s.Claim)
			}
			var effects []Effect
			s, effects = Step(s, DispatchRefused{Why: "the store refused it"}, f)
			settled += len(of[Settle](effects))
		}
		if s.Claim.Phase != Skipped || settled != 1 {
			t.Errorf("claim %+v, settled %d times", s.Claim, settled)
		}
	})
	t.Run("F26 a claim that is pending for ten minutes is given up", func(t *testing.T) {
		s, f := claimed()
		f.Now = now.Add(MaxPending)
		if s, _ = Step(s, DispatchRefused{Why: "x"}, f); s.Claim.Phase != Skipped {
			t.Errorf("claim %+v", s.Claim)
		}
	})
	t.Run("F24 a Stop ends a pending claim", func(t *testing.T) {
		s, f := claimed()
		s, effects := Step(s, StopAsked{By: "its user"}, f)
		if got := of[Settle](effects); s.Claim.Phase != Skipped || len(got) != 1 || got[0].Status != Halted {
			t.Errorf("claim %+v, %+v", s.Claim, got)
		}
	})
	t.Run("F19 the target fell ill meanwhile and the next one takes its place", func(t *testing.T) {
		s, f := claimed()
		f.Chain = append(f.Chain, candidate("third"))
		f.Chain[1].Unready = "it is signed out"
		s, _ = Step(s, DispatchDue{Next: "r2"}, f)
		if s.Claim.Target != engine("third") {
			t.Errorf("went to %s", s.Claim.Target)
		}
	})
	t.Run("F44 F45 an allowed weaker target is announced", func(t *testing.T) {
		s, f := base()
		f.Weaker = place.WeakerAnnounce
		f.Chain[1].Containment.Weaker = "its commands can write anywhere"
		s, _ = Step(s, failed(paceline.CauseUsageLimit, paceline.WorkNone), f)
		_, effects := Step(s, DispatchDue{Next: "r2"}, f)
		if got := of[Announce](effects); len(got) != 1 || !strings.Contains(got[0].Text, "less tightly there: its commands can write anywhere") {
			t.Errorf("%+v", got)
		}
	})
	for c, line := range map[paceline.Cause]string{
		paceline.CauseAuth:      "Switched to codex after claude was signed out.",
		paceline.CauseBilling:   "Switched to codex after claude was billed out.",
		paceline.CauseThrottle:  "Switched to codex after claude refused it (429, cause not told).",
		paceline.CauseTransport: "Switched to codex after claude could not be reached.",
		paceline.CauseServer:    "Switched to codex after claude could not be reached.",
		paceline.CauseStall:     "Switched to codex after claude stalled.",
	} {
		t.Run("F23 the line of "+c.String(), func(t *testing.T) {
			s, f := base()
			s, _ = Step(s, failed(c, paceline.WorkNone), f)
			_, effects := Step(s, DispatchDue{Next: "r2"}, f)
			if diff := cmp.Diff([]Announce{{line}}, of[Announce](effects)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLimitsHeld(t *testing.T) {
	reset := paceline.Reset{At: now.Add(3 * time.Hour), Source: paceline.ResetStated}
	for _, tt := range []struct {
		name  string
		cause paceline.Cause
		reset paceline.Reset
		want  *paceline.Reset
	}{
		{"a stated reset is kept", paceline.CauseUsageLimit, reset, &reset},
		{"F14 a limit without a reset still moves, and is asked again in half an hour", paceline.CauseUsageLimit, paceline.Reset{}, &paceline.Reset{At: now.Add(AssumedReset), Source: paceline.ResetAssumed}},
		{"F46 a 429 of unknown cause holds its engine only for a minute", paceline.CauseThrottle, paceline.Reset{}, &paceline.Reset{At: now.Add(AssumedThrottle), Source: paceline.ResetAssumed}},
		{"billing has no time", paceline.CauseBilling, paceline.Reset{}, &paceline.Reset{}},
		{"F9 an overload is never a limit", paceline.CauseServer, paceline.Reset{}, nil},
		{"a dead route is never a limit", paceline.CauseTransport, paceline.Reset{}, nil},
		{"a sign-out is looked up anew", paceline.CauseAuth, paceline.Reset{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := base()
			e := failed(tt.cause, paceline.WorkNone)
			e.Ending.Failure.Reset = tt.reset
			_, effects := Step(s, e, f)
			held := of[Hold](effects)
			if (len(held) == 1) != (tt.want != nil) {
				t.Fatalf("held %+v", held)
			}
			if tt.want != nil && held[0].Limit.Reset != *tt.want {
				t.Errorf("reset %+v, want %+v", held[0].Limit.Reset, *tt.want)
			}
		})
	}
	t.Run("F46 a passing 429 does not lift or move the engine for good", func(t *testing.T) {
		_, effects := func() (State, []Effect) {
			s, f := base()
			return Step(s, failed(paceline.CauseThrottle, paceline.WorkNone), f)
		}()
		if l := of[Hold](effects)[0].Limit; place.Held(&l, now.Add(2*time.Minute)) {
			t.Error("it still holds")
		}
	})
}

func TestRefreshedSignIn(t *testing.T) {
	t.Run("a parallel child refreshed the token: the same engine gets it once more", func(t *testing.T) {
		s, f := base()
		f.Probe = ProbeIn
		s, _ = Step(s, failed(paceline.CauseAuth, paceline.WorkNone), f)
		s, effects := Step(s, DispatchDue{Next: "r2"}, f)
		got := of[Create](effects)
		if len(got) != 1 || got[0].Run.Engine != engine("claude") || got[0].Run.Hop != 0 || s.Claim.Phase != Dispatched {
			t.Errorf("%+v", got)
		}
	})
	t.Run("but only once", func(t *testing.T) {
		s, f := base()
		f.Probe = ProbeIn
		f.Earlier = []State{{ID: "r0", Engine: engine("claude"), Work: paceline.WorkNone}}
		s, _ = Step(s, failed(paceline.CauseAuth, paceline.WorkNone), f)
		if s.Claim.Target != engine("codex") {
			t.Errorf("%+v", s.Claim)
		}
	})
	t.Run("P1 never after work", func(t *testing.T) {
		s, f := base()
		f.Probe = ProbeIn
		if s, _ = Step(s, failed(paceline.CauseAuth, paceline.WorkSome), f); s.Claim.Phase != NoClaim {
			t.Errorf("%+v", s.Claim)
		}
	})
}

func TestRoutes(t *testing.T) {
	s, f := base()
	f.Chain[1].Route = f.Chain[0].Route
	t.Run("a dead route is not tried again under another name", func(t *testing.T) {
		if got, _ := Step(s, failed(paceline.CauseTransport, paceline.WorkNone), f); got.Claim.Phase != NoClaim {
			t.Errorf("%+v", got.Claim)
		}
	})
	t.Run("a limit on the same route is the account's own", func(t *testing.T) {
		if got, _ := Step(s, failed(paceline.CauseUsageLimit, paceline.WorkNone), f); got.Claim.Phase != Pending {
			t.Errorf("%+v", got.Claim)
		}
	})
}

func TestLost(t *testing.T) {
	limit := wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseUsageLimit, Work: paceline.WorkNone}}
	half := wire.Ending{Outcome: paceline.OutcomeIncomplete, Failure: paceline.Failure{Work: paceline.WorkSome}}
	for _, tt := range []struct {
		name  string
		phase Phase
		lost  Lost
		want  Phase
		claim ClaimPhase
	}{
		{"F31 cut while starting: nothing was sent, it starts again", Starting, Lost{}, Queued, NoClaim},
		{"F31 cut while sending, prompt absent: sent again under its own uuid", Sending, Lost{}, Queued, NoClaim},
		{"F31 cut while sending, prompt there: read, not sent", Sending, Lost{Delivered: true, Ending: half}, Failed, NoClaim},
		{"F31 cut while sending, limit there: claimed", Sending, Lost{Delivered: true, Ending: limit}, Failed, Pending},
		{"F31 cut while running, limit there: claimed", Running, Lost{Delivered: true, Ending: limit}, Failed, Pending},
		{"F31 cut while running, half a turn there: a reported crash", Running, Lost{Delivered: true, Ending: half}, Failed, NoClaim},
		{"P1 acknowledged but not in the transcript: never sent again", Running, Lost{}, Failed, NoClaim},
		{"a settled run has nothing to lose", Done, Lost{}, Done, NoClaim},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := base()
			s.Phase = tt.phase
			got, _ := Step(s, tt.lost, f)
			if got.Phase != tt.want || got.Claim.Phase != tt.claim {
				t.Errorf("%s, claim %q; want %s, %q", got.Phase, got.Claim.Phase, tt.want, tt.claim)
			}
		})
	}
}

func TestTerminals(t *testing.T) {
	t.Run("F61 a duplicate terminal writes one failure, one claim, one effect", func(t *testing.T) {
		s, f := base()
		once, _ := Step(s, failed(paceline.CauseUsageLimit, paceline.WorkNone), f)
		f.Now = now.Add(time.Second)
		twice, effects := Step(once, failed(paceline.CauseServer, paceline.WorkSome), f)
		if diff := cmp.Diff(once, twice); diff != "" || len(effects) > 0 {
			t.Error(diff, effects)
		}
	})
	stalled := failed(paceline.CauseStall, paceline.WorkNone)
	answered := End{wire.Ending{Outcome: paceline.OutcomeCompleted, Failure: paceline.Failure{Work: paceline.WorkSome}}}
	for _, tt := range []struct {
		name        string
		first, late Event
		want        Phase
	}{
		{"R15 a late completion does not overwrite a stall", stalled, answered, Failed},
		{"R15 nor does a late error", stalled, failed(paceline.CauseServer, paceline.WorkSome), Failed},
		{"R20 a run that ended while its stall was read keeps its end", answered, stalled, Done},
		{"R20 also one that its user stopped meanwhile", StopAsked{By: "its user"}, stalled, Stopped},
		{"R19 a stop after the stall drops what it had claimed, and the failure stands", stalled, StopAsked{By: "its user"}, Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := base()
			once, _ := Step(s, tt.first, f)
			twice, _ := Step(once, tt.late, f)
			if twice.Phase != tt.want || !cmp.Equal(once.Failure, twice.Failure) {
				t.Errorf("%s: %+v, then %+v", twice.Phase, once.Failure, twice.Failure)
			}
		})
	}
	t.Run("F2 work that was recorded outweighs an ending that says none", func(t *testing.T) {
		s, f := base()
		s, _ = Step(s, Worked{Work: paceline.WorkSome, Evidence: paceline.Evidence{Frame: "assistant", Says: "tool_use", Means: "work"}}, f)
		s, effects := Step(s, failed(paceline.CauseUsageLimit, paceline.WorkNone), f)
		d := of[Decide](effects)[0].Decision
		if s.Claim.Phase != NoClaim || !strings.Contains(d.Why, "assistant (tool_use)") {
			t.Errorf("claim %+v, why %q", s.Claim, d.Why)
		}
	})
	t.Run("an unknown frame never hides work that was seen", func(t *testing.T) {
		s, f := base()
		s, _ = Step(s, Worked{Work: paceline.WorkSome}, f)
		if s, _ = Step(s, Worked{Work: paceline.WorkUnknown}, f); s.Work != paceline.WorkSome {
			t.Error(s.Work)
		}
	})
	t.Run("A25 an engine that was not reached is said to be back at its first word, once", func(t *testing.T) {
		s, f := base()
		f.Earlier = append(f.Earlier, State{ID: "r0", Engine: s.Engine, Phase: Failed, Failure: &paceline.Failure{Cause: paceline.CauseServer}})
		s, first := Step(s, Worked{Work: paceline.WorkSome}, f)
		_, then := Step(s, End{wire.Ending{Outcome: paceline.OutcomeCompleted}}, f)
		if got := of[Announce](first); len(got) != 1 || got[0].Text != "claude is reachable again" || len(of[Announce](then)) != 0 {
			t.Errorf("%+v, then %+v", first, then)
		}
	})
	t.Run("A25 and at its end, where it said nothing before; after a limit nothing is said", func(t *testing.T) {
		for cause, want := range map[paceline.Cause]int{paceline.CauseTransport: 1, paceline.CauseUsageLimit: 0} {
			s, f := base()
			f.Earlier = append(f.Earlier, State{ID: "r0", Engine: s.Engine, Phase: Failed, Failure: &paceline.Failure{Cause: cause}})
			_, effects := Step(s, End{wire.Ending{Outcome: paceline.OutcomeCompleted}}, f)
			if got := of[Announce](effects); len(got) != want {
				t.Errorf("%s: %+v", cause, effects)
			}
		}
	})
	t.Run("P2 an answered message is settled, and its engine's limit lifted", func(t *testing.T) {
		s, f := base()
		s, effects := Step(s, End{wire.Ending{Outcome: paceline.OutcomeCompleted, Failure: paceline.Failure{Work: paceline.WorkSome}}}, f)
		if s.Phase != Done || len(of[Lift](effects)) != 1 || of[Settle](effects)[0].Status != Answered {
			t.Errorf("%s %+v", s.Phase, effects)
		}
	})
}
