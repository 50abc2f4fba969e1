package run

import "github.com/paceline/paceline"

// handedOver ends a run in the middle, since its user moves the seat now. What it
// did travels in a packet; where it did nothing, its message goes on as it is. A
// call that began and never reported halts the successor until somebody has looked
// (Z42, Z43). Where the target cannot take the seat after all, the engine that was
// at it goes on in its own conversation (Z30, Z46).
func handedOver(s State, e HandedOver, f Facts) (State, []Effect) {
	if s.Phase >= Done || f.Asked == nil {
		return s, nil
	}
	f.Over = true
	last := e.Ending
	last.Outcome, last.Failure.Cause = paceline.OutcomeFailed, paceline.CauseStopped
	last.Failure.Notice = "its user handed it over to " + f.Asked.Engine.String()
	if !s.Sent {
		last.Failure.Work, s.Work = paceline.WorkNone, paceline.WorkNone
	}
	return end(s, last, "handed over", f)
}
