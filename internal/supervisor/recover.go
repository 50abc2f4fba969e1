package supervisor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/guard"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/run"
)

// recover settles a run whose process died under it. Its child is gone first:
// the guard ends it when our pipe closes, and what escaped a guard that was
// itself killed is found by its marker. Only then is the engine's own
// transcript read.
func (o *owner) recover(ctx context.Context, r run.State, m paceline.Message) error {
	if err := o.gone(ctx, r); err != nil {
		return err
	}
	lost := run.Lost{}
	if r.Phase != run.Starting {
		a := o.policy.Accounts[r.Engine.Account]
		h, ok := harness.Named(a.Harness)
		if !ok {
			return fmt.Errorf("%s ran on %s, which this build does not drive", r.ID, a.Harness)
		}
		// What was sent is what its transcript holds.
		m, err := o.prompt(ctx, r, m)
		if err != nil {
			return err
		}
		lost.Delivered, lost.Ending, err = h.Recover(harness.Launch{Account: a, Env: o.Env}, r.Conversation, m, time.Now())
		if err != nil {
			// Unreadable is not absent: nothing may be sent again on it.
			lost.Delivered = true
			lost.Ending.Failure = paceline.Failure{Cause: paceline.CauseCrash, Work: paceline.WorkUnknown, Notice: err.Error()}
		}
	}
	seen, err := o.around(ctx)
	if err != nil {
		return err
	}
	silent, err := o.silent(ctx, r.ID)
	if err != nil {
		return err
	}
	seen.silent = abouts(silent)
	o.announce(ctx, r.ID, fmt.Sprintf("Carrying on after a crash: %s on %s was %s.", r.ID, r.Engine, r.Phase))
	_, _, err = o.decide(ctx, r.ID, lost, seen)
	return err
}

// alone waits until nothing of the run before this one lives (P4). Where another
// server ran it, a guard may still be ending what that server left.
func (o *owner) alone(ctx context.Context, r run.State) error {
	if o.dying != nil {
		return o.settled(ctx)
	}
	runs, err := o.Store.Runs(ctx, o.thread.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(runs, func(b run.State) bool { return b.ID == r.ID })
	if i <= 0 {
		return nil
	}
	held, err := guard.Held(o.lock(runs[i-1].ID))
	if err != nil || !held && r.After == "" {
		return err
	}
	return o.gone(ctx, runs[i-1])
}

// dyingFor is how long a guard may take to end its child after its server died.
const dyingFor = 90 * time.Second

// gone waits until nothing of the run lives: no guard holds its lock, and no
// process carries its marker.
func (o *owner) gone(ctx context.Context, r run.State) error {
	deadline := time.Now().Add(dyingFor)
	for {
		held, err := guard.Held(o.lock(r.ID))
		if err != nil {
			return err
		}
		if !held {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes of %s are still alive; nothing is sent again before they are gone", r.ID)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	_, err := guard.Sweep(string(r.ID))
	return err
}
