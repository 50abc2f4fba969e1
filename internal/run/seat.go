package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
)

// Seat is what a thread's user asked of its seat. Everything else about a seat,
// who holds it and which conversation is set aside, its runs show.
type Seat struct {
	// Base is where its user put it. It stands before the chain, so that nothing
	// goes home from there (Z37); the zero value is the chain's own first engine.
	Base paceline.Engine `json:"base,omitzero"`
	// Next is the move that the next message makes; nil is none.
	Next *Move `json:"next,omitempty"`
	// Parked is since when nothing that waits in the thread is begun; the next
	// message that its user sends ends it.
	Parked time.Time `json:"parked,omitzero"`
}

// Move is where a seat is to go with the next message.
type Move struct {
	Engine paceline.Engine `json:"engine"`
	Home   bool            `json:"home,omitempty"` // into the conversation that was set aside there
	Now    bool            `json:"now,omitempty"`  // the turn that runs is not waited for
	At     time.Time       `json:"at"`             // when it was asked for
}

// Chain is the order in which engines may serve the thread.
func (s Seat) Chain(chain []paceline.Engine) []paceline.Engine {
	if !s.Base.Valid() {
		return chain
	}
	out := []paceline.Engine{s.Base}
	for _, e := range chain {
		if e != s.Base {
			out = append(out, e)
		}
	}
	return out
}

// Took is the seat once a message has made the move.
func (s Seat) Took(m Move) Seat {
	if s.Next == nil || *s.Next != m {
		return s // another one was asked for meanwhile
	}
	s.Next, s.Base = nil, m.Engine
	if m.Home {
		s.Base = paceline.Engine{}
	}
	return s
}

// Generation counts the engines that the seat has been with, one after another.
func Generation(runs []State) int {
	n, last := 0, paceline.Engine{}
	for _, r := range runs {
		if r.Holds() && r.Engine != last {
			n, last = n+1, r.Engine
		}
	}
	return n
}

// Holds reports whether the run's conversation is, or was, the one that holds the
// thread. One that was sent nothing never did, nor one that was to take it over
// and did nothing: the conversation that it was to follow stands as before (Z30).
func (s State) Holds() bool {
	return s.Sent && !(s.takesOver() && s.Phase > Done && s.Work == paceline.WorkNone)
}

// takesOver reports whether the run was to take over from another engine.
func (s State) takesOver() bool { return s.Carry == History || s.Carry == Progress || s.Hop > 0 }

// SeatFacts holds what a wish about a seat is decided by.
type SeatFacts struct {
	Now  time.Time
	Seat Seat
	// Held is the engine whose conversation holds the thread; the zero value is
	// none yet.
	Held paceline.Engine
	Been []paceline.Engine // engines with a conversation in the thread
	// Chain is the thread's own, whatever its user asked for since.
	Chain    []place.Candidate
	Target   *place.Candidate // the engine that was named; nil leaves the choice to the chain
	Model    string           // named for whichever engine it is
	Weaker   place.Weaker
	Working  bool     // a run is under way
	Prompt   bool     // and answers a prompt
	Waiting  bool     // a message waits for an engine
	Force    bool     // do not wait for the turn's end
	Silent   []string // calls that wait for a person to settle them
	Archived bool
}

// Answer is what a wish about a seat comes to. A refused one changes nothing.
type Answer struct {
	Seat   Seat              `json:"-"`
	What   string            `json:"what"`
	Why    string            `json:"why,omitempty"`
	From   string            `json:"from,omitempty"`
	To     string            `json:"to,omitempty"`
	When   string            `json:"when,omitempty"` // "now", or what it waits for
	Change bool              `json:"changed"`
	Out    []place.Exclusion `json:"out"`
	Code   int               `json:"exit"` // 0, or the refusal's exit code
	Hint   string            `json:"hint,omitempty"`
}

// When a move is made.
const (
	withNext = "with the next message"
	atOnce   = "now"
	atEnd    = "with the next message, when this turn has ended"
)

// Handover moves the seat on its user's wish, at the next idle boundary. The
// engine that he names need not be in the chain, and its posture and its
// containment are his to choose; where he names none the chain goes on.
func Handover(f SeatFacts) Answer {
	a := f.answer()
	if f.refused(&a) {
		return a
	}
	if f.Target == nil {
		if n := f.Seat.Next; n != nil && !n.Home && !f.Force {
			a.To, a.What = n.Engine.String(), "it is on record already that the seat moves to "+n.Engine.String()
			return a
		}
		return f.onward(a)
	}
	e := f.Target.Engine
	a.To = e.String()
	switch n := f.Seat.Next; {
	case n != nil && n.Engine == e && !n.Home && !(f.Force && f.Working && !n.Now):
		a.What = "it is on record already that the seat moves to " + a.To
		return a
	case e == f.Held:
		a.What, a.When = a.To+" has the seat already", ""
		a.Change, a.Seat.Next = n != nil, nil
		if f.displaced().Valid() && f.Seat.Base != e {
			a.Change, a.Seat.Base = true, e // and here it stays (Z37)
		}
		return a
	}
	if ch := place.Choose([]place.Candidate{*f.Target}, place.Ask{Now: f.Now, Weaker: place.WeakerAnnounce}); !ch.Found {
		return f.barred(a, *f.Target, ch.Out[0].Why)
	}
	return f.move(a, Move{Engine: e, At: f.Now})
}

// cuts reports whether the move is made in the middle of a turn.
func (f SeatFacts) cuts() bool { return f.Force && f.Working }

// onward hands over to the next engine of the chain that can serve.
func (f SeatFacts) onward(a Answer) Answer {
	ask := place.Ask{Now: f.Now, Weaker: f.Weaker}
	chain := slices.Clone(f.Chain)
	for i := range chain {
		if chain[i].Engine == f.Held {
			ask.After = &f.Chain[i]
		}
	}
	ch := place.Choose(chain, ask)
	a.Out = append(a.Out, ch.Out...)
	if !ch.Found {
		a.What, a.Code = "no engine of the chain can take the seat", 3
		a.Hint = excluded(ch.Out) + "; -e names one that is not below it"
		return a
	}
	to := ch.Engine
	if f.Model != "" {
		to.Model = f.Model
	}
	return f.move(a, Move{Engine: to, At: f.Now})
}

// GoHome takes the seat back to the engine that it was moved from first, into
// the conversation that was set aside there.
func GoHome(f SeatFacts) Answer {
	a := f.answer()
	if f.refused(&a) {
		return a
	}
	switch n := f.Seat.Next; {
	case n != nil && n.Home:
		a.To, a.What = n.Engine.String(), "it is on record already that the thread goes home to "+n.Engine.String()
		return a
	case n != nil && !f.displaced().Valid():
		a.To, a.What, a.Change = f.Held.String(), "the move to "+n.Engine.String()+" is taken back, and the thread stays at home", true
		a.Seat.Next = nil
		return a
	}
	home := f.displaced()
	if !home.Valid() {
		a.What = "the thread is at home"
		if f.Held.Valid() {
			a.What += " on " + f.Held.String()
		}
		return a
	}
	a.To = home.String()
	for _, c := range f.Chain {
		if c.Engine != home {
			continue
		}
		if ch := place.Choose([]place.Candidate{c}, place.Ask{Now: f.Now, Weaker: place.WeakerAnnounce}); !ch.Found {
			return f.barred(a, c, ch.Out[0].Why)
		}
	}
	return f.move(a, Move{Engine: home, Home: true, At: f.Now})
}

// Park has the seat rest from the next idle boundary on: nothing that waits in
// the thread is begun before its user sends another message.
func Park(f SeatFacts) Answer {
	a := f.answer()
	a.When = "now"
	switch {
	case f.Archived:
		a.What, a.Code = "the thread was archived", 1
		return a
	case !f.Seat.Parked.IsZero():
		a.What = "it is parked already"
		return a
	case f.Working:
		a.When = "when this turn has ended"
	}
	a.Seat.Parked, a.Change = f.Now, true
	a.What, a.Why = "park", "its user asked for it; its conversation is kept, and the next message that is sent goes on in it"
	return a
}

func (f SeatFacts) answer() Answer {
	a := Answer{Seat: f.Seat, When: withNext, Out: []place.Exclusion{}}
	if f.Held.Valid() {
		a.From = f.Held.String()
	}
	if f.Working {
		a.When = atEnd
	}
	return a
}

func (f SeatFacts) refused(a *Answer) bool {
	switch {
	case f.Archived:
		a.What, a.Code, a.When = "the thread was archived", 1, ""
	case f.cuts() && !f.Prompt:
		// What an engine was told about itself means nothing to another (F12).
		a.What, a.Code, a.When = "what runs is no prompt, and is not carried on elsewhere", 1, ""
		a.Hint = "without --force it moves when this has ended"
	case len(f.Silent) > 0:
		// No successor may go on before somebody has looked (Z43).
		a.What, a.Code, a.When = "calls of it began and never reported: "+strings.Join(f.Silent, "; "), 5, ""
		a.Hint = "settle them first: `paceline reconcile THREAD`"
	default:
		return false
	}
	return true
}

// barred refuses an engine that cannot serve now.
func (f SeatFacts) barred(a Answer, c place.Candidate, why string) Answer {
	a.What, a.When, a.Code = fmt.Sprintf("%s cannot take the seat: %s", c.Engine, why), "", 2
	a.Out = append(a.Out, place.Exclusion{Engine: c.Engine, Why: why})
	switch {
	case c.SignedOut:
		a.Code, a.Hint = 4, "sign in to "+c.Engine.Account+" first"
	case place.Held(c.Limit, f.Now):
		a.Code, a.Hint = 3, "`paceline limits` shows what is held against it"
	}
	return a
}

func (f SeatFacts) move(a Answer, m Move) Answer {
	m.Now = f.cuts() && !m.Home
	if m.Now || f.Waiting && !f.Working && !m.Home {
		a.When = atOnce // a message that waits for an engine is at an idle boundary
	}
	a.To, a.Seat.Next, a.Change = m.Engine.String(), &m, true
	a.What, a.Why = "hand over to "+a.To, "its user asked for it"
	if m.Home {
		a.What = "go home to " + a.To
	}
	return a
}

// displaced is the engine that the seat was moved away from first; the zero
// value where it is at home.
func (f SeatFacts) displaced() paceline.Engine {
	for _, c := range f.Chain {
		switch {
		case c.Engine == f.Held:
			return paceline.Engine{}
		case slices.Contains(f.Been, c.Engine):
			return c.Engine
		}
	}
	return paceline.Engine{}
}

func excluded(out []place.Exclusion) string {
	lines := make([]string, len(out))
	for i, x := range out {
		lines[i] = x.Engine.String() + ": " + x.Why
	}
	return strings.Join(lines, "; ")
}
