package run

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/wire"
)

// world is one message on a chain of engines, with everything that may happen
// to it in any order: duplicate terminals, restarts, effect attempts, stops.
type world struct {
	now     time.Time
	chain   []place.Candidate
	runs    []State
	truth   map[paceline.RunID]bool // worked, whatever was recorded
	settled int
	created map[paceline.RunID]int // successors by source
	stop    bool
	asked   *place.Candidate // where its user wants the seat
	opener  bool
	roll    bool
	// patience is the message's: the chain alone is walked where it is negative.
	patience time.Duration
}

func (w *world) facts(i int) Facts {
	f := Facts{
		Now: w.now, Chain: w.chain, Stop: w.stop,
		Message: paceline.Message{ID: "m1", Kind: paceline.KindPrompt, Opener: w.opener, Patience: w.patience},
		Roll:    w.roll, Kept: w.roll,
	}
	if w.runs[i].Claim.Phase == Pending && w.runs[i].Claim.Asked {
		f.Asked = w.asked
	}
	for j, r := range w.runs {
		if j != i {
			f.Earlier = append(f.Earlier, r)
		}
	}
	return f
}

func (w *world) step(t *rapid.T, i int, e Event, f Facts) {
	before := w.runs[i]
	after, effects := Step(before, e, f)
	w.runs[i] = after
	w.settled += len(of[Settle](effects))
	for _, h := range of[Hold](effects) {
		for k := range w.chain {
			if w.patience >= 0 && w.chain[k].Engine == h.Limit.Engine {
				w.chain[k].Limit = &h.Limit
			}
		}
	}
	var born []State
	for _, c := range of[Create](effects) {
		born = append(born, c.Run)
	}
	for _, c := range of[Resume](effects) {
		born = append(born, c.Run)
	}
	for _, c := range born {
		w.created[before.ID]++
		if w.created[before.ID] > 1 {
			t.Fatalf("F18 %s was sent again twice", before.ID)
		}
		for _, r := range w.runs {
			if c.Carry < Progress && (r.Work != paceline.WorkNone || w.truth[r.ID]) {
				t.Fatalf("P1 %s goes out although %s may have worked", c.ID, r.ID)
			}
			if c.Carry < Progress && r.Engine == c.Engine && r.Sent && r.Conversation != "" && w.patience >= 0 {
				t.Fatalf("P1 %s sends the message to %s again, whose conversation holds it", c.ID, r.Engine)
			}
		}
		w.runs = append(w.runs, c)
	}
	if before.Phase >= Done && after.Phase != before.Phase {
		t.Fatalf("%s rose from %s to %s", before.ID, before.Phase, after.Phase)
	}
	if before.Claim.Phase >= Dispatched && after.Claim.Phase != before.Claim.Phase {
		t.Fatalf("P3 a resolved claim changed: %s to %s", before.Claim.Phase, after.Claim.Phase)
	}
	again, more := Step(after, e, f)
	if _, over := e.(WaitOver); over && len(of[Resume](more)) == 0 {
		return // it waits on, and says so each time
	}
	if _, refused := e.(DispatchRefused); !refused && before.Phase != Starting && (len(more) > 0 || again.Phase != after.Phase) {
		if _, begin := e.(Begin); !begin {
			t.Fatalf("F61 the same %s twice has effects: %+v", e.event(), more)
		}
	}
}

// ending is a terminal that tells the truth about work, or less.
func (w *world) ending(t *rapid.T, id paceline.RunID) wire.Ending {
	e := wire.Ending{
		Outcome: rapid.SampledFrom([]paceline.Outcome{
			paceline.OutcomeFailed, paceline.OutcomeFailed, paceline.OutcomeFailed, paceline.OutcomeCompleted, paceline.OutcomeInterrupted, paceline.OutcomeIncomplete,
		}).Draw(t, "outcome"),
		Failure: paceline.Failure{
			Cause: paceline.Cause(rapid.IntRange(0, int(paceline.CauseOther)).Draw(t, "cause")),
			Work:  rapid.SampledFrom([]paceline.Work{paceline.WorkNone, paceline.WorkNone, paceline.WorkUnknown, paceline.WorkSome}).Draw(t, "work"),
		},
	}
	if w.truth[id] && e.Failure.Work == paceline.WorkNone {
		e.Failure.Work = paceline.WorkSome
	}
	return e
}

func TestAnyOrder(t *testing.T) {
	t.Run("P1 P3 F18 F26 F61 F70 in any order of terminals, restarts and attempts: never twice, and every claim ends", rapid.MakeCheck(func(t *rapid.T) {
		w := &world{patience: -1, now: now, truth: map[paceline.RunID]bool{}, created: map[paceline.RunID]int{}}
		w.opener, w.roll = rapid.Bool().Draw(t, "opener"), rapid.Bool().Draw(t, "roll")
		for i := range rapid.IntRange(1, 4).Draw(t, "chain") {
			w.chain = append(w.chain, candidate(fmt.Sprintf("e%d", i)))
		}
		w.runs = []State{{ID: "r0", Message: "m1", Engine: w.chain[0].Engine}}
		for n := range rapid.IntRange(1, 40).Draw(t, "events") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "seconds")) * time.Second)
			i := rapid.IntRange(0, len(w.runs)-1).Draw(t, "run")
			id := w.runs[i].ID
			f := w.facts(i)
			switch rapid.IntRange(0, 10).Draw(t, "event") {
			case 10:
				over := f
				c := candidate(fmt.Sprintf("e%d", rapid.IntRange(0, len(w.chain)).Draw(t, "wanted")))
				w.asked = &c
				if c.Engine != w.runs[i].Engine && w.runs[i].Live() {
					over.Asked, over.Kept = &c, true
					e := w.ending(t, id)
					w.step(t, i, HandedOver{e}, over)
				}
			case 0, 1:
				w.step(t, i, Begin{}, f)
			case 2:
				w.step(t, i, Send{Conversation: "c"}, f)
			case 3:
				w.step(t, i, Ack{}, f)
			case 4:
				if w.runs[i].Live() && w.runs[i].Sent {
					w.truth[id] = true
					if rapid.Bool().Draw(t, "recorded") {
						w.step(t, i, Worked{Work: paceline.WorkSome}, f)
					}
				}
			case 5, 6:
				w.step(t, i, End{w.ending(t, id)}, f)
			case 7:
				w.step(t, i, Lost{Delivered: w.truth[id] || rapid.Bool().Draw(t, "delivered"), Ending: w.ending(t, id)}, f)
			case 8:
				w.step(t, i, DispatchDue{Next: paceline.RunID(fmt.Sprintf("r%d", n+1))}, f)
			case 9:
				if rapid.IntRange(0, 3).Draw(t, "rare") == 0 {
					w.stop = true
					w.step(t, i, StopAsked{By: "its user"}, w.facts(i))
				} else {
					w.step(t, i, DispatchRefused{Why: "x"}, f)
				}
			}
		}
		// Whatever happened, a few more attempts end every claim.
		for range MaxRefusals {
			for i := range w.runs {
				w.step(t, i, DispatchRefused{Why: "x"}, w.facts(i))
			}
		}
		open, seen, wished := 0, map[paceline.Engine]int{}, map[paceline.RunID]bool{}
		for _, r := range w.runs {
			wished[r.Claim.Next] = wished[r.Claim.Next] || r.Claim.Asked
		}
		for _, r := range w.runs {
			if r.Claim.Phase == Pending {
				t.Fatalf("P3 the claim of %s never ends", r.ID)
			}
			if r.Waiting() && r.Failure.Cause != paceline.CauseStopped {
				t.Fatalf("%s waits although it was told not to", r.ID)
			}
			if r.Open() {
				open++
			}
			if r.Claim.Asked || wished[r.ID] {
				continue // its user may have it go to and fro
			}
			if seen[r.Engine]++; seen[r.Engine] > 1 {
				t.Fatalf("F70 %s had the message twice", r.Engine)
			}
		}
		if open+w.settled != 1 {
			t.Fatalf("P2 %d runs open and settled %d times", open, w.settled)
		}
	}))
}

func TestWaitsInAnyOrder(t *testing.T) {
	t.Run("P1 P2 P3 A18 F29 in any order of limits, waits, restarts and stops: never twice, and never lost", rapid.MakeCheck(func(t *rapid.T) {
		w := &world{now: now, truth: map[paceline.RunID]bool{}, created: map[paceline.RunID]int{}}
		w.opener, w.roll = rapid.Bool().Draw(t, "opener"), rapid.Bool().Draw(t, "roll")
		for i := range rapid.IntRange(1, 3).Draw(t, "chain") {
			w.chain = append(w.chain, candidate(fmt.Sprintf("e%d", i)))
		}
		w.runs = []State{{ID: "r0", Message: "m1", Engine: w.chain[0].Engine, Created: now}}
		for n := range rapid.IntRange(1, 60).Draw(t, "events") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "seconds")) * time.Second)
			// Only one run is open at a time; it is what the owner works on.
			i := -1
			for j, r := range w.runs {
				if r.Open() {
					i = j
				}
			}
			if i < 0 {
				break
			}
			for k := range w.chain {
				if rapid.IntRange(0, 3).Draw(t, "route") == 0 {
					w.chain[k].Health = place.Health{}
					if rapid.Bool().Draw(t, "down") {
						w.chain[k].Health = place.Health{Down: "route health open", Back: w.now.Add(5 * time.Minute), Shared: rapid.Bool().Draw(t, "shared")}
					}
				}
			}
			r, f := w.runs[i], w.facts(i)
			next := paceline.RunID(fmt.Sprintf("r%d", n+1))
			switch {
			case rapid.IntRange(0, 40).Draw(t, "stop") == 0:
				w.stop = true
				w.step(t, i, StopAsked{By: "its user"}, w.facts(i))
			case r.Claim.Phase == Pending:
				w.step(t, i, DispatchDue{Next: next}, f)
			case r.Waiting():
				if w.now.Before(r.Wait.Until) {
					w.now = r.Wait.Until
					f = w.facts(i)
				}
				w.step(t, i, WaitOver{Next: next}, f)
			case r.Phase == Queued:
				w.step(t, i, Begin{}, f)
			case r.Phase == Starting:
				w.step(t, i, Send{Conversation: paceline.ConversationID("c-" + r.Engine.Account)}, f)
			default:
				if rapid.Bool().Draw(t, "works") {
					w.truth[r.ID] = true
				}
				e := w.ending(t, r.ID)
				switch rapid.IntRange(0, 4).Draw(t, "why") {
				case 0:
					e.Outcome, e.Failure.Cause = paceline.OutcomeFailed, paceline.CauseTransport
				case 1, 2, 3:
					e.Outcome, e.Failure.Cause = paceline.OutcomeFailed, paceline.CauseUsageLimit
					e.Failure.Reset = paceline.Reset{At: w.now.Add(time.Duration(rapid.IntRange(-60, 9000).Draw(t, "reset")) * time.Second), Source: paceline.ResetStated}
				}
				w.step(t, i, End{e}, f)
			}
			if rapid.IntRange(0, 9).Draw(t, "again") == 0 && w.runs[i].Live() {
				w.step(t, i, Lost{Delivered: w.truth[r.ID], Ending: w.ending(t, r.ID)}, w.facts(i))
			}
		}
		open := 0
		for _, r := range w.runs {
			if r.Open() {
				open++
			}
		}
		if open+w.settled != 1 {
			t.Fatalf("P2 %d runs open and settled %d times", open, w.settled)
		}
	}))
}
