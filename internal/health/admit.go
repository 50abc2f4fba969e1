package health

import "time"

// Verdict answers whether a run may go to a route.
type Verdict struct {
	OK bool
	// Why and Back say why not, and when to ask again.
	Why  string
	Back time.Time
	// Record is what is to be kept: the run may have claimed the trial.
	Record  Record
	Lines   []Line
	Claimed bool
}

// Admit asks for a run to go to a route. Of a half-open one it claims the trial,
// in the run's name; whoever comes meanwhile is told whose it is and when it
// expires (Z77, Z78). The claim holds once the record is kept, which a caller
// does by comparison with the version that he read.
func Admit(r Record, who string, now time.Time, p Policy) Verdict {
	r, lines := Age(r, now, p)
	v := Verdict{Record: r, Lines: lines}
	if r.Phase == HalfOpen && (r.Trial.Who == "" || r.Trial.Who == who) {
		v.OK = true
		if r.Trial.Who != who {
			v.Record.Trial = Trial{Who: who, Since: stamp(now), Until: stamp(now.Add(p.Cooldown))}
			v.Claimed = true
			v.Lines = append(v.Lines, Line{"health-trial", who + " tries " + r.Route.Name(), "one run at a time tries a route that was " + before(r)})
		}
		return v
	}
	v.Why, v.Back = Denies(r, now, p)
	v.OK = v.Why == ""
	return v
}

func before(r Record) string {
	if r.Code != "" {
		return Unavailable.String()
	}
	return Open.String()
}

// Denies says why nobody new goes to a route now, and when it is to be asked
// again; "" where somebody may, if only one. The record is as Age returns it.
func Denies(r Record, now time.Time, p Policy) (why string, back time.Time) {
	switch r.Phase {
	case Open, Unavailable:
		return "route health " + r.Phase.String() + ": " + r.what(now, p) + "; next health check in " + about(r.Until.Sub(now)), r.Until
	case HalfOpen:
		if r.Trial.Who != "" {
			return "route health half-open: trial in flight: " + r.Trial.Who + " (" + short(now.Sub(r.Trial.Since)) + "); it frees in " + about(r.Trial.Until.Sub(now)), r.Trial.Until
		}
	case Healthy, Suspect, Degraded:
	}
	return "", time.Time{}
}

// Shared is the record of another account that denies a route: its breaker is
// open, and both were pointed at the same endpoint. What is wrong with an account
// is its own, and so is how fast it is served (Z75).
func Shared(rs []Record, route Route, now time.Time, p Policy) (Record, bool) {
	if !route.Configured || route.Endpoint == "" {
		return Record{}, false
	}
	for _, r := range rs {
		r, _ = Age(r, now, p)
		if r.Route.Account != route.Account && r.Route.Configured && r.Route.Endpoint == route.Endpoint && r.Phase == Open {
			return r, true
		}
	}
	return Record{}, false
}
