// Package quota knows what is left of a usage window, and how that is known.
//
// A reading is what a vendor said about one window at one moment. It is taken
// only from what lies on disk or passes by anyway: no snapshot spends a call of
// the network (Z25). A reading ages, and its window ends; both are questions
// asked of it with the time, never facts that are stored in it.
package quota

import (
	"strconv"
	"time"
)

// MaxAge is how old a reading may be and still be taken for the present.
const MaxAge = 900 * time.Second

// Source says where a reading comes from.
type Source uint8

const (
	SourceUnknown Source = iota
	// SourceRollout is a conversation's file: written when a model answered.
	SourceRollout
	// SourceAnswer is what a program said when it was asked.
	SourceAnswer
)

func (s Source) String() string {
	switch s {
	case SourceRollout:
		return "rollout"
	case SourceAnswer:
		return "answer"
	case SourceUnknown:
	}
	return "unknown"
}

// Window names a metered period. Its length is data: what a vendor calls its
// primary window has been five hours, and a week.
type Window struct {
	Limit  string        // the vendor's id of what is metered; "" where it has only one
	Name   string        // which of its windows: "primary", "secondary"
	Length time.Duration // zero where it was not told
}

// String is how a person reads it: "5h", "7d", else its name.
func (w Window) String() string {
	name := w.Name
	switch day := 24 * time.Hour; {
	case w.Length > 0 && w.Length%day == 0:
		name = strconv.FormatInt(int64(w.Length/day), 10) + "d"
	case w.Length > 0 && w.Length%time.Hour == 0:
		name = strconv.FormatInt(int64(w.Length/time.Hour), 10) + "h"
	case w.Length > 0:
		name = strconv.FormatInt(int64(w.Length/time.Minute), 10) + "m"
	}
	if w.Limit != "" {
		return w.Limit + " " + name
	}
	return name
}

// Reading is one window as it was seen at one moment (Z11).
type Reading struct {
	Window
	Used     float64   // percent, as it was told: it may pass 100
	Reached  bool      // the vendor said that the limit is reached, whatever Used says
	Covered  bool      // what goes over is paid for otherwise
	Resets   time.Time // zero where it was not told
	Observed time.Time // when it was told: the row's own time, never the time of reading it
	Source   Source
}

// Headroom is the percent that is left at now. It is not known of a window that
// has ended since: the new one has seen an unknown use.
func (r Reading) Headroom(now time.Time) (percent float64, known bool) {
	switch {
	case !r.Live(now):
		return 0, false
	case r.Reached:
		return 0, true
	}
	return min(max(100-r.Used, 0), 100), true
}

// Live reports whether the window that was read is still the present one.
func (r Reading) Live(now time.Time) bool {
	return !r.Observed.IsZero() && (r.Resets.IsZero() || now.Before(r.Resets))
}

// Age is how long ago it was told. A clock that was set back makes no reading
// younger than new.
func (r Reading) Age(now time.Time) time.Duration { return max(now.Sub(r.Observed), 0) }

// Stale reports whether it is too old to be taken for the present. It may still
// be live, and then is better than a guess (Z18).
func (r Reading) Stale(now time.Time) bool {
	return r.Observed.IsZero() || r.Age(now) > MaxAge
}
