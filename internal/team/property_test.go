package team

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
)

// TestAnyOrder holds a team to what must be so in any order of events: rounds that
// end in every way, words of people, restarts, endings that come twice, limits
// that come and go.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engines := []paceline.Engine{eng("claude"), eng("codex"), eng("agy")}
		var all []Participant
		for i := range rapid.IntRange(1, 4).Draw(t, "members") {
			all = append(all, Participant{
				ID: fmt.Sprintf("p%d", i), Chain: rapid.Permutation(engines).Draw(t, "chain")[:rapid.IntRange(1, 3).Draw(t, "length")],
			})
		}
		s := New("t-1", "x", Rules{MaxIterations: 25, MaxRuntime: 5 * time.Hour, MaxWait: time.Hour}, all)
		f := Facts{Now: noon, Engines: map[paceline.Engine]Engine{}}
		begun, settled := map[paceline.MessageID]bool{}, map[paceline.MessageID]bool{}
		approved, exempt, n := 0, 0, 0
		step := func(e Event) (out []Effect) {
			before := s
			s, out = Step(s, e, f)
			for _, x := range out {
				b, ok := x.(Begin)
				switch {
				case !ok:
				case before.Round != nil:
					t.Fatalf("two rounds at once")
				case begun[b.Round.Message]:
					t.Fatalf("%s was begun twice", b.Round.Message)
				case before.Phase != Running:
					t.Fatalf("a round began while it was %s", before.Phase)
				case before.Rounds >= s.Rules.MaxIterations:
					t.Fatalf("A29 round %d began, %d are allowed", before.Rounds+1, s.Rules.MaxIterations)
				case before.Spent >= s.Rules.MaxRuntime:
					t.Fatalf("a round began after %s", before.Spent)
				case before.Gate != nil && before.Gate.Holder != b.Round.Participant && before.Exempt != b.Round.Participant:
					t.Fatalf("A16 @%s had a round while @%s holds a gate", b.Round.Participant, before.Gate.Holder)
				case b.Round.Exempt && len(b.Round.Chain) != 1:
					t.Fatalf("A33 an exempt round may run on %v", b.Round.Chain)
				}
				if ok {
					begun[b.Round.Message] = true
					if b.Round.Exempt {
						exempt++
					}
					if m, _ := before.Member(b.Round.Participant); !b.Round.Exempt {
						if e, _ := before.engine(m, f); !e.Valid() {
							t.Fatalf("A7 @%s had a round, and no engine of it is free", m.ID)
						}
					}
				}
			}
			if b, _ := json.Marshal(s); true { // a restart
				var again State
				if err := json.Unmarshal(b, &again); err != nil {
					t.Fatal(err)
				}
				if c, _ := json.Marshal(again); string(b) != string(c) {
					t.Fatalf("a restart changed\n%s to\n%s", b, c)
				}
				s = again
			}
			return out
		}
		step(ResumeAsked{})
		t.Repeat(map[string]func(*rapid.T){
			"due": func(t *rapid.T) {
				n++
				out := step(Due{Message: paceline.MessageID(fmt.Sprint(n)), Seen: int64(n)})
				if s.Round == nil && s.Phase == Running && !s.Held() && !s.Wait.Until.After(f.Now) {
					t.Fatalf("it neither runs nor sleeps nor rests: %+v", out)
				}
			},
			"end": func(t *rapid.T) {
				if s.Round == nil {
					t.Skip("no round")
				}
				r := Result{
					Message: s.Round.Message, Busy: time.Duration(rapid.IntRange(0, 3600).Draw(t, "busy")) * time.Second, Worked: rapid.Bool().Draw(t, "worked"),
					Reply: rapid.SampledFrom([]string{"", "ok", "MOVE: ask @p0", "MOVE: ask @p1", "MOVE: wait 5m", "MOVE: gate push", "MOVE: done"}).Draw(t, "reply"),
				}
				m, _ := s.Member(s.Round.Participant)
				on := m.Chain[rapid.IntRange(0, len(m.Chain)-1).Draw(t, "on")]
				try := Try{Engine: on}
				if r.Status = run.Answered; rapid.Bool().Draw(t, "fails") {
					r.Status, try.Failed = run.Blocked, true
					try.Cause = rapid.SampledFrom([]paceline.Cause{limitHit, offline, crash, paceline.CauseModel, paceline.CauseBilling, paceline.CauseAuth, paceline.CauseStall}).Draw(t, "cause")
					if try.Cause == limitHit {
						try.Reset = paceline.Reset{At: f.Now.Add(time.Duration(rapid.IntRange(-5, 300).Draw(t, "reset")) * time.Minute), Source: paceline.ResetStated}
						f.Engines[on] = Engine{Limit: &paceline.Limit{Engine: on, Cause: limitHit, Reset: try.Reset}}
					}
				}
				r.Tries = []Try{try}
				step(Ended{r})
				settled[r.Message] = true
				before := s
				if out := step(Ended{r}); len(out) > 0 || !reflect.DeepEqual(before, s) {
					t.Fatalf("F61 an ending that came twice had effects: %+v", out)
				}
			},
			"person": func(t *rapid.T) {
				e := rapid.SampledFrom([]Event{Posted{Text: "hi"}, Posted{Text: "hi", To: "p0"}, Ruled{Approve: true}, Ruled{}, PauseAsked{}, ResumeAsked{}}).Draw(t, "word")
				if r, ok := e.(Ruled); ok && r.Approve && s.Gate != nil {
					approved++
				}
				step(e)
			},
			"later": func(t *rapid.T) {
				f.Now = f.Now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "seconds")) * time.Second)
			},
			"": func(t *rapid.T) {
				passed := func(m Member) bool { return m.Passed > 4*len(s.Members) }
				if slices.ContainsFunc(s.Members, passed) {
					t.Fatalf("one starves: %+v", s.Members)
				}
				if exempt > 0 && approved == 0 {
					t.Fatal("A33 an exempt round began, and nobody approved")
				}
			},
		})
	})
}
