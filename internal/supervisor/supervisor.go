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
	"github.com/paceline/paceline/internal/logkey"
	"github.com/paceline/paceline/internal/outbox"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// Options wires a Supervisor. All fields are needed, but Wall.
type Options struct {
	Store   *store.Store
	Dir     string // of locks; 0700
	Self    string // our own binary, for guards
	Version string
	Env     harness.Environment // what children get where their client's is not known any more
	Keys    harness.Environment // the server's own variables, for a metered account's key after a restart
	Log     *slog.Logger
	Wall    func() time.Time // the time on the wall; nil is the machine's
	Box     func(outbox.Performer) (*outbox.Outbox, error)
}

// Supervisor serves threads of one store.
type Supervisor struct {
	Options
	box      *outbox.Outbox
	accounts *accounts
	journal  *journal
	people   people
	clients  clients
	serving  serving
	steers   steers
}

// New returns a Supervisor that serves nothing yet.
func New(o Options) (*Supervisor, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the lock folder: %w", err)
	}
	s := &Supervisor{Options: o}
	s.accounts = newAccounts(o.Store, o.Log)
	s.journal = newJournal(o.Store, o.Log)
	s.people = people{alone: map[paceline.ThreadID]bool{}, asked: map[question]chan bool{}}
	s.steers = steers{to: map[paceline.ThreadID]wheel{}}
	s.clients = clients{known: map[paceline.ThreadID]client{}}
	s.serving = serving{threads: map[paceline.ThreadID]*service{}, trouble: map[paceline.ThreadID]error{}, quiet: make(chan struct{})}
	o.Store.OnAway(func(why error) {
		if why == nil {
			o.Log.Info("the database answers again")
			return
		}
		o.Log.Warn("the database does not answer; runs go on, and what happens is kept until it does", slog.Any(logkey.Error, why))
	})
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

// Accept puts a message on record, and returns the place behind which its
// events stand. The same message id is accepted once.
func (s *Supervisor) Accept(ctx context.Context, th *store.Thread, m paceline.Message) (Offset, error) {
	at, err := s.journal.end(ctx, th.ID)
	if err != nil {
		return at, err
	}
	return at, s.journal.commit(ctx, th.ID, func(tx *store.Tx) ([]Event, error) {
		if m.Opener {
			if _, err := tx.Message(ctx, m.ID); err == nil {
				return nil, nil // its client did not hear that it was accepted, and says it again
			}
			if err := tx.AddThread(ctx, *th); err != nil {
				return nil, err
			}
		} else if err := tx.SetThreadEnv(ctx, th.ID, th.Env); err != nil {
			return nil, err
		}
		_, added, err := tx.AddMessage(ctx, m)
		if err == nil && added {
			err = unpark(ctx, tx, th.ID)
		}
		if err != nil || !added {
			return nil, err
		}
		return []Event{{Event: "accepted", At: time.Now(), Thread: th.ID, Message: m.ID}}, nil
	})
}

// Feed tells clients what follows from no decision.
func (s *Supervisor) Feed(e Event) { s.journal.tell(e) }

// Serve works on a thread until nothing in it is open. Only one process serves
// a thread at a time: ErrBusy says that another one does.
func (s *Supervisor) Serve(ctx context.Context, id paceline.ThreadID) error {
	o, free, err := s.owner(ctx, id)
	if err != nil {
		return err
	}
	defer free()
	err = o.serve(ctx)
	// Whatever was buried must be gone before the thread is anybody's again.
	if e := o.settled(context.WithoutCancel(ctx)); err == nil {
		err = e
	}
	o.release(ctx)
	if stopped(ctx) {
		return o.halt(ctx)
	}
	return err
}

// owner takes a thread's lock and reads what it was begun with.
func (s *Supervisor) owner(ctx context.Context, id paceline.ThreadID) (o *owner, free func(), err error) {
	if free, err = s.own(id); err != nil {
		return nil, nil, err
	}
	o = &owner{Supervisor: s}
	if err = o.read(ctx, id); err != nil {
		free()
		return nil, nil, err
	}
	return o, free, nil
}

// read reads what the thread was begun with.
func (o *owner) read(ctx context.Context, id paceline.ThreadID) (err error) {
	if o.thread, err = o.Store.Thread(ctx, id); err == nil {
		err = o.Store.Mine(o.thread)
	}
	if err == nil {
		err = o.thread.DecodePolicy(&o.policy)
	}
	if err == nil {
		o.lane.team, err = o.teamed(ctx, id)
	}
	o.seat = o.thread.Seat
	o.Env, o.keys = o.clients.of(o.thread, o.Options)
	return err
}

// own takes the thread's lock.
func (s *Supervisor) own(id paceline.ThreadID) (free func(), err error) {
	f, err := s.take(string(id) + ".thread")
	if err != nil {
		return nil, fmt.Errorf("thread %s: %w", id, err)
	}
	return func() { f.Close() }, nil
}

// take takes a lock, for as long as the file stays open: a killed process loses it
// with its life. ErrBusy says that somebody has it.
func (s *Supervisor) take(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrBusy
	}
	return nil, errors.Join(err, f.Close())
}

// Look returns what is known of an account, asking its program where needed.
func (s *Supervisor) Look(ctx context.Context, h harness.Harness, a paceline.Account, env harness.Environment) harness.Probed {
	return s.accounts.look(ctx, h, a, env)
}

// sweep starts the outbox's worker where a killed server left effects to
// perform. Otherwise each is performed by whoever recorded it, and the worker's
// idle looking would be paid for nothing.
func (s *Supervisor) sweep(ctx context.Context) error {
	left, err := s.box.Pending(ctx)
	if err != nil || len(left) == 0 {
		return err
	}
	return s.box.Start(ctx)
}

// Close ends every service, and the outbox's worker if it was needed.
func (s *Supervisor) Close(ctx context.Context) error {
	s.Leave()
	s.journal.close(ctx)
	return s.box.Stop(ctx)
}

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
	m, err := s.Store.Message(ctx, r.Message)
	if err == nil {
		err = o.enter(ctx, m.Message)
	}
	if err != nil {
		return err
	}
	return o.dispatch(ctx, r)
}
