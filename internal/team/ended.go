package team

import (
	"fmt"
	"slices"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
)

// What a round comes to
//
//	answered, said something         its post stands, and its move is made
//	answered, said nothing, worked   that is work; the next in turn goes on
//	neither                          a failure; three in a row pause (A31)
//	limited                          a teammate takes the turn
//	unreachable                      the engine is out for everybody, 1, 2, 4, 8, then every 15 minutes (A25)
//	any other failure                1 s, then 1, 2, 4, 8, 15, 30 minutes, then hourly; twelve in a row pause (A28)
//
// Failures are counted for each participant, and one that is tried again later
// holds nobody up meanwhile.

const (
	maxSilent = 3
	// soon is how far apart an engine is asked again whose reset has passed and
	// which is limited all the same; quickly is how often that is done before it is
	// asked less and less.
	soon    = 10 * time.Second
	quickly = 6
)

func ended(s State, r Result, f Facts) (State, []Effect) {
	if s.Round == nil || s.Round.Message != r.Message {
		return s, nil
	}
	round := *s.Round
	if r.Status == run.NeedPerson {
		if round.Person {
			return s, nil // it was said already
		}
		// What it asks may be seen to, and then the round goes on.
		s.Round.Person = true
		return rest(s, Paused, run.NeedPerson, "@"+round.Participant+": "+r.What, "see to it, or `paceline team resume` gives the round up", f, nil)
	}
	s.Round = nil
	s.Spent += r.Busy
	i := s.at(round.Participant)
	m := &s.Members[i]
	out := s.reached(i, r.Tries, f)
	if r.Status != run.Answered {
		m.Seen = m.Told // what it was told may not have arrived
	}
	switch {
	case r.Status == run.Answered:
		return answered(s, i, r, f, out)
	case s.Phase != Running:
		return s, out // it was stopped meanwhile, and with it the round
	case r.Status == run.Halted:
		return rest(s, Paused, run.Halted, "@"+m.ID+"'s round was stopped by its user", "`paceline team resume` goes on", f, out)
	case round.Exempt:
		// It never runs elsewhere, and it is nobody else's.
		return rest(s, Paused, r.Status, "@"+m.ID+": "+r.What, "`paceline team resume` tries it again", f, out)
	}
	if r.Worked {
		m.Cut = r.What
	}
	if s.Asked == "" && !r.Worked {
		s.Handing = m.ID
	}
	cause, reset := paceline.CauseUnknown, paceline.Reset{}
	if n := len(r.Tries); n > 0 {
		cause, reset = r.Tries[n-1].Cause, r.Tries[n-1].Reset
	}
	switch cause {
	case paceline.CauseUsageLimit, paceline.CauseThrottle, paceline.CauseBilling:
		m.Limits++
		if reset.Known() && !place.Lifts(reset).After(f.Now) { // it should be free, and is not
			m.NotBefore = f.Now.Add(soon)
			if m.Limits > quickly {
				m.NotBefore = f.Now.Add(run.Outage(m.Limits - quickly))
			}
		}
		return s, out
	case paceline.CauseTransport, paceline.CauseServer, paceline.CauseStall:
		return s, out
	case paceline.CauseModel, paceline.CauseContext:
		return rest(s, Paused, run.Broke, "@"+m.ID+": "+r.What, "trying again would not help: put it right, then `paceline team resume`", f, out)
	case paceline.CauseUnknown, paceline.CauseAuth, paceline.CauseCrash, paceline.CauseStopped, paceline.CauseOther:
	}
	return failed(s, i, r.What, f, out)
}

// reached keeps which engines could not be reached, and which can be again.
func (s *State) reached(i int, tries []Try, f Facts) (out []Effect) {
	m := &s.Members[i]
	for _, t := range tries {
		if m.On != t.Engine {
			m.Away = len(m.Chain) > 0 && t.Engine != m.Chain[0] && limits(tries)
		}
		m.On = t.Engine
		at := slices.IndexFunc(s.Outs, func(o Out) bool { return o.Engine == t.Engine })
		switch c := t.Cause; {
		case t.Failed && (c == paceline.CauseTransport || c == paceline.CauseServer || c == paceline.CauseStall):
			if at < 0 {
				s.Outs, at = append(s.Outs, Out{Engine: t.Engine}), len(s.Outs)
			}
			o := &s.Outs[at]
			o.Fails++
			o.Until = f.Now.Add(run.Outage(o.Fails))
			out = append(out, Line{fmt.Sprintf("%s could not be reached; trying it again at %s", t.Engine, run.Clock(o.Until, f.Now))})
		case at < 0:
		case !t.Failed, c == paceline.CauseUsageLimit, c == paceline.CauseThrottle, c == paceline.CauseBilling, c == paceline.CauseAuth:
			// Somebody answered, whatever it was.
			s.Outs = slices.Delete(s.Outs, at, at+1)
			out = append(out, Line{t.Engine.String() + " is reachable again"})
		}
	}
	return out
}

func limits(tries []Try) bool {
	return slices.ContainsFunc(tries, func(t Try) bool { return t.Cause == paceline.CauseUsageLimit || t.Cause == paceline.CauseThrottle })
}

// failed has a participant tried again later (A28). If a limited engine of its
// chain comes back sooner, that is when (A29).
func failed(s State, i int, what string, f Facts, out []Effect) (State, []Effect) {
	m := &s.Members[i]
	m.Fails++
	if m.Fails >= run.MaxFailures {
		gone := run.GaveUp("@" + m.ID + ": " + what)
		return rest(s, Paused, run.Broke, gone, "`paceline team resume`", f, append(out, Line{gone}))
	}
	m.NotBefore = f.Now.Add(run.Backoff(m.Fails))
	for _, e := range m.Chain {
		if b, barred := s.bar(e, f); barred && b.kind == limited && b.until.After(f.Now) && b.until.Before(m.NotBefore) {
			m.NotBefore = b.until
		}
	}
	return s, append(out, Line{fmt.Sprintf("@%s: %s; trying it again at %s", m.ID, what, run.Clock(m.NotBefore, f.Now))})
}

// answered takes a round's answer in.
func answered(s State, i int, r Result, f Facts, out []Effect) (State, []Effect) {
	m := &s.Members[i]
	a := Read(r.Reply, s.names())
	m.Limits, m.Cut = 0, ""
	if s.Exempt == m.ID {
		s.Exempt = ""
	}
	if a.Text == "" && a.Move == MovePost {
		if r.Worked {
			m.Fails, m.Silent, m.Waits = 0, 0, 0
			s.wake(i)
			return s, append(out, Say{By: m.ID, Text: "(worked, and said nothing)", Move: "work"})
		}
		return silent(s, i, f, out)
	}
	m.Fails, m.Silent, m.NotBefore = 0, 0, zero
	m.Posts++
	if a.Odd != "" {
		out = append(out, Line{fmt.Sprintf("@%s: %s; that is taken for a post", m.ID, a.Odd)})
	}
	if a.Move != MoveWait {
		m.Waits = 0
		s.wake(i)
	}
	say := Say{By: m.ID, To: a.To, Text: a.Text, Move: a.Move.String()}
	if a.Move == MoveWait || a.Move == MoveGate {
		say.Move += prefixed(" ", a.What)
	}
	out = append(out, say)
	if s.Phase != Running {
		return s, out // stopped or paused while it answered: what it said stands
	}
	switch a.Move {
	case MovePost:
	case MoveAsk:
		s.Asked = a.To
	case MoveWait:
		return waits(s, i, a, f, out)
	case MoveGate:
		return gate(s, i, a, f, out)
	case MoveDone:
		return rest(s, Finished, run.Answered, "@"+m.ID+" says that it is done", "", f, out)
	}
	return s, out
}

// silent is a round that ended with neither a post nor work (A31).
func silent(s State, i int, f Facts, out []Effect) (State, []Effect) {
	m := &s.Members[i]
	if m.Silent++; m.Silent >= maxSilent {
		why := fmt.Sprintf("@%s ended %d rounds in a row without a post and without work", m.ID, m.Silent)
		return rest(s, Paused, run.Broke, why, "look at what it says with `paceline show`, then `paceline team resume`", f, append(out, Line{why + "; run paused — resume to try again"}))
	}
	return failed(s, i, "it ended its round without a post", f, out)
}

// waits grants a wait: a minute, or what was asked for, and twice as long with
// each one in a row, up to the bound. What another one posts ends it.
func waits(s State, i int, a Answer, f Facts, out []Effect) (State, []Effect) {
	m := &s.Members[i]
	if m.Waits == 0 {
		m.WaitSince = f.Now
	}
	d := max(a.For, time.Minute) << min(m.Waits, 20)
	if d <= 0 {
		d = longestWait
	}
	m.WaitUntil, m.WaitFor = f.Now.Add(d), a.What
	m.Waits++
	most := m.WaitSince.Add(s.Rules.MaxWait)
	switch {
	case s.Rules.MaxWait <= 0:
	case m.WaitUntil.Before(most):
	case f.Now.Before(most):
		m.WaitUntil = most
	case s.alone(i, f):
		why := fmt.Sprintf("@%s has waited%s for %s, as long as maxWaitMin allows", m.ID, prefixed(" for ", a.What), f.Now.Sub(m.WaitSince).Round(time.Second))
		return rest(s, Paused, run.NeedPerson, why, "`paceline team post` tells it what it waits for; `paceline team resume` goes on", f, out)
	default:
		m.WaitUntil = f.Now.Add(s.Rules.MaxWait) // others are at work
	}
	return s, out
}

// alone reports whether everybody else waits as well.
func (s State) alone(i int, f Facts) bool {
	for j, m := range s.Members {
		if j != i && !m.Off && !m.WaitUntil.After(f.Now) {
			return false
		}
	}
	return true
}

// wake ends the waits of all but one: something has happened.
func (s *State) wake(but int) {
	for j := range s.Members {
		if j != but {
			s.Members[j].WaitUntil = zero
		}
	}
}

// gate has a person asked. There is one holder: a second one is told to wait.
func gate(s State, i int, a Answer, f Facts, out []Effect) (State, []Effect) {
	m := s.Members[i]
	if s.Gate != nil && s.Gate.Holder != m.ID {
		return s, append(out, Line{fmt.Sprintf("@%s asks for a gate, and @%s holds one; that is taken for a post", m.ID, s.Gate.Holder)})
	}
	s.Gate = &Gate{Holder: m.ID, What: a.What, Since: f.Now}
	d := run.Decision{At: f.Now, Event: "gate", What: "@" + m.ID + " holds a gate", Why: a.What}
	why := fmt.Sprintf("@%s asks a person to approve: %s", m.ID, a.What)
	return s, append(out, Line{why}, Rest{Status: run.NeedPerson, Text: why, Hint: "`paceline team gate approve`, or reject"}, Decide{d})
}

func (s State) names() (out []string) {
	for _, m := range s.Members {
		if !m.Off {
			out = append(out, m.ID)
		}
	}
	return out
}
