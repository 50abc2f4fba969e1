package health

import (
	"slices"
	"time"
)

// What an outcome does to a route. Rows are the phases as they are read at the
// time; n is open_after_failures.
//
//	             success, reached   transport, server   denied        the rest
//	healthy      –                  suspect, nth: open  unavailable   –
//	suspect      healthy            nth: open           unavailable   –
//	degraded     by rate alone      nth: open           unavailable   –
//	open         healthy            –                   unavailable   –
//	half-open    healthy            open                unavailable   –
//	unavailable  healthy            nth: open           –             –
//
// A turn that was answered clears the failures before it: they open nothing any
// more, and remain samples of the rate. A first word is no turn yet: it ends a
// trial, and the next failure within the window opens the route again at once.

// Observe folds one outcome into a record. The record that was given is not
// written to. An outcome that was counted already, or is older than the window,
// changes nothing.
func Observe(r Record, o Outcome, now time.Time, p Policy) (Record, []Line) {
	r, lines := Age(r, now, p)
	if r.Trial.Who != "" && r.Trial.Who == o.ID && !o.says() {
		// It ended without a word on the route: somebody else may try.
		r.Trial = Trial{}
	}
	m, fresh := r.fresh(o, now, p)
	if !fresh {
		return r, lines
	}
	if o.Model != "" {
		r.Model = o.Model
	}
	switch o.Kind {
	case Success:
		r.Oks = push(r.Oks, m, maxOks, &r.Floor)
		r.Cleared = later(r.Cleared, m.At)
		lines = append(lines, r.recover(m.At, now)...)
	case Reached:
		lines = append(lines, r.recover(m.At, now)...)
	case Transport, Server:
		r.Fails = push(r.Fails, m, MaxFails, &r.Floor)
		r.Bad = later(r.Bad, m.At)
		lines = append(lines, r.failed(m, now, p)...)
	case Denied:
		r.Refused = push(r.Refused, m, maxRefused, nil)
		lines = append(lines, r.denied(m, now, p)...)
		r.Bad = later(r.Bad, m.At)
	case ModelRefused:
		r.Refused = push(r.Refused, m, maxRefused, nil)
	case Nothing, Capacity, Session:
	}
	// What is folded late may be over already.
	r, more := Age(r, now, p)
	return r, append(lines, more...)
}

// says reports whether an outcome says anything of its route.
func (o Outcome) says() bool {
	switch o.Kind {
	case Nothing, Capacity, Session, ModelRefused:
		return false
	case Success, Reached, Transport, Server, Denied:
	}
	return true
}

// fresh makes a mark of an outcome, and reports whether it is to be counted.
func (r Record) fresh(o Outcome, now time.Time, p Policy) (Mark, bool) {
	m := Mark{ID: o.ID, At: o.At, Kind: o.Kind, Code: o.Code, Model: o.Model, First: o.First}
	switch {
	case o.Kind == Nothing, o.Kind == Capacity, o.Kind == Session:
		return m, false
	case m.At.IsZero() && !o.New:
		return m, false
	case m.At.IsZero(), m.At.After(now):
		m.At = now
	}
	m.At = stamp(m.At)
	if !m.At.After(now.Add(-p.Window)) || !m.At.After(r.Floor) {
		return m, false
	}
	if o.Kind == Reached {
		return m, r.Phase.shut() // nothing of it is kept
	}
	for _, ring := range [][]Mark{r.Fails, r.Oks, r.Refused} {
		if slices.ContainsFunc(ring, func(seen Mark) bool { return seen.ID == o.ID }) {
			return m, false
		}
	}
	return m, true
}

// push adds a mark to a ring in the order of time. What falls out of a ring that
// is counted is history, and so is everything that is not later: otherwise a rate
// would be reckoned of many old failures and few new successes (Z87).
func push(ring []Mark, m Mark, most int, floor *time.Time) []Mark {
	i := len(ring)
	for i > 0 && ring[i-1].At.After(m.At) {
		i--
	}
	ring = slices.Insert(slices.Clone(ring), i, m)
	if len(ring) > most {
		if floor != nil {
			*floor = later(*floor, ring[0].At)
		}
		ring = ring[1:]
	}
	return ring
}

// recover ends an outage: the vendor answered after the last that is known of it.
func (r *Record) recover(at, now time.Time) []Line {
	if !r.Phase.shut() || !at.After(r.Bad) {
		return nil
	}
	was := r.Phase
	r.become(Healthy, now)
	return []Line{{"health-recovered", r.Route.Name() + " is healthy again", "it answered, having been " + was.String()}}
}

// failed counts a failure that is on record already.
func (r *Record) failed(m Mark, now time.Time, p Policy) []Line {
	switch {
	case r.Phase == Open: // the cooldown is reckoned from the moment that opened it
		return nil
	case r.Phase == HalfOpen && m.At.Before(r.Since): // from before the cooldown's end
		return nil
	case !m.At.After(r.Cleared): // a turn was answered since
		return nil
	case r.Phase != HalfOpen && len(r.counted(now, p)) < p.OpenAfter:
		return nil
	}
	r.become(Open, m.At)
	r.Until = m.At.Add(p.Cooldown)
	return []Line{{"health-open", r.Route.Name() + " route health open", r.what(now, p)}}
}

// denied shuts the route at once, for this account (Z69).
func (r *Record) denied(m Mark, now time.Time, p Policy) []Line {
	if r.Phase == Unavailable || !m.At.After(r.Bad) || !m.At.After(r.Cleared) {
		return nil
	}
	r.become(Unavailable, m.At)
	r.Until, r.Code = m.At.Add(p.Cooldown), m.Code
	return []Line{{"health-unavailable", r.Route.Name() + " route health unavailable", r.what(now, p)}}
}

// become enters a phase. Nothing of the one before is left.
func (r *Record) become(p Phase, at time.Time) {
	r.Phase, r.Since, r.Until, r.Trial, r.Code = p, stamp(at), time.Time{}, Trial{}, ""
}

// Age is a record as it stands at a time: an expired trial is nobody's, a
// cooldown that is over lets somebody try, and what has aged out of the window
// is forgotten.
func Age(r Record, now time.Time, p Policy) (Record, []Line) {
	var lines []Line
	if r.Trial.Who != "" && !now.Before(r.Trial.Until) {
		r.Trial = Trial{}
	}
	if (r.Phase == Open || r.Phase == Unavailable) && !now.Before(r.Until) {
		code := r.Code
		why := "its cooldown is over, having been " + r.Phase.String()
		r.become(HalfOpen, r.Until)
		r.Code = code
		lines = append(lines, Line{"health-half-open", r.Route.Name() + " may be tried again, by one run", why})
	}
	if r.Phase == HalfOpen && r.Trial.Who == "" && !now.Before(r.Since.Add(forgotten)) {
		r.become(Healthy, now)
		lines = append(lines, Line{"health-recovered", r.Route.Name() + " is healthy again", "nobody tried it for a day, and what is known of it is too old"})
	}
	return r, append(lines, r.weigh(now, p)...)
}

// forgotten is after how long a half-open route that nobody tries is as any other:
// also an address that nobody uses any more heals by itself (Z83).
const forgotten = 24 * time.Hour
