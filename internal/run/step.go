package run

import (
	"fmt"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/wire"
)

// Step folds one event into a run. What it returns belongs into one
// transaction: the state, and every effect. An event that comes late, twice or
// out of order changes nothing and has no effects, so a caller that lost a race
// loads again and steps again.
func Step(s State, e Event, f Facts) (State, []Effect) {
	if f.Asked != nil && f.Asked.Engine == s.Engine {
		f.Asked = nil // it is there already
	}
	switch e := e.(type) {
	case Begin:
		return begin(s, e, f)
	case Send:
		return send(s, e)
	case Ack:
		if s.Phase != Sending {
			return s, nil
		}
		s.Phase = Running
		return s, nil
	case Worked:
		return worked(s, e, f)
	case End:
		if !s.Live() {
			return s, nil // a duplicate terminal, or a late one (F61)
		}
		return end(s, e.Ending, "end", f)
	case Lost:
		return lost(s, e, f)
	case StopAsked:
		return stopAsked(s, e, f)
	case HandedOver:
		return handedOver(s, e, f)
	case Reconciled:
		return reconciled(s, f)
	case WaitOver:
		return waitOver(s, e, f)
	case DispatchDue:
		return dispatch(s, e, f)
	case DispatchRefused:
		return dispatchRefused(s, e, f)
	}
	panic(fmt.Sprintf("run: event %T has no rule", e))
}

// begin takes a queued run up, or one again that a crash cut before anything
// was sent.
func begin(s State, e Begin, f Facts) (State, []Effect) {
	if s.Phase != Queued && s.Phase != Starting {
		return s, nil
	}
	d := decision(s, "begin", f)
	s.Phase = Starting
	s.Starts++
	s.Containment, s.Posture, s.Version = e.Containment, e.Posture, e.Version
	// Nothing can have been done before the prompt is out: the proof starts here
	// and is lost by the first frame that says otherwise.
	s.Work = paceline.WorkNone
	if s.Began.IsZero() {
		s.Began = f.Now
	}
	d.To, d.What, d.Why = s.Phase, "start "+s.Engine.String(), began(s)
	return s, []Effect{Decide{d}}
}

func began(s State) string {
	switch {
	case s.Starts > 1:
		return "an earlier start was cut before the prompt was sent"
	case s.Hop > 0:
		return "it takes over after " + string(s.After)
	}
	return "it is the first in the chain that can serve"
}

func send(s State, e Send) (State, []Effect) {
	if s.Phase != Starting {
		return s, nil
	}
	s.Phase, s.Sent, s.Conversation = Sending, true, e.Conversation
	return s, nil
}

// worked keeps the first evidence of work. Work once seen is never unseen; an
// unknown frame can only turn none into unknown. A tool is a better witness than
// the first word of an answer, and takes its place once.
func worked(s State, e Worked, f Facts) (State, []Effect) {
	better := e.Work == paceline.WorkSome && e.Evidence.Frame == FrameTool && s.WorkedBy.Frame != FrameTool
	switch {
	case !s.Live(), e.Work == paceline.WorkNone, !better && (s.Work == paceline.WorkSome || s.Work == e.Work):
		return s, nil
	}
	var back []Effect
	if e.Work == paceline.WorkSome && s.Work != paceline.WorkSome {
		back = reachable(s, f)
	}
	s.Work, s.WorkedBy = e.Work, e.Evidence
	return s, back
}

// reachable announces that an engine answers again which could not be reached
// with this message before.
func reachable(s State, f Facts) []Effect {
	last := lastOn(s.Engine, f)
	if last == nil || last.Failure == nil || !routeFault(last.Failure.Cause) {
		return nil
	}
	return []Effect{Announce{s.Engine.String() + " is reachable again"}}
}

// end is every ending of a live run: done, or failed with or without a claim.
func end(s State, end wire.Ending, event string, f Facts) (State, []Effect) {
	d := decision(s, event, f)
	s.Ended = f.Now
	switch end.Outcome {
	case paceline.OutcomeCompleted:
		var back []Effect
		if s.Work != paceline.WorkSome { // else it was said at the first word
			back = reachable(s, f)
		}
		s.Phase, s.Work = Done, atLeast(s.Work, end.Failure.Work)
		d.To, d.What = s.Phase, "done"
		lifted := []Effect{Lift{s.Engine}}
		if s.Engine.Model != "" {
			lifted = append(lifted, Lift{paceline.Engine{Account: s.Engine.Account}}) // it is disproved for the whole account
		}
		return s, append(append(back, lifted...), Settle{Status: Answered}, Decide{d})
	case paceline.OutcomeIncomplete:
		if end.Failure.Cause == paceline.CauseUnknown {
			end.Failure.Cause = paceline.CauseCrash
		}
	case paceline.OutcomeInterrupted:
		if end.Failure.Cause == paceline.CauseUnknown {
			end.Failure.Cause = paceline.CauseStopped
		}
	case paceline.OutcomeFailed:
	}
	end.Failure.Work = atLeast(s.Work, end.Failure.Work)
	s.Work, s.Kept = end.Failure.Work, f.Kept
	return fail(s, end.Failure, d, f)
}

// atLeast joins two readings of the same run's work: the one that claims less
// innocence holds.
func atLeast(a, b paceline.Work) paceline.Work {
	switch {
	case a == paceline.WorkSome || b == paceline.WorkSome:
		return paceline.WorkSome
	case a == paceline.WorkUnknown || b == paceline.WorkUnknown:
		return paceline.WorkUnknown
	}
	return paceline.WorkNone
}

// lost settles a run that a crash cut. Its child is gone; what the engine's own
// transcript holds decides whether the prompt ever arrived.
func lost(s State, e Lost, f Facts) (State, []Effect) {
	switch s.Phase {
	case Starting:
		// Nothing was sent: the same run starts again.
		d := decision(s, "lost", f)
		s.Phase = Queued
		d.To, d.What, d.Why = s.Phase, "queue again", "it was cut before the prompt was sent"
		return s, []Effect{Decide{d}}
	case Sending:
		if !e.Delivered {
			// Its row said that the prompt may be out, its transcript that it never
			// arrived. The same uuid goes out again, so an engine that did take it
			// would drop the second.
			d := decision(s, "lost", f)
			s.Phase, s.Sent = Queued, false
			d.To, d.What, d.Why = s.Phase, "queue again", "the prompt is not in the engine's transcript"
			return s, []Effect{Decide{d}}
		}
		return end(s, e.Ending, "lost", f)
	case Running:
		if !e.Delivered {
			// It was acknowledged, yet the transcript does not hold it: nobody can
			// say what was done.
			e.Ending = wire.Ending{Outcome: paceline.OutcomeIncomplete, Failure: paceline.Failure{
				Cause: paceline.CauseCrash, Work: paceline.WorkUnknown,
				Evidence: []paceline.Evidence{{Frame: "transcript", Says: "absent", Means: "the acknowledged message is not in it"}},
			}}
		}
		return end(s, e.Ending, "lost", f)
	case Queued, Done, Failed, Stopped:
	}
	return s, nil
}

// stopAsked ends a run on its user's word; a pending claim ends with it (F19,
// F24).
func stopAsked(s State, e StopAsked, f Facts) (State, []Effect) {
	d := decision(s, "stop asked", f)
	switch {
	case s.Phase < Done:
		s.Phase, s.Ended = Stopped, f.Now
		s.Failure = &paceline.Failure{Cause: paceline.CauseStopped, Work: s.Work}
		d.To, d.What, d.Why = s.Phase, "stop", "asked by "+e.By
		return s, []Effect{Settle{Status: Halted, Text: "stopped by " + e.By}, Decide{d}}
	case s.Claim.Phase == Pending:
		return skip(s, "it was stopped by "+e.By, d, f)
	case s.Waiting():
		s.Wait = Wait{}
		d.What, d.Why = "wait no longer", "asked by "+e.By
		return s, []Effect{Settle{Status: Halted, Text: "stopped by " + e.By}, Decide{d}}
	}
	return s, nil
}

func decision(s State, event string, f Facts) Decision {
	return Decision{At: f.Now, Run: s.ID, Event: event, From: s.Phase, To: s.Phase}
}

// choose asks who could serve this message after s. Where its user wants the seat
// somewhere, that is the answer: its posture and its containment are his to choose.
func choose(s State, cause paceline.Cause, f Facts) place.Choice {
	if f.Asked != nil {
		return place.Choose([]place.Candidate{*f.Asked}, place.Ask{Now: f.Now, Weaker: place.WeakerAnnounce})
	}
	a := place.Ask{Now: f.Now, Weaker: f.Weaker, Tried: tried(s, f), OffRoute: routeFault(cause)}
	for i, c := range f.Chain {
		if c.Engine == s.Engine {
			a.After = &f.Chain[i]
		}
	}
	if a.After == nil {
		// The chain no longer names the engine that failed, so nothing says what
		// comes below it.
		return place.Choice{}
	}
	return place.Choose(f.Chain, a)
}

// tried lists the engines that already had the message.
func tried(s State, f Facts) []paceline.Engine {
	out := []paceline.Engine{s.Engine}
	for _, r := range f.Earlier {
		if r.Claim.Asked && r.Engine != s.Engine {
			continue // it did not fail: its user moved the seat, and it can go on (Z30)
		}
		out = append(out, r.Engine)
	}
	return out
}
