package supervisor

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/wire"
)

// TestSilentRunsCostNothing watches a thousand programs that say nothing. They
// are watched until the test's process ends: a silent run wakes nobody.
func TestSilentRunsCostNothing(t *testing.T) {
	o := newOwner(t)
	codex, _ := harness.Named("codex")
	const span = time.Second
	idle := spent(t, span)
	for i := range 1000 {
		d := &drive{owner: &owner{Supervisor: o.Supervisor, thread: o.thread, policy: o.policy}, harness: codex, turn: &harness.Turn{Events: make(chan wire.Event)}, id: paceline.RunID(fmt.Sprint("r-", i))}
		go func() { _ = d.follow(context.Background()) }()
	}
	var most time.Duration
	for range 10 { // another test's remains may be at work: the best of several counts
		if most = spent(t, span) - idle; most < span/100 {
			return
		}
	}
	t.Errorf("1,000 silent runs took %s of processor in %s, want less than 1 %%", most, span)
}

// spent is how much of the processor this process takes in so long.
func spent(t *testing.T, span time.Duration) time.Duration {
	t.Helper()
	now := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := now()
	time.Sleep(span)
	return now() - before
}
