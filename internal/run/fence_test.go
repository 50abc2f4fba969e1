package run

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/wire"
)

// The model of two servers that both believe they hold a seat. What they share is
// what they share in life: the rows, whose every change is a transaction, and the
// lock of each run, which its guard holds for as long as its child lives. All else
// a server knows is its own, and old.
type (
	fenced struct {
		now      time.Time
		chain    []place.Candidate
		rows     []State
		children map[paceline.RunID]*child
		writes   []int // the rows whose children wrote, in order
		prompts  map[paceline.RunID]int
		servers  [2]*server
		born     int
	}
	child struct {
		writes bool // it has its prompt
		doomed bool // its server is gone: its guard ends it some time
		owner  *server
	}
	server struct {
		halted bool
		run    paceline.RunID // that it works on; "" is none
		nth    int            // start of it
		at     string         // its next step
		ending wire.Ending
	}
)

func (w *fenced) row(id paceline.RunID) int {
	for i, r := range w.rows {
		if r.ID == id {
			return i
		}
	}
	return -1
}

// decide is a transaction. False is a server that was superseded: its child ends.
func (w *fenced) decide(s *server, id paceline.RunID, e Event) bool {
	i := w.row(id)
	if s.run == id && s.nth > 0 && w.rows[i].Starts != s.nth {
		if c := w.children[id]; c != nil && c.owner == s {
			delete(w.children, id)
		}
		*s = server{}
		return false
	}
	f := Facts{
		Now: w.now, Chain: w.chain, Roll: true, Kept: true,
		Message: paceline.Message{ID: "m1", Kind: paceline.KindPrompt, Opener: true},
	}
	for j, r := range w.rows {
		if j != i {
			f.Earlier = append(f.Earlier, r)
		}
	}
	after, effects := Step(w.rows[i], e, f)
	w.rows[i] = after
	for _, c := range of[Create](effects) {
		w.rows = append(w.rows, c.Run)
	}
	for _, c := range of[Resume](effects) {
		w.rows = append(w.rows, c.Run)
	}
	return true
}

// step is one step of a server, between any two of which everything may happen.
func (w *fenced) step(t *rapid.T, s *server) {
	next := func() paceline.RunID { w.born++; return paceline.RunID(fmt.Sprintf("r%d", w.born)) }
	switch s.at {
	case "":
		for _, r := range w.rows {
			switch {
			case !r.Open():
				continue
			case r.Claim.Phase == Pending:
				w.decide(s, r.ID, DispatchDue{Next: next()})
			case r.Waiting():
				w.decide(s, r.ID, WaitOver{Next: next()})
			case r.Phase == Queued:
				s.run, s.nth, s.at = r.ID, 0, "begin"
			default:
				s.run, s.nth, s.at = r.ID, 0, "recover"
			}
			return
		}
	case "recover":
		if w.children[s.run] != nil {
			return // its guard holds the lock
		}
		lost := Lost{Delivered: w.prompts[s.run] > 0, Ending: wire.Ending{Failure: paceline.Failure{Cause: paceline.CauseCrash}}}
		w.decide(s, s.run, lost)
		*s = server{}
	case "begin":
		if w.decide(s, s.run, Begin{}) {
			if s.nth, s.at = w.rows[w.row(s.run)].Starts, "open"; w.rows[w.row(s.run)].Phase != Starting {
				*s = server{}
			}
		}
	case "open":
		if w.children[s.run] != nil {
			s.ending, s.at = wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseCrash, Work: paceline.WorkNone}}, "end"
			return // another guard holds the lock
		}
		w.children[s.run], s.at = &child{owner: s}, "alone"
	case "alone":
		for _, r := range w.rows[:w.row(s.run)] {
			if w.children[r.ID] != nil {
				return
			}
		}
		s.at = "send"
	case "send":
		if !w.decide(s, s.run, Send{Conversation: "c"}) {
			return
		}
		if s.at = "prompt"; w.rows[w.row(s.run)].Phase != Sending {
			delete(w.children, s.run)
			*s = server{}
		}
	case "prompt":
		if c := w.children[s.run]; c != nil && c.owner == s {
			c.writes = true
			w.prompts[s.run]++
		}
		s.at = "follow"
	case "follow":
		w.decide(s, s.run, Ack{})
		if s.run == "" || rapid.IntRange(0, 2).Draw(t, "goes on") > 0 {
			return
		}
		s.ending = wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{
			Cause: paceline.CauseUsageLimit, Work: paceline.WorkSome, Reset: paceline.Reset{At: w.now, Source: paceline.ResetStated},
		}}
		if rapid.IntRange(0, 3).Draw(t, "done") == 0 {
			s.ending = wire.Ending{Outcome: paceline.OutcomeCompleted, Failure: paceline.Failure{Work: paceline.WorkSome}}
		}
		s.at = "stop"
	case "stop":
		if c := w.children[s.run]; c != nil && c.owner == s {
			delete(w.children, s.run)
		}
		s.at = "end"
	case "end":
		w.decide(s, s.run, End{s.ending})
		*s = server{halted: s.halted}
	}
}

func (w *fenced) happens(t *rapid.T) {
	s := w.servers[rapid.IntRange(0, 1).Draw(t, "server")]
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0: // SIGKILL, and another one in its place
		for _, c := range w.children {
			if c.owner == s {
				c.doomed = true
			}
		}
		for i := range w.servers {
			if w.servers[i] == s {
				w.servers[i] = &server{}
			}
		}
	case 1:
		s.halted = true // SIGSTOP
	case 2, 3:
		s.halted = false
	case 4:
		for _, r := range w.rows { // in a fixed order, so that a failure can be replayed
			if c := w.children[r.ID]; c != nil && c.doomed {
				delete(w.children, r.ID)
				return
			}
		}
	default:
		if !s.halted {
			w.step(t, s)
		}
	}
	for i, r := range w.rows { // every 10 ms
		c := w.children[r.ID]
		if c == nil || !c.writes {
			continue
		}
		for _, g := range w.writes {
			if g > i {
				t.Fatalf("P4 generation %d writes after the first line of %d", i, g)
			}
		}
		w.writes = append(w.writes, i)
		if r.Carry < Progress && i > 0 {
			for _, g := range w.writes {
				if g < i {
					t.Fatalf("P1 %s was sent the prompt after %d had worked", r.ID, g)
				}
			}
		}
	}
	for id, n := range w.prompts {
		if n > 1 {
			t.Fatalf("P1 %s was given its prompt %d times", id, n)
		}
	}
}

func TestTwoServers(t *testing.T) {
	t.Run("Z49 Z51 P1 P4 two servers with one seat, killed and halted anywhere: no old generation writes after a new one", func(t *testing.T) {
		checks := flag.Lookup("rapid.checks").Value.String()
		defer func() { _ = flag.Set("rapid.checks", checks) }()
		if err := flag.Set("rapid.checks", "10000"); err != nil {
			t.Fatal(err)
		}
		newest := 0
		rapid.Check(t, func(t *rapid.T) {
			w := &fenced{now: now, children: map[paceline.RunID]*child{}, prompts: map[paceline.RunID]int{}, servers: [2]*server{{}, {}}}
			w.chain = []place.Candidate{candidate("claude"), candidate("codex"), candidate("third")}
			w.rows = []State{{ID: "r0", Message: "m1", Engine: engine("claude"), Created: now}}
			for range rapid.IntRange(10, 150).Draw(t, "steps") {
				w.now = w.now.Add(20 * time.Second)
				w.happens(t)
			}
			for _, g := range w.writes {
				newest = max(newest, g)
			}
		})
		if newest < 2 {
			t.Errorf("only %d generations ever wrote: nothing was tried", newest+1)
		}
	})
}
