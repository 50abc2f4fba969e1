package quota

import "time"

// Snapshot is what is known of every window at one moment.
type Snapshot struct {
	Readings []Reading
	Dropped  int // readings that were there and could not be used
}

// Tightest is the live reading with the least left, fresh ones before stale
// ones. Found is false where no reading is live.
func (s Snapshot) Tightest(now time.Time) (r Reading, found bool) {
	for _, c := range s.Readings {
		left, known := c.Headroom(now)
		if !known {
			continue
		}
		best, _ := r.Headroom(now)
		if fresher := r.Stale(now) && !c.Stale(now); !found || fresher || left < best && c.Stale(now) == r.Stale(now) {
			r, found = c, true
		}
	}
	return r, found
}

// Degraded says why the snapshot is not to be taken for the present, "" where
// it is (Z23).
func (s Snapshot) Degraded(now time.Time) string {
	if len(s.Readings) == 0 {
		if s.Dropped > 0 {
			return "every reading was dropped"
		}
		return ""
	}
	first, last := s.Readings[0].Observed, s.Readings[0].Observed
	for _, r := range s.Readings {
		if r.Stale(now) {
			return "the reading of " + r.Window.String() + " is stale"
		}
		if r.Observed.Before(first) {
			first = r.Observed
		}
		if r.Observed.After(last) {
			last = r.Observed
		}
	}
	if last.Sub(first) > MaxAge {
		return "the readings are from different times"
	}
	return ""
}

// Newest keeps the newest reading of each window, in the order in which the
// windows first came. Of two from the same moment the later one in rs stands.
func Newest(rs []Reading) []Reading {
	at := map[[2]string]int{}
	var out []Reading
	for _, r := range rs {
		k := [2]string{r.Limit, r.Name}
		i, seen := at[k]
		switch {
		case !seen:
			at[k] = len(out)
			out = append(out, r)
		case !r.Observed.Before(out[i].Observed):
			out[i] = r
		}
	}
	return out
}
