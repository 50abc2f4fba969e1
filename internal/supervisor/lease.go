package supervisor

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/guard"
)

// leasing is how often a thread looks whether a tree has become free.
const leasing = 200 * time.Millisecond

// lease waits until no other thread's run writes to this one's tree, and keeps it
// for this thread (P4). One that only reads needs none. It never expires by time:
// its holder lets it go when nothing that it started lives, and what a killed
// server's run left alive is seen by the lock of its guard.
func (o *owner) lease(ctx context.Context, id paceline.RunID) error {
	if o.tree != nil || o.policy.Mode == paceline.ModeRead {
		return nil
	}
	name := fmt.Sprintf("%x.tree", sha256.Sum256([]byte(o.thread.Tree)))[:32+len(".tree")]
	for told := false; ; told = true {
		f, err := o.take(name)
		var who paceline.ThreadID
		if err == nil {
			if who, err = o.writing(ctx); err == nil && who == "" {
				o.tree = f
				return nil
			}
			f.Close()
		}
		if err != nil && !errors.Is(err, ErrBusy) {
			return err
		}
		if !told {
			o.announce(ctx, id, "Waiting: another thread's run writes in this tree.")
		}
		if o.Draining() {
			return ErrDraining
		}
		select {
		case <-time.After(leasing):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// writing names another thread of whose run something lives in this tree, though
// no server of ours works on it: its server was killed, and its guard ends it.
func (o *owner) writing(ctx context.Context) (paceline.ThreadID, error) {
	open, err := o.Store.Orphans(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range open {
		if r.Thread == o.thread.ID || !r.Live() {
			continue
		}
		th, err := o.Store.Thread(ctx, r.Thread)
		if err != nil || th.Tree != o.thread.Tree || th.Mode == paceline.ModeRead {
			continue
		}
		if held, err := guard.Held(o.lock(r.ID)); err != nil || held {
			return r.Thread, err
		}
	}
	return "", nil
}

// release gives the tree back, once nothing of this thread's runs lives.
func (o *owner) release(ctx context.Context) {
	if o.tree == nil || o.settled(context.WithoutCancel(ctx)) != nil {
		return // what does not die keeps it, until this process ends
	}
	o.tree.Close()
	o.tree = nil
}
