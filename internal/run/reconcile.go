package run

import (
	"fmt"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
)

// reconciled takes work up again that was halted since nobody knew whether a
// call had taken effect. A person has looked, and what was found is on record;
// the successor is told of it in its packet, and never sent the prompt.
//
// An engine that died was not at fault, so it goes on itself, in a new
// conversation: its old one ends within that call.
func reconciled(s State, f Facts) (State, []Effect) {
	if s.Phase != Failed || s.Claim.Phase != NoClaim || s.Failure == nil {
		return s, nil
	}
	d := decision(s, "reconciled", f)
	f.Kept = true // a person vouches for it
	next, why := place.Choice{}, ""
	if f.Asked == nil && (s.Failure.Cause == paceline.CauseCrash || s.Failure.Cause == paceline.CauseStopped) {
		next = place.Choice{Engine: s.Engine, Found: true}
		if !f.Roll || !resendable(f) {
			why = "its thread may not go on"
		}
	} else {
		f.Over = f.Asked != nil
		next = choose(s, s.Failure.Cause, f)
		why = refusal(s, *s.Failure, next, f)
	}
	d.Out = next.Out
	if why != "" {
		d.What, d.Why = "not carried on", why
		return s, []Effect{Decide{d}}
	}
	s.Claim = Claim{Phase: Pending, Target: next.Engine, Why: did(s.Failure.Cause), Since: f.Now, Asked: f.Asked != nil}
	d.What = fmt.Sprintf("claim %s for a rollover", next.Engine)
	d.Why = "a person has looked at what nobody knew the end of"
	return s, []Effect{Reopen{}, Dispatch{s.ID}, Decide{d}}
}
