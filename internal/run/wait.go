package run

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
)

// Where nobody can go on now, the message waits:
//
//	cause                     until
//	usage_limit, throttle     the soonest that an engine which may serve is free, and a moment
//	transport, server, stall  1, 2, 4, 8, then every 15 minutes (A25), or sooner where another
//	                          engine that may serve is free sooner
//	crash, other              1 s, then 1, 2, 4, 8, 15, 30 minutes, then hourly; given up after 12 (A28)
//	the rest                  nothing: waiting does not help
//
// A wait is part of its run's row, so it outlives a restart, and a wall-clock
// time, so it outlives a suspend (A20). What follows it continues the
// conversation that holds the message already; the message itself is sent again
// only to an engine that never had it, and only where nobody did anything.

// Wait is what a failed run's message waits for. The zero value is no wait.
type Wait struct {
	Until  time.Time            `json:"until,omitzero"`
	Source paceline.ResetSource `json:"source,omitempty"`
	For    paceline.Engine      `json:"for,omitzero"`
	Why    string               `json:"why,omitempty"` // what its engine did ("hit its usage limit")
}

// Waiting reports whether the run's message waits for a time.
func (s State) Waiting() bool { return !s.Wait.Until.IsZero() }

// MaxFailures is how many failures in a row are given up after (A28).
const MaxFailures = 12

var (
	outages  = []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute}
	failures = []time.Duration{
		time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
	}
)

const (
	// soon is how far apart an engine is asked again whose reset has passed and
	// which is limited all the same.
	soon = 10 * time.Second
	// quickly is how often that is done before it is taken for something else.
	quickly = 6
	// spread keeps those who wait for the same reset a little apart.
	spread = 400 * time.Millisecond
)

// wait decides whether and until when a failed run's message waits; why is the
// reason where it does not.
func wait(s State, failure paceline.Failure, f Facts) (w Wait, why string) {
	w = Wait{For: s.Engine, Why: did(failure.Cause)}
	n := inARow(s, failure.Cause, f)
	switch {
	case f.Over: // it was going on, and goes on
		w.Until = f.Now.Add(failures[0])
	case failure.Cause == paceline.CauseThrottle && !failure.Reset.Known() && n > 1:
		// Repetition makes a limit of it (F46).
		failure.Reset = paceline.Reset{At: f.Now.Add(Outage(n)), Source: paceline.ResetAssumed}
		w = soonest(s, failure, f)
	case failure.Cause == paceline.CauseUsageLimit, failure.Cause == paceline.CauseThrottle:
		w = soonest(s, failure, f)
	case routeFault(failure.Cause):
		w.Until = f.Now.Add(Outage(n))
		w = sooner(w, s, failure, f)
	case failure.Cause == paceline.CauseCrash, failure.Cause == paceline.CauseOther:
		if n >= MaxFailures {
			return Wait{}, gaveUp(s, failure)
		}
		w.Until = f.Now.Add(Backoff(n))
	default:
		return Wait{}, "waiting does not help"
	}
	if w.Source == paceline.ResetNone {
		w.Source = paceline.ResetAssumed
	}
	switch p := f.Message.Patience; {
	case f.Stop || f.Archived || f.Asking || f.Since > 0:
		return Wait{}, "it was ended"
	case p < 0 && !f.Over:
		return Wait{}, "it was told not to wait"
	case f.Message.Kind != paceline.KindPrompt:
		return Wait{}, "its message is a " + f.Message.Kind.String() + ", not a prompt"
	case silent(touched(s, failure, f), f) != "":
		return Wait{}, "a call began and never reported"
	case p > 0 && w.Until.Sub(f.Message.At) > p:
		return Wait{}, fmt.Sprintf("it would wait until %s, longer than it was told to", w.Until.UTC().Format(time.RFC3339))
	}
	return w, ""
}

// gaveUp is what is said when the last attempt has failed (A28).
func gaveUp(s State, failure paceline.Failure) string {
	return GaveUp(fmt.Sprintf("%s %s", s.Engine, did(failure.Cause)))
}

// GaveUp is the line that says what failed too often.
func GaveUp(what string) string {
	return fmt.Sprintf("Gave up after %d failed attempts in a row, over five hours (%s); run paused — resume to try again", MaxFailures, what)
}

// Outage is how long is waited after the nth failure in a row to reach somebody.
func Outage(n int) time.Duration { return outages[min(n, len(outages))-1] }

// Backoff is how long is waited after the nth failure in a row of any other kind.
func Backoff(n int) time.Duration { return failures[min(n, len(failures))-1] }

// inARow counts the failures of this kind that the message has had without
// another one between them, this one included.
func inARow(s State, c paceline.Cause, f Facts) int {
	n := 1
	for i := len(f.Earlier) - 1; i >= 0; i-- {
		r := f.Earlier[i]
		if r.Created.After(s.Created) {
			continue
		}
		if r.Failure == nil || kind(r.Failure.Cause) != kind(c) {
			break
		}
		n++
	}
	return n
}

// kind is the schedule that a cause follows.
func kind(c paceline.Cause) int {
	switch {
	case routeFault(c):
		return 1
	case c == paceline.CauseCrash, c == paceline.CauseOther:
		return 2
	}
	return 0
}

// soonest is the first time at which an engine that may serve is free.
func soonest(s State, failure paceline.Failure, f Facts) Wait {
	own := failure.Reset
	for _, e := range hold(s, failure, f) {
		if h, ok := e.(Hold); ok {
			own = h.Limit.Reset
		}
	}
	n := inARow(s, failure.Cause, f)
	best := Wait{Until: free(s.ID, own, n, f.Now), Source: own.Source, For: s.Engine, Why: did(failure.Cause)}
	if c := inChain(s.Engine, f); c != nil {
		// Its route may be down as well.
		if r, _ := place.Frees(place.Candidate{Health: c.Health}, f.Now, true); r.At.After(best.Until) {
			best.Until, best.Source = free(s.ID, r, 1, f.Now), r.Source
		}
	}
	return sooner(best, s, failure, f)
}

// sooner is best, or the wait for another engine that may serve before that.
func sooner(best Wait, s State, failure paceline.Failure, f Facts) Wait {
	for _, c := range f.Chain {
		if c.Engine == s.Engine || !mayServe(c, s, failure, f) {
			continue
		}
		w := Wait{Until: f.Now, Source: paceline.ResetAssumed, For: c.Engine, Why: best.Why}
		switch r, known := place.Frees(c, f.Now, false); {
		case !known:
			continue // only a person knows
		case r.Known():
			w.Until, w.Source = free(s.ID, r, 1, f.Now), r.Source
		}
		if last := lastOn(c.Engine, f); last != nil && w.Until.Before(last.Ended.Add(soon)) {
			w.Until = last.Ended.Add(soon)
		}
		if w.Until.Before(best.Until) {
			best = w
		}
	}
	return best
}

// inChain is what is known of an engine; nil where the chain does not name it.
func inChain(e paceline.Engine, f Facts) *place.Candidate {
	for i := range f.Chain {
		if f.Chain[i].Engine == e {
			return &f.Chain[i]
		}
	}
	return nil
}

// free is when an engine is asked after its reset. n counts the limits in a row:
// a vendor whose reset passes again and again without effect is asked less and
// less.
func free(id paceline.RunID, r paceline.Reset, n int, now time.Time) time.Time {
	if !place.Lifts(r).After(now) { // it should be free, and is not
		if n <= quickly {
			return now.Add(soon)
		}
		return now.Add(Outage(n - quickly))
	}
	return Back(string(id), r)
}

// Back is when the one who is named asks an engine again that comes back at this
// reset: a moment later, and not at the same instant as everybody else.
func Back(who string, r paceline.Reset) time.Time {
	h := fnv.New32a()
	_, _ = h.Write([]byte(who)) // never fails
	return place.Lifts(r).Add(spread/4 + time.Duration(h.Sum32())%spread)
}

// mayServe reports whether an engine other than the failed one could take the
// message once nothing is held against it.
func mayServe(c place.Candidate, s State, failure paceline.Failure, f Facts) bool {
	if last := lastOn(c.Engine, f); last != nil {
		// It had the message already: it comes back where it was limited, and that
		// is no further hop.
		if last.Failure == nil || last.Failure.Cause != paceline.CauseUsageLimit && last.Failure.Cause != paceline.CauseThrottle {
			return false
		}
		f.MaxHops = hops(s, f) + 1
	}
	if refusal(s, failure, place.Choice{Found: true}, f) != "" {
		return false
	}
	own := inChain(s.Engine, f)
	if own == nil || routeFault(failure.Cause) && c.Route == own.Route {
		return false
	}
	return place.Fits(c, own, f.Weaker)
}

// lastOn is the message's last earlier run on an engine.
func lastOn(e paceline.Engine, f Facts) *State {
	for i := len(f.Earlier) - 1; i >= 0; i-- {
		if f.Earlier[i].Engine == e {
			return &f.Earlier[i]
		}
	}
	return nil
}

// waitOver goes on with a message whose wait is over: on the first engine of the
// chain that is free.
func waitOver(s State, e WaitOver, f Facts) (State, []Effect) {
	if !s.Waiting() || s.Failure == nil {
		return s, nil
	}
	d := decision(s, "wait over", f)
	f.Kept = f.Kept || s.Kept
	asked := false
	var target paceline.Engine
	if f.Asked != nil {
		ch := choose(s, s.Failure.Cause, f)
		over := f
		over.Over = true
		asked = refusal(s, *s.Failure, ch, over) == ""
		target, d.Out, f.Asked = ch.Engine, ch.Out, nil
	}
	ok := asked
	if !asked {
		target, ok = onwards(s, f)
	}
	if !ok {
		return waitMore(s, d, f)
	}
	next := State{
		ID: e.Next, Thread: s.Thread, Message: s.Message, After: s.ID, Hop: s.Hop,
		Engine: target, Phase: Queued, Carry: resume(s, target, f), Created: f.Now,
	}
	if next.Carry == Continue && f.Grown[target] {
		// Perhaps it is done already, perhaps it was put off: nobody but its user
		// knows what the other one was told (bug-29).
		s.Wait = Wait{}
		d.What, d.Why = "not gone on with", target.String()+"'s conversation went on meanwhile, and not by us"
		return s, []Effect{Settle{
			Status: NeedPerson, Text: target.String() + "'s conversation went on while its message waited, and not by us",
			Hint: "look at what was done there; the next message goes on in that conversation",
		}, Decide{d}}
	}
	s.Wait = Wait{}
	d.What, d.Why = "go on with "+target.String(), "its wait is over"
	if asked {
		d.Why = "its user wants the seat there"
	}
	if next.Carry == Continue {
		d.Why += "; its conversation holds the message, and is continued"
	}
	if asked {
		line := fmt.Sprintf("Handed over from %s to %s, as its user asked", s.Engine, target)
		if next.Carry == Progress {
			line += "; it goes on from what was done"
		}
		return s, []Effect{Resume{next, true}, Announce{line + "."}, Decide{d}}
	}
	return s, []Effect{Resume{next, false}, Announce{fmt.Sprintf("Going on with %s.", target)}, Decide{d}}
}

// onwards is the engine that a message goes on with whose wait is over. One that
// was cut from its vendor is tried again by its schedule, whatever is known of its
// route, unless another is free that is better: its own is down still, or the
// other one was waited for.
func onwards(s State, f Facts) (target paceline.Engine, ok bool) {
	first := func(own bool) (paceline.Engine, bool) {
		for _, c := range f.Chain {
			self := c.Engine == s.Engine
			switch {
			case place.Closed(c, f.Now, self):
			case self && own && c.Unready == "", !self && mayServe(c, s, *s.Failure, f):
				return c.Engine, true
			}
		}
		return paceline.Engine{}, false
	}
	if kind(s.Failure.Cause) == 0 {
		return first(true)
	}
	if other, ok := first(false); ok && routeFault(s.Failure.Cause) {
		own := inChain(s.Engine, f)
		if s.Wait.For != s.Engine || own != nil && place.Closed(*own, f.Now, true) {
			return other, true
		}
	}
	return s.Engine, true
}

// waitMore waits on, since the reset has moved.
func waitMore(s State, d Decision, f Facts) (State, []Effect) {
	failure := *s.Failure
	for _, c := range f.Chain {
		if c.Engine == s.Engine && c.Limit != nil {
			failure.Reset = c.Limit.Reset
		}
	}
	w, why := wait(s, failure, f)
	if why != "" {
		s.Wait = Wait{}
		d.What, d.Why = "wait no longer", why
		return s, []Effect{settle(s, failure, why, f), Decide{d}}
	}
	s.Wait = w
	d.What, d.Why = "wait for "+w.For.String(), "nobody is free yet"
	return s, []Effect{Await{w}, Decide{d}}
}

// resume is what the run after a wait is sent. The conversation that holds the
// message goes on; otherwise it is as after any failure.
func resume(s State, target paceline.Engine, f Facts) Carry {
	last := lastOn(target, f)
	if target == s.Engine {
		last = &s
	}
	quiet := touched(s, *s.Failure, f) == ""
	switch {
	case last != nil && last.Sent && last.Conversation != "" && !f.Lacks[target] && (target == s.Engine || quiet):
		return Continue
	case last != nil && target == s.Engine && !last.Sent:
		return s.Carry
	}
	return carry(s, target, *s.Failure, f)
}

// Clock is a time to come as announcements put it, in the zone of now.
func Clock(at, now time.Time) string {
	layout := "15:04 MST"
	switch left := at.Sub(now); {
	case left > 20*time.Hour:
		layout = "2 Jan 15:04 MST"
	case left < 2*time.Minute:
		layout = "15:04:05 MST"
	}
	return at.In(now.Location()).Format(layout)
}

// waiting is the line that announces a wait.
func waiting(w Wait, s State, f Facts) string {
	when := Clock(w.Until, f.Now)
	switch {
	case s.Failure != nil && routeFault(s.Failure.Cause) && len(f.Chain) > 1:
		return "No engine can be reached; trying again at " + when
	case s.Failure != nil && routeFault(s.Failure.Cause):
		return fmt.Sprintf("%s could not be reached; trying it again at %s", s.Engine, when)
	case s.Failure != nil && kind(s.Failure.Cause) != 0:
		return fmt.Sprintf("%s %s; trying it again at %s.", s.Engine, did(s.Failure.Cause), when)
	}
	return fmt.Sprintf("Waiting for %s, free again at %s (%s).", w.For, when, w.Source)
}
