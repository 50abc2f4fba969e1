package run

import (
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// TestLimitAgain: what was told to lift, and did not, is a later wait and
// nothing else.
func TestLimitAgain(t *testing.T) {
	t.Run("A18 bug-25 a limit that is met again after its reset is waited for anew, and is no crash", func(t *testing.T) {
		s, f, failure := ended(paceline.CauseUsageLimit, paceline.WorkSome, stated(time.Hour), alone)
		for round := range 15 {
			end := f.Now.Add(5 * time.Hour)
			failure.Reset = paceline.Reset{At: end, Source: paceline.ResetStated}
			waiting, effects := Step(s, End{wire.Ending{Outcome: paceline.OutcomeFailed, Failure: failure}}, f)
			if !waiting.Waiting() || waiting.Wait.Until.Before(end) || len(of[Settle](effects)) != 0 {
				t.Fatalf("round %d: %+v %+v", round, waiting.Wait, effects)
			}
			f.Now = waiting.Wait.Until
			over, effects := Step(waiting, WaitOver{Next: paceline.RunID(rune('a' + round))}, f)
			next := of[Resume](effects)
			if len(next) != 1 || next[0].Run.Carry.String() != "continue" {
				t.Fatalf("round %d: %+v", round, effects)
			}
			f.Earlier = append(f.Earlier, over)
			s = next[0].Run
			s.Phase, s.Work, s.Created = Running, paceline.WorkSome, f.Now
		}
	})
}
