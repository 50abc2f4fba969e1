package team

import (
	"fmt"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
)

var zero time.Time

// due begins the next round, or says until when nothing can.
func due(s State, e Due, f Facts) (State, []Effect) {
	switch {
	case s.Phase != Running || s.Round != nil || s.Held():
		return s, nil
	case s.Rules.MaxIterations > 0 && s.Rounds >= s.Rules.MaxIterations:
		return rest(s, Paused, run.NeedPerson, fmt.Sprintf("%d rounds were had, as many as maxIterations allows", s.Rounds), again, f, nil)
	case s.Rules.MaxRuntime > 0 && s.Spent >= s.Rules.MaxRuntime:
		return rest(s, Paused, run.NeedPerson, fmt.Sprintf("it ran for %s, as long as maxRuntimeMin allows", s.Spent.Round(time.Second)), again, f, nil)
	}
	if i := s.at(s.Exempt); i >= 0 {
		// It is not looked at who is free: this round waits for its own engine.
		return begin(s, e, i, s.Members[i].Chain[:1], "its gate was approved", f, nil)
	}
	all := s.turn(f)
	var out []string
	for n, i := range all {
		why, _ := s.keeps(i, f)
		if why == "" {
			reason := s.reason(n, i)
			if len(out) > 0 {
				reason += "; passed over: " + strings.Join(out, "; ")
			}
			said := s.handed(i, f)
			return begin(s, e, i, s.Members[i].Chain, reason, f, said)
		}
		out = append(out, "@"+s.Members[i].ID+" "+why)
	}
	return asleep(s, all, out, f)
}

const again = "`paceline team resume` allows as much again"

// turn lists who could have the next round, first who has a right to it.
func (s State) turn(f Facts) (all []int) {
	if s.Gate != nil {
		return []int{s.at(s.Gate.Holder)} // it never hands its turn away (A16)
	}
	add := func(i int) {
		for _, have := range all {
			if have == i {
				return
			}
		}
		if i >= 0 && !s.Members[i].Off {
			all = append(all, i)
		}
	}
	// Two who only ask each other would starve a third.
	most := 2 * len(s.Members)
	for i, m := range s.Members {
		if m.Passed >= most {
			add(i)
			most = m.Passed + 1
		}
	}
	add(s.at(s.Asked))
	last := s.at(s.Last)
	for n := range s.Members {
		add((last + 1 + n) % len(s.Members))
	}
	return all
}

func (s State) reason(n, i int) string {
	switch m := s.Members[i]; {
	case s.Gate != nil:
		return "a person spoke to the holder of the gate"
	case m.ID == s.Asked:
		return "it was addressed"
	case n == 0 && m.Passed >= 2*len(s.Members):
		return "it was passed over for long"
	}
	return "it is the next in turn"
}

// keeps says why a participant cannot have a round now, and when that could
// change; "" is nothing, and the zero time is never by itself.
func (s State) keeps(i int, f Facts) (why string, until time.Time) {
	m := s.Members[i]
	switch {
	case m.NotBefore.After(f.Now):
		return "failed before and is tried again later", m.NotBefore
	case m.WaitUntil.After(f.Now):
		return "asked to wait", m.WaitUntil
	}
	e, bars := s.engine(m, f)
	if e.Valid() {
		return "", zero
	}
	b := first(bars)
	return "has no free engine: " + b.why, b.until
}

// engine is the first of a participant's chain that is free; bars say of each
// above it what keeps it.
func (s State) engine(m Member, f Facts) (e paceline.Engine, bars []bar) {
	for _, e := range m.Chain {
		b, barred := s.bar(e, f)
		if !barred {
			return e, bars
		}
		bars = append(bars, b)
	}
	return paceline.Engine{}, bars
}

// bar is what keeps an engine from serving.
type bar struct {
	engine paceline.Engine
	kind   kind
	why    string
	until  time.Time // zero: nobody knows
	source paceline.ResetSource
}

type kind uint8

const (
	unready kind = iota
	limited
	unreachable
)

func (s State) bar(e paceline.Engine, f Facts) (bar, bool) {
	known := f.Engines[e]
	if known.Unready != "" {
		return bar{engine: e, why: e.String() + ": " + known.Unready}, true // A11
	}
	if l := known.Limit; place.Held(l, f.Now) {
		b := bar{engine: e, kind: limited, why: e.String() + " is limited " + place.Until(l.Reset), source: l.Reset.Source}
		if l.Reset.Known() {
			b.until = run.Back(string(s.Thread), l.Reset)
		}
		return b, true
	}
	if known.Down != "" {
		b := bar{engine: e, kind: unreachable, why: e.String() + ": " + known.Down, until: known.Back, source: paceline.ResetAssumed}
		if !b.until.After(f.Now) {
			b.until = f.Now.Add(soon) // somebody else is trying it just now
		}
		return b, true
	}
	for _, o := range s.Outs {
		if o.Engine == e && o.Until.After(f.Now) {
			return bar{engine: e, kind: unreachable, why: e.String() + " could not be reached", until: o.Until, source: paceline.ResetAssumed}, true
		}
	}
	return bar{}, false
}

// first is the one that ends first.
func first(bars []bar) (b bar) {
	for i, x := range bars {
		if i == 0 || !x.until.IsZero() && (b.until.IsZero() || x.until.Before(b.until)) {
			b = x
		}
	}
	return b
}

// handed says, once, that somebody whose turn it was has no engine, and who takes
// the turn (A15).
func (s *State) handed(to int, f Facts) (out []Effect) {
	for _, id := range []string{s.Handing, s.Asked} {
		i := s.at(id)
		if i < 0 || i == to || s.Members[i].Handed {
			continue
		}
		if e, bars := s.engine(s.Members[i], f); !e.Valid() && first(bars).kind == limited {
			s.Members[i].Handed = true
			out = append(out, Line{fmt.Sprintf("%s is rate limited — @%s takes the turn", id, s.Members[to].ID)})
		}
	}
	s.Handing = ""
	return out
}

// begin begins a round.
func begin(s State, e Due, i int, chain []paceline.Engine, why string, f Facts, out []Effect) (State, []Effect) {
	// Whoever else could have had it counts that.
	for j := range s.Members {
		if w, _ := s.keeps(j, f); j != i && w == "" && !s.Members[j].Off {
			s.Members[j].Passed++
		}
	}
	m := &s.Members[i]
	round := Round{
		Message: e.Message, Participant: m.ID, Chain: chain, Exempt: s.Exempt == m.ID, Opener: !m.Begun, Began: f.Now,
	}
	out = append(out, s.moves(i, f)...)
	m.Passed, m.Handed, m.Begun, m.WaitUntil, m.Last = 0, false, true, zero, f.Now
	m.Told, m.Seen = m.Seen, e.Seen
	m.Rounds++
	s.Rounds++
	s.Round, s.Last, s.Wait, s.Handing = &round, m.ID, Wait{}, ""
	if s.Asked == m.ID {
		s.Asked = ""
	}
	if s.Gate != nil {
		s.Gate.Spoken = false
	}
	d := run.Decision{At: f.Now, Event: "round", What: fmt.Sprintf("round %d is @%s's", s.Rounds, m.ID), Why: why}
	return s, append(out, Begin{round}, Decide{d})
}

// moves says where a participant's round begins, if that is not where its last one
// was. It is chosen when a round begins and never within one (A23).
func (s *State) moves(i int, f Facts) []Effect {
	m := &s.Members[i]
	to, bars := s.engine(*m, f)
	from := m.On
	if !from.Valid() {
		from = m.Chain[0]
	}
	if s.Exempt == m.ID || !to.Valid() || to == from {
		return nil
	}
	down := false
	for _, b := range bars {
		down = down || b.engine == from
		if b.engine == from && b.kind == limited {
			m.Away = true
		}
	}
	m.On = to
	switch {
	case down && m.Away:
		return []Effect{Line{Hop(m.ID, from, to)}}
	case down:
		return []Effect{Line{fmt.Sprintf("%s: %s cannot serve → %s", m.ID, from, to)}}
	}
	lifted := m.Away
	m.Away = to != m.Chain[0]
	back := "its primary engine"
	if to != m.Chain[0] {
		back = to.String() // the earliest that is free, which is not always the primary (A22)
	}
	if !lifted {
		return []Effect{Line{fmt.Sprintf("%s: back on %s", m.ID, back)}}
	}
	return []Effect{Line{fmt.Sprintf("%s: limit lifted — back on %s", m.ID, back)}}
}

// Hop is the line that says that a participant's limit moved it on (A10).
func Hop(id string, from, to paceline.Engine) string {
	return fmt.Sprintf("%s: %s limited → %s", id, from, to)
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
