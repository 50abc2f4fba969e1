package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
)

// Times that we assume where nobody states one (P8).
const (
	// AssumedReset holds an engine whose limit came without a reset until it is
	// worth asking again.
	AssumedReset = 30 * time.Minute
	// AssumedThrottle holds an engine after a 429 whose cause was not told.
	AssumedThrottle = time.Minute
)

// dispatch performs a pending claim: everything is looked at again, then the
// successor is created in the transaction that ends the claim (F19, F23). It
// touches no child.
func dispatch(s State, e DispatchDue, f Facts) (State, []Effect) {
	if s.Claim.Phase != Pending {
		return s, nil // performed already: two attempts create one run (F18)
	}
	f.Over = s.Claim.Asked
	d := decision(s, "dispatch due", f)
	why, next := recheck(s, f)
	if why != "" {
		return skip(s, why, d, f)
	}
	target := next.Engine
	born := State{
		ID: e.Next, Thread: s.Thread, Message: s.Message, After: s.ID, Hop: s.Hop + 1,
		Engine: target, Phase: Queued, Carry: successor(s, target, f), Created: f.Now,
	}
	line := fmt.Sprintf("Switched to %s after %s %s.", target, s.Engine, s.Claim.Why)
	if s.Claim.Asked {
		born.Hop = s.Hop // no engine failed: the chain is where it was
		line = fmt.Sprintf("Handed over from %s to %s, as its user asked.", s.Engine, target)
	}
	if born.Carry == Progress {
		line = strings.TrimSuffix(line, ".") + "; it goes on from what was done."
	}
	if born.Carry == Continue {
		line = fmt.Sprintf("Back on %s after %s %s: it goes on where it was.", target, s.Engine, s.Claim.Why)
	}
	if target == s.Engine {
		born.Hop = s.Hop
		if born.Carry != Progress {
			born.Carry = s.Carry
		}
		line = fmt.Sprintf("Trying %s again: %s.", target, s.Claim.Why)
	}
	if next.Weaker != "" {
		line += " It is held less tightly there: " + next.Weaker + "." // F45
	}
	s.Claim.Phase, s.Claim.Next, s.Claim.Target, s.Claim.Resolved = Dispatched, e.Next, target, f.Now
	d.What, d.Why, d.Out = "dispatch to "+target.String(), "the claim still holds", next.Out
	return s, []Effect{Create{born, s.Claim.Asked}, Announce{line}, Decide{d}}
}

// successor is what a claim's run is sent. An engine that was left because its
// user wanted the seat elsewhere goes on where it was, when nobody has done
// anything there (Z30).
func successor(s State, target paceline.Engine, f Facts) Carry {
	back := lastOn(target, f)
	if back == nil || !back.Claim.Asked || !back.Sent || back.Conversation == "" || f.Lacks[target] || f.Grown[target] || s.Work != paceline.WorkNone {
		return carry(s, target, *s.Failure, f)
	}
	for _, r := range f.Earlier {
		if r.Created.After(back.Created) && r.Work != paceline.WorkNone {
			return carry(s, target, *s.Failure, f)
		}
	}
	return Continue
}

// recheck asks refusal once more, with the facts of now. The target may have
// become unfit meanwhile; then the next fit engine of the chain takes its place.
func recheck(s State, f Facts) (why string, next place.Choice) {
	if s.Failure == nil {
		return "its failure is not on record", next
	}
	if s.Claim.Target == s.Engine { // a refreshed sign-in
		if !resendable(f) {
			return "its message may no longer be sent again", next
		}
		return "", place.Choice{Engine: s.Engine, Found: true}
	}
	if s.Claim.Asked && f.Asked == nil {
		return "its user took the move back", next
	}
	next = choose(s, s.Failure.Cause, f)
	f.Kept = true // a claim is only written where it was
	return refusal(s, *s.Failure, next, f), next
}

// dispatchRefused counts an attempt that could not be carried out. The claim is
// given up in the end, so that nothing waits for it for ever (F24, F26).
func dispatchRefused(s State, e DispatchRefused, f Facts) (State, []Effect) {
	if s.Claim.Phase != Pending {
		return s, nil
	}
	d := decision(s, "dispatch refused", f)
	s.Claim.Refused++
	if s.Claim.Refused >= MaxRefusals || f.Now.Sub(s.Claim.Since) >= MaxPending {
		return skip(s, fmt.Sprintf("its dispatch was refused %d times: %s", s.Claim.Refused, e.Why), d, f)
	}
	d.What, d.Why = "try the dispatch again", e.Why
	return s, []Effect{Decide{d}}
}

// skip ends a claim without a successor, and settles the message that waited
// for it, once (F25).
func skip(s State, why string, d Decision, f Facts) (State, []Effect) {
	s.Claim.Phase, s.Claim.Why, s.Claim.Resolved = Skipped, why, f.Now
	d.What, d.Why = "skip the claim", why
	if s.Failure != nil && d.Event != "stop asked" && !f.Stop {
		return rest(s, *s.Failure, why, d, f, nil) // F29
	}
	end := Settle{Status: Broke, Text: "failed", Hint: why}
	if s.Failure != nil {
		end = settle(s, *s.Failure, why, f)
	}
	if d.Event == "stop asked" || f.Stop {
		end = Settle{Status: Halted, Text: "stopped"}
	}
	return s, []Effect{end, Decide{d}}
}
