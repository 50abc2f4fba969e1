package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
)

// What happens when a run fails
//
//	cause                          work none                       work some or unknown
//	usage_limit, billing, auth     claim: failover                 claim: rollover, else blocked with the remedy
//	throttle                       claim: failover                 claim: rollover, else blocked
//	transport, server, stall       claim: on another route         claim: rollover there, else blocked
//	model, context                 nothing moves: a clear error    the same
//	crash of one that never began  claim: failover, of a successor –
//	crash, other, stopped          nothing moves                   the same
//
// A failover sends the message again. A rollover never does: its successor is
// told what was asked, what was done and what nobody knows the end of. A call
// that began and never reported halts it, until a person has looked.
//
// A claim is written with the failure, as pending, together with the effect
// that ends it. It is refused where any of the reasons in refusal holds; each
// refusal is part of the decision.
func fail(s State, failure paceline.Failure, d Decision, f Facts) (State, []Effect) {
	s.Phase = Failed
	if failure.Cause == paceline.CauseStopped && !f.Over {
		s.Phase = Stopped
	}
	s.Failure = &failure
	d.To, d.Evidence = s.Phase, failure.Evidence
	effects := hold(s, failure, f)

	if again := refreshed(s, failure, f); again {
		s.Claim = Claim{Phase: Pending, Target: s.Engine, Why: "its sign-in was refreshed meanwhile", Since: f.Now}
		d.What, d.Why = "claim "+s.Engine.String()+" again", "a fresh process is signed in, so a parallel one had refreshed the token"
		return s, append(effects, Dispatch{s.ID}, Decide{d})
	}

	next := choose(s, failure.Cause, f)
	d.Out = next.Out
	if why := refusal(s, failure, next, f); why != "" {
		d.What, d.Why = "no failover", why
		return rest(s, failure, why, d, f, effects)
	}
	became := did(failure.Cause)
	switch {
	case f.Over:
		became = "was handed over by its user"
	case unborn(s, failure):
		became = "did not start"
	}
	s.Claim = Claim{Phase: Pending, Target: next.Engine, Why: became, Since: f.Now, Asked: f.Asked != nil}
	d.What = "claim " + next.Engine.String()
	d.Why = fmt.Sprintf("%s %s having done no work", s.Engine, became)
	if w := touched(s, failure, f); w != "" {
		d.What = "claim " + next.Engine.String() + " for a rollover"
		d.Why = fmt.Sprintf("%s %s, and %s: what was done goes along in a packet, the prompt does not", s.Engine, became, w)
	}
	if s.Claim.Asked {
		d.Why += "; its user wants the seat there"
	}
	if next.Weaker != "" {
		d.Why += "; weaker there, as allowed: " + next.Weaker
	}
	return s, append(effects, Dispatch{s.ID}, Decide{d})
}

// rest ends or parks a message that nobody takes now.
func rest(s State, failure paceline.Failure, why string, d Decision, f Facts, effects []Effect) (State, []Effect) {
	w, not := wait(s, failure, f)
	if not != "" {
		d.Why += "; not waiting: " + not
		end := settle(s, failure, why, f)
		if gone := gaveUp(s, failure); not == gone {
			end.Text, end.Hint = gone, "`paceline run -t "+string(s.Thread)+"` with a new prompt goes on in the thread"
		}
		return s, append(effects, end, Decide{d})
	}
	s.Wait = w
	d.What, d.Why = fmt.Sprintf("wait for %s until %s (%s)", w.For, w.Until.UTC().Format(time.RFC3339), w.Source), why
	line := waiting(w, s, f)
	if f.Over {
		line = fmt.Sprintf("The seat stays with %s: %s.", s.Engine, why)
	}
	return s, append(effects, Await{w}, Announce{line}, Decide{d})
}

// refusal says why a failed run's message may not be sent again; "" means that
// it may. It is the only predicate for it, at the failure and again when the
// claim is dispatched (F58).
func refusal(s State, failure paceline.Failure, next place.Choice, f Facts) string {
	done, asked := touched(s, failure, f), f.Asked != nil
	switch {
	case f.Stop || failure.Cause == paceline.CauseStopped && !f.Over:
		return "it was stopped by its user" // F19: also a Stop that was asked before the failure landed
	case f.Archived:
		return "its thread was archived"
	case asked && !next.Found:
		return f.Asked.Engine.String() + " cannot take the seat: " + next.Out[0].Why // Z46
	case !moves(failure.Cause) && !unborn(s, failure) && !asked:
		return "another engine does not help: " + failure.Cause.String() // model, context, crash, other
	case done != "" && !f.Roll && !asked:
		return done // P1
	case done != "" && !kept(failure, f):
		return done + ", and what it did is not all on record"
	case silent(done, f) != "":
		return silent(done, f)
	case f.Message.Kind != paceline.KindPrompt:
		return "its message is a " + f.Message.Kind.String() + ", not a prompt" // F12
	case f.Steered && done == "" && !asked: // a packet says what was added; a prompt would lack it
		return "it was steered, and only its first text could be sent again" // F13
	case f.Asking:
		return "a question of the run is unanswered"
	case f.Since > 0:
		return "something else ran in the thread since" // F19
	case asked:
		return "" // whether, how often and where work moves is his to say
	case f.Off:
		return "failover is switched off"
	case len(f.Chain) < 2:
		return "no other engine is named for this thread: --chain or [chain] default names them"
	case hops(s, f) >= maxHops(f):
		return fmt.Sprintf("its chain allows %d hops, and they are used up", maxHops(f)) // F11, F70
	case !next.Found:
		return "no engine below it in the chain can serve"
	}
	return ""
}

// touched says that something was, or may have been, done for the message; "" is
// the proof that nothing was.
func touched(s State, failure paceline.Failure, f Facts) string {
	switch {
	case failure.Work == paceline.WorkSome:
		return "it had already worked: " + witness(s, failure)
	case failure.Work != paceline.WorkNone:
		return "nothing proves that it did no work: " + witness(s, failure)
	case workedEarlier(f) != "":
		return "an earlier run of the message may have worked: " + workedEarlier(f)
	}
	return ""
}

// kept reports whether all that was done for the message is on record.
func kept(failure paceline.Failure, f Facts) bool {
	if f.Kept || failure.Work != paceline.WorkNone {
		return f.Kept
	}
	for _, r := range f.Earlier {
		if r.Work != paceline.WorkNone && !r.Kept {
			return false
		}
	}
	return true
}

// silent names the calls whose outcome nobody knows, where that halts a
// rollover (Z43).
func silent(done string, f Facts) string {
	if done == "" || len(f.Silent) == 0 || f.RollSilent {
		return ""
	}
	return "it began and never reported: " + strings.Join(f.Silent, "; ")
}

// carry is what a successor's prompt is wrapped in.
func carry(s State, to paceline.Engine, failure paceline.Failure, f Facts) Carry {
	switch {
	case touched(s, failure, f) != "", f.Steered:
		return Progress // a packet holds what was added; a prompt would lack it
	case f.Message.Opener, f.Held.Valid() && f.Held == to:
		return Bare // to its own conversation, where that holds the thread
	}
	return History
}

// moves reports whether the cause is the engine's or its route's own, so that
// another engine would do better.
func moves(c paceline.Cause) bool {
	switch c {
	case paceline.CauseUsageLimit, paceline.CauseBilling, paceline.CauseAuth, paceline.CauseThrottle:
		return true
	case paceline.CauseTransport, paceline.CauseServer, paceline.CauseStall:
		return true
	case paceline.CauseUnknown, paceline.CauseModel, paceline.CauseContext, paceline.CauseCrash,
		paceline.CauseStopped, paceline.CauseOther:
		return false
	}
	return false
}

// unborn reports whether the program of a successor did not even come up. It was
// sent nothing, and whoever it was to follow, or comes below, may do better (Z30).
// The engine that a thread begins with is not passed over for that: its user would
// rather hear what is broken.
func unborn(s State, failure paceline.Failure) bool {
	return failure.Cause == paceline.CauseCrash && !s.Sent && s.takesOver()
}

// routeFault reports whether the route failed rather than the account.
func routeFault(c paceline.Cause) bool {
	return c == paceline.CauseTransport || c == paceline.CauseServer || c == paceline.CauseStall
}

// did says what the failed engine did, as announcements put it.
func did(c paceline.Cause) string {
	switch c {
	case paceline.CauseUsageLimit:
		return "hit its usage limit"
	case paceline.CauseBilling:
		return "was billed out"
	case paceline.CauseAuth:
		return "was signed out"
	case paceline.CauseThrottle:
		return "refused it (429, cause not told)"
	case paceline.CauseStall:
		return "stalled"
	case paceline.CauseTransport, paceline.CauseServer:
		return "could not be reached"
	case paceline.CauseModel:
		return "does not have that model"
	case paceline.CauseContext:
		return "could not hold the conversation"
	case paceline.CauseStopped:
		return "was stopped"
	case paceline.CauseCrash:
		return "died"
	case paceline.CauseUnknown, paceline.CauseOther:
		return "failed"
	}
	return "failed"
}

// hold keeps what the failure says of its engine, for every process. A route's
// fault is never a limit, and a sign-in is looked up anew each time.
func hold(s State, failure paceline.Failure, f Facts) []Effect {
	l := paceline.Limit{
		Engine: s.Engine, Cause: failure.Cause, Reset: failure.Reset, Scope: failure.Scope, Seen: f.Now, Run: s.ID,
	}
	if wide[failure.Scope] {
		l.Engine.Model = "" // it closes every model of the account (A7)
	}
	switch failure.Cause {
	case paceline.CauseUsageLimit:
		if !l.Reset.Known() {
			l.Reset = paceline.Reset{At: f.Now.Add(AssumedReset), Source: paceline.ResetAssumed}
		}
	case paceline.CauseThrottle:
		if !l.Reset.Known() {
			// Nobody said that this is a limit: it holds its engine only for as
			// long as a retry would have waited (F46).
			l.Reset = paceline.Reset{At: f.Now.Add(AssumedThrottle), Source: paceline.ResetAssumed}
		}
	case paceline.CauseBilling:
		// Money does not come back by itself; nothing is assumed.
	case paceline.CauseUnknown, paceline.CauseAuth, paceline.CauseTransport, paceline.CauseServer, paceline.CauseModel,
		paceline.CauseContext, paceline.CauseStall, paceline.CauseCrash, paceline.CauseStopped, paceline.CauseOther:
		return nil
	}
	return []Effect{Hold{l}}
}

// wide are the usage windows that an account has for all its models together.
var wide = map[string]bool{"five_hour": true, "seven_day": true, "weekly": true}

// refreshed reports whether the same engine gets the message once more: a fresh
// process is signed in, so the failed one held an old token.
func refreshed(s State, failure paceline.Failure, f Facts) bool {
	if failure.Cause != paceline.CauseAuth || failure.Work != paceline.WorkNone || f.Probe != ProbeIn {
		return false
	}
	for _, r := range f.Earlier {
		if r.Engine == s.Engine {
			return false
		}
	}
	return resendable(f)
}

// resendable holds what refusal asks of the message and the thread, apart from
// where it would go.
func resendable(f Facts) bool {
	anywhere := place.Choice{Found: true}
	f.Chain, f.MaxHops, f.Earlier = make([]place.Candidate, 2), 1, nil
	none := paceline.Failure{Cause: paceline.CauseAuth, Work: paceline.WorkNone}
	return refusal(State{}, none, anywhere, f) == ""
}

// workedEarlier names the first earlier run of the message that is not proved
// to have done nothing (P1).
func workedEarlier(f Facts) string {
	for _, r := range f.Earlier {
		if r.Work != paceline.WorkNone {
			return fmt.Sprintf("%s on %s", r.ID, r.Engine)
		}
	}
	return ""
}

// witness names the frame that was the work.
func witness(s State, failure paceline.Failure) string {
	if w := s.WorkedBy; w.Frame != "" {
		return says(w)
	}
	for _, e := range failure.Evidence {
		if e.Means == "work" {
			return says(e)
		}
	}
	return "its adapter offers no proof"
}

func says(e paceline.Evidence) string {
	if e.Says == "" {
		return e.Frame
	}
	return e.Frame + " (" + e.Says + ")"
}

// hops counts how often the message already moved.
func hops(s State, f Facts) int {
	n := s.Hop
	for _, r := range f.Earlier {
		n = max(n, r.Hop)
	}
	return n
}

func maxHops(f Facts) int {
	if f.MaxHops > 0 {
		return f.MaxHops
	}
	return len(f.Chain) - 1
}

// settle ends a message whose run failed for good.
func settle(s State, failure paceline.Failure, why string, f Facts) Settle {
	out := Settle{Text: fmt.Sprintf("%s %s", s.Engine, did(failure.Cause))}
	out.Reset = failure.Reset
	if f.Asking {
		return Settle{
			Status: NeedPerson, Text: fmt.Sprintf("%s asks for permission, and nobody attends", s.Engine),
			Hint: "run it in a terminal to answer, or with --mode edit",
		}
	}
	if w := touched(s, failure, f); (f.Over || f.Roll && (moves(failure.Cause) || failure.Cause == paceline.CauseCrash)) && silent(w, f) != "" {
		return Settle{
			Status: NeedPerson, Text: fmt.Sprintf("%s %s in the middle of a call, and nobody knows whether it took effect", s.Engine, did(failure.Cause)),
			Hint: fmt.Sprintf("%s: look at what it did, then `paceline reconcile %s`", strings.Join(f.Silent, "; "), s.Thread), Reset: failure.Reset,
		}
	}
	if failure.Notice != "" && !moves(failure.Cause) {
		out.Text += ": " + failure.Notice
	}
	switch failure.Cause {
	case paceline.CauseStopped:
		out.Status, out.Text = Halted, "stopped"
	case paceline.CauseAuth:
		out.Status, out.Hint = NeedSignIn, "sign in to "+s.Engine.Account+" again, then send the message once more"
	case paceline.CauseUsageLimit, paceline.CauseThrottle, paceline.CauseBilling,
		paceline.CauseTransport, paceline.CauseServer, paceline.CauseStall:
		out.Status, out.Hint = Blocked, "not moved: "+why
	case paceline.CauseModel:
		out.Status, out.Hint = Broke, "name another model for "+s.Engine.Account+", or none for its default"
	case paceline.CauseContext:
		out.Status, out.Hint = Broke, "start a new thread, with less in the prompt"
	case paceline.CauseUnknown, paceline.CauseCrash, paceline.CauseOther:
		out.Status, out.Hint = Broke, "`paceline why "+string(s.ID)+"` shows the frames; nothing was sent twice"
	}
	return out
}
