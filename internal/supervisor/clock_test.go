package supervisor

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestClocks steps the clock on the wall and the one that stands still in a
// suspend apart. Inside of the bubble the latter is the bubble's own.
func TestClocks(t *testing.T) {
	for _, tt := range []struct {
		name string
		// after so long awake the clock on the wall steps by that much
		after, step time.Duration
		until       time.Duration // from the beginning, on the wall
		wakes       time.Duration // on the wall
		awake       time.Duration // has passed on the other one
	}{
		{"A20 bug-65 nothing happens: it wakes in time", 0, 0, 2 * time.Hour, 2 * time.Hour, 2 * time.Hour},
		{"A20 bug-65 suspended over the time: it acts at once when the machine wakes", time.Hour, 3 * time.Hour, 2 * time.Hour, 4 * time.Hour, time.Hour},
		{"A20 bug-65 suspended, and awake before the time: it waits for the rest", time.Hour, 30 * time.Minute, 2 * time.Hour, 2 * time.Hour, 90 * time.Minute},
		{"A20 bug-65 the wall was set back by an hour: the time is what it says", time.Hour, -time.Hour, 2 * time.Hour, 2 * time.Hour, 3 * time.Hour},
		{"P8 a time that has passed is not slept for", 0, 0, -time.Minute, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now().Round(0)
				var off atomic.Int64
				o := &owner{Supervisor: &Supervisor{Options: Options{Wall: func() time.Time {
					return time.Now().Round(0).Add(time.Duration(off.Load()))
				}}}}
				time.AfterFunc(tt.after, func() { off.Store(int64(tt.step)) })
				looks := 0
				if err := o.sleep(t.Context(), begun.Add(tt.until), func() bool { looks++; return false }); err != nil {
					t.Fatal(err)
				}
				wall, awake := o.wall().Sub(begun), time.Now().Round(0).Sub(begun)
				if d := wall - tt.wakes; d < 0 || d > slice {
					t.Errorf("it woke %s after the beginning on the wall, want %s", wall, tt.wakes)
				}
				if d := awake - tt.awake; d < -slice || d > slice {
					t.Errorf("it was awake for %s, want %s", awake, tt.awake)
				}
				if most := int(tt.awake / looked); looks > most {
					t.Errorf("it looked %d times, want %d at most", looks, most)
				}
			})
		})
	}
}
