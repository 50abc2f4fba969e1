package team

import (
	"fmt"

	"github.com/paceline/paceline/internal/run"
)

// Step folds one event into a team. What it returns belongs into one transaction:
// the state, and every effect. An event that comes late, twice or out of order
// changes nothing.
func Step(s State, e Event, f Facts) (State, []Effect) {
	s = s.own()
	switch e := e.(type) {
	case Due:
		return due(s, e, f)
	case Ended:
		return ended(s, e.Result, f)
	case Posted:
		return posted(s, e)
	case Ruled:
		return ruled(s, e, f)
	case PauseAsked:
		if s.Phase != Running {
			return s, nil
		}
		return rest(s, Paused, run.Halted, "paused by its user", "`paceline team resume` goes on", f, nil)
	case StopAsked:
		if s.Phase == Stopped {
			return s, nil
		}
		return rest(s, Stopped, run.Halted, "stopped by its user", "", f, nil)
	case ResumeAsked:
		return resumed(s), nil
	}
	panic(fmt.Sprintf("team: event %T has no rule", e))
}

// posted takes a person's word in. It cuts the wait after a failed call short
// (A29), wakes whoever asked to wait, and cuts no limit short: nothing could run
// before its reset (A19).
func posted(s State, e Posted) (State, []Effect) {
	if s.at(e.To) < 0 {
		e.To = ""
	}
	for i := range s.Members {
		s.Members[i].NotBefore, s.Members[i].WaitUntil = zero, zero
	}
	if e.To != "" {
		s.Asked = e.To
	}
	if s.Gate != nil {
		s.Gate.Spoken = true
	}
	s.Wait = Wait{}
	return s, []Effect{Say{By: "user", To: e.To, Text: e.Text, Move: MovePost.String()}}
}

// ruled ends a gate. An approval starts a round that waits for its participant's
// own engine and never runs elsewhere (A33); a rejection is answered like any
// word.
func ruled(s State, e Ruled, f Facts) (State, []Effect) {
	if s.Gate == nil {
		return s, nil
	}
	g := *s.Gate
	s.Gate, s.Wait = nil, Wait{}
	word := "rejected"
	if e.Approve {
		word, s.Exempt = "approved", g.Holder
	} else {
		s.Asked = g.Holder
	}
	text := fmt.Sprintf("%s: %s", sentence(word), g.What)
	if e.Text != "" {
		text += "\n" + e.Text
	}
	d := run.Decision{At: f.Now, Event: "gate", What: word + " @" + g.Holder + "'s gate", Why: g.What}
	return s, []Effect{Say{By: "user", To: g.Holder, Text: text, Move: "gate " + word}, Decide{d}}
}

// resumed begins anew to count what a person has just looked at.
func resumed(s State) State {
	if r := s.Round; r != nil && r.Person {
		if i := s.at(r.Participant); i >= 0 {
			s.Members[i].Cut = "a person was asked, and gave it up"
		}
		s.Round = nil
	}
	s.Phase, s.Why, s.Rounds, s.Spent, s.Wait, s.Outs = Running, "", 0, 0, Wait{}, nil
	for i := range s.Members {
		m := &s.Members[i]
		m.Fails, m.Limits, m.Silent, m.Waits, m.Passed = 0, 0, 0, 0, 0
		m.NotBefore, m.WaitUntil, m.WaitSince = zero, zero, zero
	}
	return s
}

// rest has the team do nothing by itself any more.
func rest(s State, p Phase, status run.Status, why, hint string, f Facts, before []Effect) (State, []Effect) {
	s.Phase, s.Why, s.Wait = p, why, Wait{}
	d := run.Decision{At: f.Now, Event: "team", What: p.String(), Why: why}
	return s, append(before, Rest{Status: status, Text: why, Hint: hint}, Decide{d})
}

func sentence(s string) string { return string(s[0]-'a'+'A') + s[1:] }
