package notice

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	soon  = regexp.MustCompile(`(?i)try again in (\d+(?:\.\d+)?) ?(ms|s|m|h)\b`)
	after = regexp.MustCompile(`(?i)retry-after: ?(\d+|[a-z]{3}, \d{2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2} GMT)`)
)

// Delay reads how long a call's retry is put off: from the vendor's words, or
// from a Retry-After that is quoted in them, in seconds or as a date. A date is
// measured from when the notice was read (R5). It is 0 where no time is told,
// or one that has passed.
func Delay(text string, at time.Time) time.Duration {
	if m := soon.FindStringSubmatch(text); m != nil {
		d, err := time.ParseDuration(m[1] + strings.ToLower(m[2]))
		if err != nil {
			return 0 // more than a Duration holds
		}
		return d
	}
	m := after.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	if n, err := strconv.Atoi(m[1]); err == nil {
		return time.Duration(min(n, 1e9)) * time.Second
	}
	then, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", m[1])
	if err != nil {
		return 0
	}
	return max(0, then.Sub(at))
}
