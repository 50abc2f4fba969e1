// Package notice reads the short text with which a vendor ends a failed call.
// It is the second witness, after typed fields, and is only ever given a failed
// call's own words (P7).
package notice

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/paceline/paceline"
)

var (
	clock  = regexp.MustCompile(`(?i)try again at (?:([A-Z][a-z]{2}) (\d{1,2})(?:st|nd|rd|th)?, (\d{4}),? )?(\d{1,2}):(\d{2}) ?(AM|PM)`)
	delay  = regexp.MustCompile(`(?i)try again in ((?:\d+ (?:day|hour|minute|second)s?[ ,]*(?:and )?)+)`)
	amount = regexp.MustCompile(`(?i)(\d+) (day|hour|minute|second)`)
)

// ResetAt reads when a limit lifts from "try again at …" and "try again in …".
// at is when the notice was read; its zone is the one that the notice was
// written in. A time of day that has passed is tomorrow's. The result is
// derived, or zero where no time is named.
func ResetAt(text string, at time.Time) paceline.Reset {
	if m := clock.FindStringSubmatch(text); m != nil {
		return fromClock(m, at)
	}
	if m := delay.FindStringSubmatch(text); m != nil {
		return fromDelay(m[1], at)
	}
	return paceline.Reset{}
}

func fromClock(m []string, at time.Time) paceline.Reset {
	hour, _ := strconv.Atoi(m[4])
	minute, _ := strconv.Atoi(m[5])
	if hour < 1 || hour > 12 || minute > 59 {
		return paceline.Reset{}
	}
	hour %= 12
	if strings.EqualFold(m[6], "PM") {
		hour += 12
	}
	y, mon, d := at.Date()
	if m[1] != "" {
		named, err := time.Parse("Jan 2 2006", strings.Join(m[1:4], " "))
		if err != nil {
			return paceline.Reset{}
		}
		y, mon, d = named.Date()
	}
	t := time.Date(y, mon, d, hour, minute, 0, 0, at.Location())
	// The vendor rounds down to the minute, so this very minute is still today's.
	if m[1] == "" && !t.Add(time.Minute).After(at) {
		t = time.Date(y, mon, d+1, hour, minute, 0, 0, at.Location())
	}
	return paceline.Reset{At: t, Source: paceline.ResetDerived}
}

func fromDelay(text string, at time.Time) paceline.Reset {
	var sum time.Duration
	for _, m := range amount.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 10_000 {
			return paceline.Reset{}
		}
		unit := map[string]time.Duration{"day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute, "second": time.Second}
		sum += time.Duration(n) * unit[strings.ToLower(m[2])]
	}
	return paceline.Reset{At: at.Add(sum), Source: paceline.ResetDerived}
}
