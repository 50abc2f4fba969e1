package notice

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// when is a time as a notice words it, not yet one of any day.
type when struct {
	origin   Origin
	distance time.Duration // Relative
	instant  time.Time     // complete by itself

	year     int // 0: the next one
	month    time.Month
	day      int          // 0: no date is named
	weekday  time.Weekday // where weekly
	weekly   bool
	tomorrow bool
	clocked  bool
	h, m, s  int
	zone     *time.Location // nil: none is named
	stamped  bool           // as machines write it
}

var (
	// anchors stand before the time at which a notice says that it is over.
	anchors = regexp.MustCompile(`(?i)\b(?:resets?(?:ting)?|refresh(?:es)?|renews?|restablece|lifts?|unlocks?|again|retry[ -]after|retry|try|wait|resume[ \w]{0,24}|regain access|available|until|continuing automatically|ends?|expires?|back)(?:[ :~]+(?:please|again|again later|it|for|will|is|be))*[ :~]+(?:(?:at|on|in|after|by|el|en|a las|about|around|approximately|roughly|the|your|as of)[ :~]+)*`)
	// own is a program's own pause before a retry: it says nothing of the limit,
	// unless it is long enough to be one.
	own = regexp.MustCompile(`(?i)\bretrying (?:in|after) ~?`)
)

// longest is the pause after which a retry is no longer a program's own idea.
const longest = 10 * time.Minute

// spoken finds the times that a notice tells, in its order.
func spoken(said string) (found []when) {
	for _, at := range anchors.FindAllStringIndex(said, 64) {
		// "retrying in" ends as "retry in" does.
		if w, ok := expression(said[at[1]:]); ok {
			found = append(found, w)
		} else if strings.HasPrefix(strings.ToLower(said[at[0]:]), "retry") {
			if n, ok := bare(said[at[1]:]); ok {
				found = append(found, when{origin: Relative, distance: n})
			}
		}
	}
	for _, at := range own.FindAllStringIndex(said, 8) {
		if w, ok := expression(said[at[1]:]); ok && w.origin == Relative && w.distance > longest && len(found) == 0 {
			found = append(found, w)
		}
	}
	return found
}

var bareNumber = regexp.MustCompile(`^(\d{1,12})(?:[^\d\w:.]|$)`)

// bare is a Retry-After that is quoted: seconds.
func bare(s string) (time.Duration, bool) {
	m := bareNumber.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	return time.Duration(min(atoi(m[1]), 1e9)) * time.Second, true
}

const (
	months   = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|ene|abr|ago|dic)[a-z]*\.?`
	weekdays = `(sun|mon|tue|wed|thu|fri|sat)(?:day|s|sday|nesday|rs|rsday|urday)?`
)

var (
	httpDate = regexp.MustCompile(`(?i)^[a-z]{3}, (\d{2}) ` + months + ` (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT`)
	isoDate  = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)(?:(?:[Tt ]|,? at )(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?([Zz]\b)?`)
	monthDay = regexp.MustCompile(`(?i)^(?:` + weekdays + `,? )?` + months + ` (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?`)
	dayMonth = regexp.MustCompile(`(?i)^(\d{1,2})(?:st|nd|rd|th)? (?:de |of )?` + months + `(?:,? (?:de )?(\d{4}))?`)
	slashes  = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})/(\d{4})`)
	onDay    = regexp.MustCompile(`(?i)^(?:next |this )?` + weekdays + `\b`)
	relDay   = regexp.MustCompile(`(?i)^(tomorrow|today|tonight)\b`)
	joint    = regexp.MustCompile(`(?i)^(?:[, ]|at\b|·|a las\b)*`)
	twelve   = regexp.MustCompile(`(?i)^(\d{1,2})(?::(\d{2}))?(?::(\d{2}))? ?([ap])\.?(?: ?m\b\.?)`)
	twenty4  = regexp.MustCompile(`^(\d{1,2}):(\d{2})(?::(\d{2}))?(?:[^\d:]|$)`)
	byName   = regexp.MustCompile(`(?i)^(midnight|noon)\b`)
)

// expression reads the time at the head of s.
func expression(s string) (w when, ok bool) {
	s = s[:min(len(s), 200)]
	rest := ""
	switch {
	case httpDate.MatchString(s):
		m := httpDate.FindStringSubmatch(s)
		t, err := time.Parse("2 Jan 2006 15:04:05", m[1]+" "+title(m[2])+" "+strings.Join(m[3:4], "")+" "+strings.Join(m[4:], ":"))
		return when{origin: Date, instant: t, zone: time.UTC, day: t.Day()}, err == nil
	case isoDate.MatchString(s):
		m := isoDate.FindStringSubmatch(s)
		w = when{origin: Date, year: int(atoi(m[1])), month: time.Month(atoi(m[2])), day: int(atoi(m[3])), stamped: true}
		w.h, w.m, w.s, w.clocked = int(atoi(m[4])), int(atoi(m[5])), int(atoi(m[6])), m[4] != ""
		if rest = s[len(m[0]):]; m[7] != "" {
			w.zone = time.UTC
		}
	case monthDay.MatchString(s):
		m := monthDay.FindStringSubmatch(s)
		w = when{origin: Date, month: monthOf(m[2]), day: int(atoi(m[3])), year: int(atoi(m[4]))}
		rest = s[len(m[0]):]
	case dayMonth.MatchString(s):
		m := dayMonth.FindStringSubmatch(s)
		w = when{origin: Date, month: monthOf(m[2]), day: int(atoi(m[1])), year: int(atoi(m[3]))}
		rest = s[len(m[0]):]
	case slashes.MatchString(s):
		m := slashes.FindStringSubmatch(s)
		a, b := int(atoi(m[1])), int(atoi(m[2]))
		if a > 12 {
			a, b = b, a
		}
		w = when{origin: Date, month: time.Month(a), day: b, year: int(atoi(m[3]))}
		rest = s[len(m[0]):]
	case onDay.MatchString(s):
		m := onDay.FindStringSubmatch(s)
		w = when{origin: Date, weekly: true, weekday: weekdayOf(m[1])}
		rest = s[len(m[0]):]
	case relDay.MatchString(s):
		m := relDay.FindStringSubmatch(s)
		w = when{origin: Clock, tomorrow: strings.EqualFold(m[1], "tomorrow")}
		rest = s[len(m[0]):]
	default:
		if d, ok := distance(s); ok {
			return when{origin: Relative, distance: d}, true
		}
		w, rest = when{origin: Clock}, s
	}
	if !w.clocked {
		at := joint.FindString(rest)
		if after, found := w.clock(rest[len(at):]); found {
			rest = after
		} else if w.origin == Clock && !w.tomorrow {
			return when{}, false
		}
	}
	if w.zone == nil {
		w.zone = zone(rest)
	}
	return w, w.sound()
}

// clock reads a time of day at the head of s, and gives what follows it.
func (w *when) clock(s string) (rest string, ok bool) {
	if m := twelve.FindStringSubmatch(s); m != nil {
		w.h, w.m, w.s = int(atoi(m[1])), int(atoi(m[2])), int(atoi(m[3]))
		if w.h < 1 || w.h > 12 {
			return s, false
		}
		if w.h %= 12; strings.EqualFold(m[4], "p") {
			w.h += 12
		}
		w.clocked = true
		return s[len(m[0]):], true
	}
	if m := twenty4.FindStringSubmatch(s); m != nil {
		w.h, w.m, w.s, w.clocked = int(atoi(m[1])), int(atoi(m[2])), int(atoi(m[3])), true
		return strings.TrimPrefix(s[strings.LastIndexByte(m[0], ':')+3:], ""), true
	}
	if m := byName.FindStringSubmatch(s); m != nil {
		if w.clocked = true; strings.EqualFold(m[1], "noon") {
			w.h = 12
		}
		return s[len(m[0]):], true
	}
	if zoned := regexp.MustCompile(`(?i)^utc (midnight|noon)\b`).FindStringSubmatch(s); zoned != nil {
		w.clocked, w.zone = true, time.UTC
		if strings.EqualFold(zoned[1], "noon") {
			w.h = 12
		}
		return s[len(zoned[0]):], true
	}
	return s, false
}

// sound reports whether there is such a time at all.
func (w when) sound() bool {
	if w.h > 23 || w.m > 59 || w.s > 59 {
		return false
	}
	if w.day == 0 {
		return w.origin != Date || w.weekly
	}
	if w.month < 1 || w.month > 12 || w.day < 1 {
		return false
	}
	leap := w.year
	if leap == 0 {
		leap = 2024
	}
	return time.Date(leap, w.month, w.day, 0, 0, 0, 0, time.UTC).Day() == w.day
}

var units = []struct {
	words []string
	is    time.Duration
}{
	{[]string{"milliseconds", "millisecond", "msecs", "msec", "ms"}, time.Millisecond},
	{[]string{"months", "month", "mo"}, 30 * 24 * time.Hour},
	{[]string{"minutes", "minute", "mins", "min", "m"}, time.Minute},
	{[]string{"seconds", "second", "secs", "sec", "s"}, time.Second},
	{[]string{"hours", "hour", "hrs", "hr", "h"}, time.Hour},
	{[]string{"days", "day", "d"}, 24 * time.Hour},
	{[]string{"weeks", "week", "wks", "wk", "w"}, 7 * 24 * time.Hour},
}

var (
	amount  = regexp.MustCompile(`^~?(\d{1,9}(?:[.,]\d{1,12})?|an?|one|two|three) ?([a-zA-Z]+)`)
	between = regexp.MustCompile(`^(?:[, ]*(?:and )?)`)
	words1  = map[string]float64{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}
)

// distance reads a duration in any spelling: "2 hours and 5 minutes",
// "143h32m18s", "20ms", "~2 weeks", "an hour". "in a minute" is a phrase.
func distance(s string) (sum time.Duration, ok bool) {
	for len(s) > 0 {
		m := amount.FindStringSubmatch(s)
		if m == nil {
			break
		}
		unit, word := unitOf(m[2])
		if unit == 0 || len(word) < len(m[2]) && !digit(m[2][len(word):]) && !digit(s[len(m[0]):]) {
			break
		}
		n, spelt := words1[strings.ToLower(m[1])]
		if spelt && unit < time.Hour && n == 1 {
			break
		}
		if !spelt {
			n, _ = strconv.ParseFloat(strings.Replace(m[1], ",", ".", 1), 64)
		}
		d := n * float64(unit)
		if d > float64(far) {
			d = float64(far)
		}
		sum, ok = min(far, sum+time.Duration(d)), true
		s = s[len(m[0])-len(m[2])+len(word):]
		next := s[len(between.FindString(s)):]
		if !digit(next) {
			break
		}
		s = next
	}
	return sum, ok
}

// far is as long as a distance gets: what is longer is as far away.
const far = 1e9 * time.Second

func digit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// unitOf finds the unit that is the whole of word.
func unitOf(word string) (time.Duration, string) {
	low := strings.ToLower(word)
	for _, u := range units {
		for _, name := range u.words {
			if low == name {
				return u.is, word
			}
		}
	}
	return 0, ""
}

var (
	monthNames = map[string]time.Month{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12, "ene": 1, "abr": 4, "ago": 8, "dic": 12}
	dayNames   = map[string]time.Weekday{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
)

func monthOf(s string) time.Month     { return monthNames[strings.ToLower(s)] }
func weekdayOf(s string) time.Weekday { return dayNames[strings.ToLower(s)] }
func title(s string) string           { return strings.ToUpper(s[:1]) + strings.ToLower(s[1:]) }
