package health

import (
	"slices"
	"time"
)

// weigh finds out whether a route that is not shut is healthy, suspect or
// degraded. Entering takes the line, leaving takes much less than it, so that a
// route which stands on the line does not flap (Z72).
func (r *Record) weigh(now time.Time, p Policy) []Line {
	errs, all := r.rate(now, p)
	if r.Erring {
		r.Erring = errs > 0 && 200*errs >= p.ErrorPct*all // half the rate; or all of it aged out
	} else {
		r.Erring = all >= p.MinSamples && 100*errs >= p.ErrorPct*all
	}
	median, n := r.latency(now, p)
	switch {
	case p.TTFT <= 0:
		r.Slow = false
	case r.Slow:
		r.Slow = n > 0 && 4*median >= 3*p.TTFT
	default:
		r.Slow = n >= p.MinSamples && median >= p.TTFT
	}
	if r.Phase.shut() {
		return nil // how it stands is decided by what opened it
	}
	was, is := r.Phase, Healthy
	switch {
	case r.Erring || r.Slow:
		is = Degraded
	case len(r.counted(now, p)) > 0 || len(r.alike(now, p)) > 1:
		is = Suspect
	}
	if is == was {
		return nil
	}
	r.become(is, now)
	switch {
	case is == Degraded:
		return []Line{{"health-degraded", r.Route.Name() + " is degraded: it comes last", r.degradedBy(now, p)}}
	case was == Degraded:
		return []Line{{"health-restored", r.Route.Name() + " is no longer degraded", "what degraded it is well below the line, or too old"}}
	}
	return nil
}

// within is as much of a ring as still counts.
func (r *Record) within(ring []Mark, now time.Time, p Policy) []Mark {
	from := later(r.Floor, now.Add(-p.Window))
	i := len(ring)
	for i > 0 && ring[i-1].At.After(from) {
		i--
	}
	return ring[i:]
}

// counted are the failures that count towards opening: within the window, and
// since the last turn that was answered.
func (r *Record) counted(now time.Time, p Policy) []Mark {
	fails := r.within(r.Fails, now, p)
	for len(fails) > 0 && !fails[0].At.After(r.Cleared) {
		fails = fails[1:]
	}
	return fails
}

// rate counts the turns within the window, and those that failed.
func (r *Record) rate(now time.Time, p Policy) (errs, all int) {
	errs = len(r.within(r.Fails, now, p))
	return errs, errs + len(r.within(r.Oks, now, p))
}

// latency is the median of the times to a first word that are known, and their
// number.
func (r *Record) latency(now time.Time, p Policy) (time.Duration, int) {
	var ds []time.Duration
	for _, m := range r.within(r.Oks, now, p) {
		if m.First > 0 {
			ds = append(ds, m.First)
		}
	}
	if len(ds) == 0 {
		return 0, 0
	}
	slices.Sort(ds)
	return ds[(len(ds)-1)/2], len(ds)
}

// alike are the models that failed in the same way since a turn was answered. A
// program says of one that the model is at fault; of several it is what stands
// between.
func (r *Record) alike(now time.Time, p Policy) []string {
	var out []string
	for _, ring := range [][]Mark{r.counted(now, p), r.within(r.Refused, now, p)} {
		for _, m := range ring {
			if m.Kind != Denied && m.Model != "" && m.At.After(r.Cleared) && !slices.Contains(out, m.Model) {
				out = append(out, m.Model)
			}
		}
	}
	slices.Sort(out)
	return out
}
