package health

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Says is how a route stands, in one line for people (Z89, Z101); "" where all
// is well. The record is as Age returns it.
func Says(r Record, now time.Time, p Policy) string {
	if r.Phase == Healthy {
		return ""
	}
	about := fmt.Sprintf("%d transport/server error(s)", Errors(r, now, p))
	if r.Model != "" && r.Phase != Degraded {
		about += ", last model " + r.Model
	}
	switch {
	case r.Phase == Degraded:
		about += "; " + r.Route.Name() + ": " + r.degradedBy(now, p)
	case r.Phase == Unavailable:
		about += "; " + r.refusal() + "; " + next(r.Until)
	case r.Phase == Open:
		about += "; " + next(r.Until)
	case r.Trial.Who != "":
		about += "; trial in flight: " + r.Trial.Who + " (" + short(now.Sub(r.Trial.Since)) + ")"
	}
	line := fmt.Sprintf("health: %s %s (%s)", r.Route.Name(), r.Phase, about)
	for _, more := range []string{r.overload(now, p), r.gateway(now, p)} {
		if more != "" {
			line += ": " + more
		}
	}
	return line
}

// Errors counts the transport and server failures that say how a route stands.
func Errors(r Record, now time.Time, p Policy) int {
	if r.Phase == Degraded {
		errs, _ := r.rate(now, p)
		return errs
	}
	return len(r.counted(now, p))
}

// Keeps is why new work keeps off a route that is not shut but ranks last; ""
// where it does not.
func Keeps(r Record, now time.Time, p Policy) string {
	if r.Phase != Degraded {
		return ""
	}
	return "route health degraded: " + r.degradedBy(now, p)
}

// what says what shut a route.
func (r *Record) what(now time.Time, p Policy) string {
	if r.Phase == Unavailable {
		return r.refusal()
	}
	fails := r.counted(now, p)
	kind := "transport/server"
	if n := len(fails); n > 0 && !slices.ContainsFunc(fails, func(m Mark) bool { return m.Kind != fails[0].Kind }) {
		kind = fails[0].Kind.String()
	}
	says := fmt.Sprintf("%d %s error(s) in %s", len(fails), kind, short(p.Window))
	if o := r.overload(now, p); o != "" {
		says += ", " + o
	}
	return says
}

func (r *Record) refusal() string {
	if r.Code == "" {
		return "its vendor refused the account"
	}
	return "its vendor refused the account (" + r.Code + ")"
}

// overload says that the vendor is out of capacity, which is nobody's allowance.
func (r *Record) overload(now time.Time, p Policy) string {
	fails := r.counted(now, p)
	if n := len(fails); n > 0 && fails[n-1].Kind == Server && strings.Contains(strings.ToLower(fails[n-1].Code), "overloaded") {
		return "server overloaded"
	}
	return ""
}

// gateway names the endpoint where several models fail alike: no model is at
// fault then.
func (r *Record) gateway(now time.Time, p Policy) string {
	if models := r.alike(now, p); len(models) > 1 && r.Route.Endpoint != "" {
		return strings.Join(models, " and ") + " fail alike through " + r.Route.Endpoint + ", so the endpoint is suspected"
	}
	return ""
}

func (r *Record) degradedBy(now time.Time, p Policy) string {
	var out []string
	if r.Erring {
		errs, all := r.rate(now, p)
		out = append(out, fmt.Sprintf("error rate %d%% over %d turns", 100*errs/max(all, 1), all))
	}
	if r.Slow {
		median, n := r.latency(now, p)
		out = append(out, fmt.Sprintf("first word after %s over %d turns", median.Round(100*time.Millisecond), n))
	}
	return strings.Join(out, ", ")
}

// next is when a route is tried again: never when it is known to be back.
func next(at time.Time) string {
	return fmt.Sprintf("next health check ~unix %d (estimate)", at.Unix())
}

func about(d time.Duration) string {
	if d > 90*time.Second {
		d = d.Round(time.Minute)
	}
	return "~" + short(d) + " (estimate)"
}

// short writes a time without its noughts: 10m, 12s.
func short(d time.Duration) string {
	s := max(d, 0).Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
