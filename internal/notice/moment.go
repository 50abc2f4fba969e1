package notice

import (
	"strings"
	"time"

	"github.com/paceline/paceline"
)

// maxDelay is the longest wait that is believed: the longest usage window there
// is, a month, twice.
const maxDelay = 62 * 24 * time.Hour

// slack is how far back a time of day may lie and still be today's: vendors
// round down to the minute.
const slack = time.Minute

// fiveHours bounds a wait for a five-hour window, with the quarter of an hour
// by which clocks differ.
const fiveHours = 5*time.Hour + 15*time.Minute

// moment is a time that was read, and from which words.
type moment struct {
	at     time.Time
	origin Origin
	stated bool
}

// reset finds when a notice lifts: of all the times in it the one of the surest
// origin, of two as sure the first.
func reset(o opened, said string, n Notice, at time.Time) (paceline.Reset, Origin) {
	var best moment
	consider := func(m moment, ok bool) {
		if !ok || m.at.IsZero() || best.origin != NoMoment && best.origin <= m.origin {
			return
		}
		if !at.IsZero() && m.at.Sub(at) > maxDelay {
			return
		}
		best = m
	}
	for _, s := range o.times {
		consider(s.moment(at))
	}
	if m, ok := bar(said); ok {
		consider(m, true)
	}
	for _, w := range spoken(said) {
		m, ok := w.resolve(at, n.Window, o.code)
		// "wait 2 minutes", says the server in front of a weekly limit.
		if ok && m.origin == Relative && (n.Window == "weekly" || n.Window == "monthly") && m.at.Sub(at) < longest {
			continue
		}
		consider(m, ok)
	}
	if best.origin == NoMoment {
		return paceline.Reset{}, NoMoment
	}
	source := paceline.ResetDerived
	if best.stated {
		source = paceline.ResetStated
	}
	return paceline.Reset{At: best.at.UTC(), Source: source}, best.origin
}

// ResetAt reads when a notice lifts whose class is known already.
func ResetAt(text string, at time.Time) paceline.Reset {
	said := plain(text)
	r, _ := reset(opened{}, said, Notice{Window: window(comparable(said), "")}, at)
	return r
}

// bar is the epoch behind the bar of Claude's first generation.
func bar(said string) (moment, bool) {
	head, tail, ok := strings.Cut(said, "|")
	if !ok || !strings.HasSuffix(strings.TrimSpace(strings.ToLower(head)), "reached") {
		return moment{}, false
	}
	t, ok := epoch(strings.TrimSpace(tail))
	return moment{t, Epoch, true}, ok
}

// epoch reads seconds or milliseconds since 1970.
func epoch(s string) (time.Time, bool) {
	end := 0
	for end < len(s) && digit(s[end:]) {
		end++
	}
	switch n := atoi(s[:end]); {
	case end == 13:
		return time.UnixMilli(n), true
	case end == 10:
		return time.Unix(n, 0), true
	}
	return time.Time{}, false
}

// moment reads a typed time.
func (s stamp) moment(at time.Time) (moment, bool) {
	if t, ok := epoch(s.value); ok {
		origin := s.origin
		if s.origin == Field {
			origin = Epoch
		}
		return moment{t, min(origin, Epoch), true}, true
	}
	if t, err := time.Parse(time.RFC3339, s.value); err == nil {
		return moment{t, min(s.origin, Field), true}, true
	}
	if w, ok := expression(s.value); ok && !w.instant.IsZero() {
		return moment{w.instant, s.origin, true}, true
	}
	if at.IsZero() || s.origin == Field {
		return moment{}, false
	}
	d, ok := distance(s.value)
	if !ok {
		if d, ok = bare(s.value); ok && strings.HasSuffix(s.name, "ms") {
			d /= 1000
		}
	}
	return moment{at.Add(d), s.origin, false}, ok
}

// After is a stated delay as a reset. It is none where nobody knows when it was
// stated.
func After(d time.Duration, at time.Time) paceline.Reset {
	if at.IsZero() || d <= 0 || d > maxDelay {
		return paceline.Reset{}
	}
	return paceline.Reset{At: at.Add(d).UTC(), Source: paceline.ResetDerived}
}

// Delay reads how long a call's retry is put off: from the vendor's words, or
// from a Retry-After that is quoted in them, in seconds or as a date. A date is
// measured from when the notice was read (R5). It is 0 where no time is told,
// or one that has passed.
func Delay(text string, at time.Time) time.Duration {
	for _, w := range spoken(plain(text)) {
		if w.origin == Relative {
			return w.distance
		}
		if !w.instant.IsZero() {
			return max(0, w.instant.Sub(at))
		}
	}
	return 0
}

// resolve makes an instant of a worded time: the next one after the moment at
// which it was printed, never after the one at which it is read (A4). at's zone
// is the printer's, and holds where the notice names none.
func (w when) resolve(at time.Time, window, code string) (moment, bool) {
	if !w.instant.IsZero() {
		return moment{w.instant, w.origin, true}, true
	}
	whole := w.year != 0 && w.clocked && w.zone != nil
	switch {
	case at.IsZero() && !whole:
		return moment{}, false
	case w.origin == Relative:
		return moment{at.Add(w.distance), Relative, false}, w.distance >= 0 && w.distance <= maxDelay
	}
	loc := w.zone
	if loc == nil {
		loc = at.Location()
	}
	t, ok := w.next(at, loc)
	short := window == "5h" || window == "session"
	if ok && w.zone == nil && short && t.Sub(at) > fiveHours || w.zone == nil && w.stamped && code == "1310" {
		// It cannot be this zone's. GLM's stamps are its provider's, at UTC+8;
		// of any other clock nobody knows whose it is.
		if t, ok = w.next(at, time.FixedZone("", 8*3600)); !w.stamped || short && t.Sub(at) > fiveHours {
			return moment{}, false
		}
	}
	return moment{t, w.origin, whole && w.stamped}, ok
}

// next is the first instant from at on at which a clock in loc shows w.
func (w when) next(at time.Time, loc *time.Location) (time.Time, bool) {
	first := func(y int, mon time.Month, d int) (time.Time, bool) {
		if !w.clocked {
			// A day without a time has begun at its midnight; one that is under
			// way ends at the next.
			t := instants(y, mon, d, 0, 0, 0, loc)[0]
			if ny, nm, nd := at.In(loc).Date(); y == ny && mon == nm && d == nd {
				t = instants(y, mon, d+1, 0, 0, 0, loc)[0]
			}
			return t, t.After(at)
		}
		for _, t := range instants(y, mon, d, w.h, w.m, w.s, loc) {
			if t.Add(slack).After(at) {
				return t, true
			}
		}
		return time.Time{}, false
	}
	if w.day != 0 && w.year != 0 {
		if !w.clocked {
			return instants(w.year, w.month, w.day, 0, 0, 0, loc)[0], true
		}
		if t, ok := first(w.year, w.month, w.day); ok {
			return t, true
		}
		return instants(w.year, w.month, w.day, w.h, w.m, w.s, loc)[0], true // it has passed
	}
	y, mon, d := at.In(loc).Date()
	if w.day != 0 {
		for _, year := range []int{y - 1, y, y + 1} {
			if t, ok := first(year, w.month, w.day); ok {
				return t, true
			}
		}
		return time.Time{}, false
	}
	for i := range 9 {
		if w.tomorrow && i == 0 {
			continue
		}
		day := time.Date(y, mon, d+i, 12, 0, 0, 0, time.UTC)
		if w.weekly && day.Weekday() != w.weekday {
			continue
		}
		if t, ok := first(day.Year(), day.Month(), day.Day()); ok {
			return t, true
		}
	}
	return time.Time{}, false
}

// dated reports whether a date stands in words.
func dated(words string) bool {
	for _, w := range spoken(words) {
		if w.day != 0 {
			return true
		}
	}
	return false
}
