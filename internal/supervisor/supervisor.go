// Package supervisor owns threads. One goroutine a thread observes its child,
// has the frames classified, asks run.Step for the decision, records it in one
// transaction, and then acts (loop.go, one function each).
//
// It is the only caller of Step. What it records is in the store before
// anything follows from it, so a process that is killed between any two lines
// leaves a state from which the next one carries on (recover.go).
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/outbox"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// Options wires a Supervisor. All fields are needed.
type Options struct {
	Store   *store.Store
	Dir     string // of locks; 0700
	Self    string // our own binary, for guards
	Version string
	Env     harness.Environment // what children get
	Log     *slog.Logger
	Feed    func(Event) // told everything that a client would want to know
	// Ask puts an approval to a person; attended is false where there is none.
	Ask func(context.Context, Event) (allow, attended bool)
	Box func(outbox.Performer) (*outbox.Outbox, error)
}

// Supervisor serves threads of one store.
type Supervisor struct {
	Options
	box      *outbox.Outbox
	accounts *accounts
}

// New returns a Supervisor that serves nothing yet.
func New(o Options) (*Supervisor, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the lock folder: %w", err)
	}
	s := &Supervisor{Options: o}
	s.accounts = newAccounts(o.Store, o.Env, o.Log)
	box, err := o.Box(s.perform)
	if err != nil {
		return nil, err
	}
	s.box = box
	return s, nil
}

// ErrBusy is a thread that another process serves.
var ErrBusy = errors.New("served by another process")

// ErrBlocked is a message that no engine can take.
var ErrBlocked = errors.New("no engine can serve")

// Accept puts a message on record. The same message id is accepted once.
func (s *Supervisor) Accept(ctx context.Context, th *store.Thread, m paceline.Message) error {
	err := s.Store.InTx(ctx, func(tx *store.Tx) error {
		if m.Opener {
			if err := tx.AddThread(ctx, *th); err != nil {
				return err
			}
		}
		_, _, err := tx.AddMessage(ctx, m)
		return err
	})
	if err == nil {
		s.Feed(Event{Event: "accepted", At: time.Now(), Thread: th.ID})
	}
	return err
}

// Serve works on a thread until nothing in it is open. Only one process serves
// a thread at a time: ErrBusy says that another one does.
func (s *Supervisor) Serve(ctx context.Context, id paceline.ThreadID) error {
	o, free, err := s.owner(ctx, id)
	if err != nil {
		return err
	}
	defer free()
	return o.serve(ctx)
}

// owner takes a thread's lock and reads what it was begun with.
func (s *Supervisor) owner(ctx context.Context, id paceline.ThreadID) (o *owner, free func(), err error) {
	if free, err = s.own(id); err != nil {
		return nil, nil, err
	}
	o = &owner{Supervisor: s}
	if o.thread, err = s.Store.Thread(ctx, id); err == nil {
		err = o.thread.DecodePolicy(&o.policy)
	}
	if err != nil {
		free()
		return nil, nil, err
	}
	return o, free, nil
}

// own takes the thread's lock. A killed process loses it with its life.
func (s *Supervisor) own(id paceline.ThreadID) (free func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.Dir, string(id)+".thread"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", id, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("thread %s: %w", id, ErrBusy)
		}
		return nil, fmt.Errorf("lock %s: %w", id, err)
	}
	return func() { f.Close() }, nil
}

// Look returns what is known of an account, asking its program where needed.
func (s *Supervisor) Look(ctx context.Context, h harness.Harness, a paceline.Account) harness.Probed {
	return s.accounts.look(ctx, h, a)
}

// Served reports whether some process serves the thread.
func (s *Supervisor) Served(id paceline.ThreadID) bool {
	free, err := s.own(id)
	if err != nil {
		return true
	}
	free()
	return false
}

// Sweep starts the outbox's worker where a killed server left effects to
// perform. Otherwise each is performed by whoever recorded it, and the worker's
// idle looking would be paid for nothing.
func (s *Supervisor) Sweep(ctx context.Context) error {
	left, err := s.box.Pending(ctx)
	if err != nil || len(left) == 0 {
		return err
	}
	return s.box.Start(ctx)
}

// Close ends the outbox's worker, if it was needed.
func (s *Supervisor) Close(ctx context.Context) error { return s.box.Stop(ctx) }

// lock is the file that a run's guard holds while anything of its child lives.
func (s *Supervisor) lock(id paceline.RunID) string {
	return filepath.Join(s.Dir, string(id)+".run")
}

// perform is the outbox's door: the effect of a pending claim is due. A claim
// whose thread this process does not serve is left to its owner, unless it has
// none any more.
func (s *Supervisor) perform(ctx context.Context, id paceline.RunID, _ int) error {
	r, err := s.Store.Run(ctx, id)
	if err != nil {
		return err
	}
	if r.Claim.Phase != run.Pending {
		return nil
	}
	o, free, err := s.owner(ctx, r.Thread)
	if err != nil {
		return err // where it is busy, its owner dispatches it, and the job finds it done next time
	}
	defer free()
	return o.dispatch(ctx, r)
}
