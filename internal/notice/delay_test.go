package notice

import (
	"testing"
	"time"
)

func TestDelay(t *testing.T) {
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	for _, tt := range []struct {
		name, text string
		want       time.Duration
	}{
		{"R5 the vendor's words", "rate limit exceeded: Please try again in 11.054s.", 11054 * time.Millisecond},
		{"R5 in milliseconds", "Please try again in 350ms", 350 * time.Millisecond},
		{"R7 two hours, told in seconds", "Please try again in 7200s", 2 * time.Hour},
		{"R5 a Retry-After in seconds", "last status: 429 Too Many Requests, Retry-After: 17", 17 * time.Second},
		{"R5 a Retry-After as a date counts from the notice", "retry-after: Tue, 01 Dec 2026 11:02:00 GMT", 2 * time.Minute},
		{"R5 a date that has passed puts nothing off", "retry-after: Tue, 01 Dec 2026 10:02:00 GMT", 0},
		{"a date that is none", "retry-after: Tue, 41 Dec 2026 10:02:00 GMT", 0},
		{"R7 more seconds than a duration holds are still far away", "retry-after: 99999999999", 1e9 * time.Second},
		{"nothing is told", "exceeded retry limit, last status: 429 Too Many Requests", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Delay(tt.text, at); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
