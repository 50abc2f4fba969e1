package notice

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a container without zones must read "3pm (Asia/Tokyo)" all the same
)

// abbreviations are the zones that notices name by letters. Of those that two
// countries share, the one whose people are told so by their vendor.
var abbreviations = map[string]string{
	"UTC": "UTC", "GMT": "UTC", "Z": "UTC",
	"ET": "America/New_York", "EST": "America/New_York", "EDT": "America/New_York",
	"CT": "America/Chicago", "CST": "America/Chicago", "CDT": "America/Chicago",
	"MT": "America/Denver", "MST": "America/Denver", "MDT": "America/Denver",
	"PT": "America/Los_Angeles", "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles",
	"BST": "Europe/London", "CET": "Europe/Berlin", "CEST": "Europe/Berlin", "EET": "Europe/Helsinki", "EEST": "Europe/Helsinki",
	"IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "SGT": "Asia/Singapore", "HKT": "Asia/Hong_Kong",
	"AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "NZST": "Pacific/Auckland", "NZDT": "Pacific/Auckland",
}

var (
	zoneName   = regexp.MustCompile(`^[\s,]*\(?([A-Z][A-Za-z]+(?:/[A-Za-z0-9_+-]+)+)\)?`)
	zoneOffset = regexp.MustCompile(`^[\s,]*\(?(?:UTC|GMT)? ?([+-])(\d{1,2}):?(\d{2})?\)?(?: [A-Z]{2,5}\b)?`)
	zoneLetter = regexp.MustCompile(`^[\s,]*\(?([A-Z]{1,4})\b\)?(?: time)?`)
)

// zone reads the zone that stands at the head of s: nil where none does. An
// Etc/GMT name has its sign the other way round, which its file knows; the
// sign of "GMT-3" is as it reads.
func zone(s string) *time.Location {
	if m := zoneName.FindStringSubmatch(s); m != nil {
		if l, err := time.LoadLocation(m[1]); err == nil {
			return l
		}
		return nil
	}
	if m := zoneOffset.FindStringSubmatch(s); m != nil {
		h, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		if h > 14 || minutes > 59 {
			return nil
		}
		sec := h*3600 + minutes*60
		if m[1] == "-" {
			sec = -sec
		}
		return time.FixedZone("", sec)
	}
	if m := zoneLetter.FindStringSubmatch(s); m != nil {
		if name, ok := abbreviations[strings.ToUpper(m[1])]; ok {
			if l, err := time.LoadLocation(name); err == nil {
				return l
			}
		}
	}
	return nil
}

// instants are all the moments at which a clock in loc shows this time: two in
// the hour that is shown twice, and in the hour that is skipped the moment that
// it would have been had the clock not moved.
func instants(y int, mon time.Month, d, h, m, s int, loc *time.Location) []time.Time {
	as := time.Date(y, mon, d, h, m, s, 0, time.UTC)
	var found []time.Time
	var before int
	for i, near := range []time.Time{as.Add(-26 * time.Hour), as.Add(26 * time.Hour)} {
		_, offset := near.In(loc).Zone()
		if i == 0 {
			before = offset
		}
		t := as.Add(-time.Duration(offset) * time.Second)
		if _, got := t.In(loc).Zone(); got == offset && (len(found) == 0 || !found[0].Equal(t)) {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return []time.Time{as.Add(-time.Duration(before) * time.Second)}
	}
	if len(found) == 2 && found[1].Before(found[0]) {
		found[0], found[1] = found[1], found[0]
	}
	return found
}
