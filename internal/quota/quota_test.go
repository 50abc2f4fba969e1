package quota

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 7, 12, 0, 0, 0, time.UTC)

func TestReading(t *testing.T) {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	fiveHours := Window{Name: "primary", Length: 5 * time.Hour}
	for _, c := range []struct {
		name         string
		r            Reading
		left         float64
		known, stale bool
	}{
		{"Z11 headroom is what the use leaves", Reading{Window: fiveHours, Used: 42.5, Observed: ago(time.Minute)}, 57.5, true, false},
		{"Z11 a reached limit leaves nothing, whatever the use says", Reading{Used: 60, Reached: true, Observed: noon}, 0, true, false},
		{"Z11 use beyond the window is clamped", Reading{Used: 130, Observed: noon}, 0, true, false},
		{"Z11 a use below nothing is clamped", Reading{Used: -3, Observed: noon}, 100, true, false},
		{"Z11 900 s old is fresh", Reading{Used: 10, Observed: ago(900 * time.Second)}, 90, true, false},
		{"Z11 older than 900 s is stale, and still known", Reading{Used: 10, Observed: ago(901 * time.Second)}, 90, true, true},
		{"Z11 a window that has reset tells nothing of the next one", Reading{Used: 99, Observed: ago(time.Minute), Resets: noon}, 0, false, false},
		{"Z11 a limit that was reached is over after its reset", Reading{Used: 100, Reached: true, Observed: ago(time.Hour), Resets: ago(time.Minute)}, 0, false, true},
		{"Z11 before its reset a window stands", Reading{Used: 99, Observed: noon, Resets: noon.Add(time.Second)}, 1, true, false},
		{"Z11 a reading without its own time is none", Reading{Used: 10}, 0, false, true},
		{"Z11 a clock that was set back makes nothing stale", Reading{Used: 10, Observed: noon.Add(time.Hour)}, 90, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			left, known := c.r.Headroom(noon)
			if left != c.left || known != c.known || c.r.Stale(noon) != c.stale {
				t.Errorf("left %v, known %t, stale %t; want %v, %t, %t", left, known, c.r.Stale(noon), c.left, c.known, c.stale)
			}
		})
	}
}

func TestDegraded(t *testing.T) {
	at := func(name string, ago time.Duration) Reading {
		return Reading{Window: Window{Name: name}, Observed: noon.Add(-ago)}
	}
	for _, c := range []struct {
		name string
		s    Snapshot
		want string
	}{
		{"Z23 fresh readings are the present", Snapshot{Readings: []Reading{at("primary", 0), at("secondary", time.Minute)}}, ""},
		{"Z23 one stale window degrades the whole", Snapshot{Readings: []Reading{at("primary", 0), at("secondary", time.Hour)}}, "the reading of secondary is stale"},
		{"Z23 readings that were all dropped degrade it", Snapshot{Dropped: 2}, "every reading was dropped"},
		{"Z23 no reading at all is not known, and not degraded", Snapshot{}, ""},
		{"Z23 times that lie apart degrade it", Snapshot{Readings: []Reading{at("primary", -10*time.Minute), at("secondary", 10*time.Minute)}}, "the readings are from different times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.s.Degraded(noon); got != c.want {
				t.Errorf("degraded: %q, want %q", got, c.want)
			}
		})
	}
}

func TestTightest(t *testing.T) {
	r := func(name string, used float64, ago time.Duration) Reading {
		return Reading{Window: Window{Name: name}, Used: used, Observed: noon.Add(-ago)}
	}
	for _, c := range []struct {
		name string
		rs   []Reading
		want string
	}{
		{"Z18 the window with the least left binds", []Reading{r("a", 20, 0), r("b", 80, 0), r("c", 50, 0)}, "b"},
		{"Z18 a fresh reading goes before a tighter stale one", []Reading{r("a", 90, time.Hour), r("b", 10, 0)}, "b"},
		{"Z18 among stale ones the tightest is better than a guess", []Reading{r("a", 10, time.Hour), r("b", 70, 2*time.Hour)}, "b"},
		{"Z18 what has reset does not bind", []Reading{{Window: Window{Name: "a"}, Used: 99, Observed: noon, Resets: noon}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, found := Snapshot{Readings: c.rs}.Tightest(noon)
			if got.Name != c.want || found != (c.want != "") {
				t.Errorf("%q, %t; want %q", got.Name, found, c.want)
			}
		})
	}
}

func TestNewest(t *testing.T) {
	r := func(name string, used float64, ago time.Duration) Reading {
		return Reading{Window: Window{Name: name}, Used: used, Observed: noon.Add(-ago)}
	}
	got := Newest([]Reading{r("a", 1, time.Hour), r("b", 2, 0), r("a", 3, time.Minute), r("a", 4, 2*time.Hour), r("b", 5, 0)})
	if len(got) != 2 || got[0].Used != 3 || got[1].Used != 5 {
		t.Errorf("Z86 the newest reading of each window: %+v", got)
	}
}

func TestWindowName(t *testing.T) {
	for want, w := range map[string]Window{
		"5h": {Length: 5 * time.Hour}, "7d": {Name: "primary", Length: 10080 * time.Minute},
		"codex_spark 90m": {Limit: "codex_spark", Length: 90 * time.Minute}, "secondary": {Name: "secondary"},
	} {
		if got := w.String(); got != want {
			t.Errorf("%+v reads %q, want %q", w, got, want)
		}
	}
}
