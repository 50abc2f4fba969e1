package notice

import (
	"testing"
	"time"

	"github.com/paceline/paceline"
)

func TestResetAt(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("not run: no zones on this machine")
	}
	at := time.Date(2026, 12, 1, 14, 30, 20, 0, time.UTC)
	for _, tt := range []struct {
		name, text string
		at         time.Time
		want       time.Time // zero: nobody said
	}{
		{"R14 a time of day still to come", "You've hit your usage limit. Try again at 4:05 PM.", at, time.Date(2026, 12, 1, 16, 5, 0, 0, time.UTC)},
		{"R14 one that has passed is tomorrow's", "or try again at 8:28 AM.", at, time.Date(2026, 12, 2, 8, 28, 0, 0, time.UTC)},
		{"R14 this very minute is today's", "try again at 2:30 PM.", at, time.Date(2026, 12, 1, 14, 30, 0, 0, time.UTC)},
		{"R14 noon and midnight", "try again at 12:00 AM.", at, time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)},
		{"R14 with a date", "try again at Dec 4th, 2026 3:29 AM.", at, time.Date(2026, 12, 4, 3, 29, 0, 0, time.UTC)},
		{"R14 a distance", "or try again in 5 days 22 hours 11 minutes.", at, at.Add(142*time.Hour + 11*time.Minute)},
		{"R14 across the end of summer time", "try again at 4:00 AM.", time.Date(2026, 10, 24, 23, 0, 0, 0, berlin), time.Date(2026, 10, 25, 4, 0, 0, 0, berlin)},
		{"P8 no time is no reset", "Try again later.", at, time.Time{}},
		{"P8 nonsense is no reset", "try again at 27:99 PM", at, time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ResetAt(tt.text, tt.at)
			if !got.At.Equal(tt.want) || got.Known() != (got.Source == paceline.ResetDerived) {
				t.Errorf("%v (%s), want %v", got.At, got.Source, tt.want)
			}
		})
	}
}
