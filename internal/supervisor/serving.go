package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/logkey"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// serving is the threads that are being worked on, one goroutine each.
type serving struct {
	mu       sync.Mutex
	threads  map[paceline.ThreadID]*service
	trouble  map[paceline.ThreadID]error // why a thread's last service gave up
	quiet    chan struct{}               // closed, and made anew, when the last one is no more
	draining bool                        // no new run is started
	left     bool                        // no thread is served any more
}

type service struct {
	cancel context.CancelCauseFunc
	again  bool // something came in while it was looking for the last time
	done   chan struct{}
}

// Why a thread's context ended.
var (
	errStopped = errors.New("its user stopped it")
	errLeaving = errors.New("the server leaves")
)

// ErrDraining is a run that waits for the next server.
var ErrDraining = errors.New("the server is being drained")

// stopped reports whether it was the user who ended ctx.
func stopped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errStopped) }

// leaving reports whether this server ends and the work does not: the next one
// carries it on.
func leaving(ctx context.Context) bool { return ctx.Err() != nil && !stopped(ctx) }

// Wake has a thread served until nothing in it is open.
func (s *Supervisor) Wake(id paceline.ThreadID) {
	s.serving.mu.Lock()
	defer s.serving.mu.Unlock()
	if s.serving.left {
		return
	}
	delete(s.serving.trouble, id)
	if v := s.serving.threads[id]; v != nil {
		v.again = true
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	v := &service{cancel: cancel, done: make(chan struct{})}
	s.serving.threads[id] = v
	go s.serve(ctx, id, v)
}

// jobTime is how long a thread may be in the hands of a job: that is how long one
// may take.
const jobTime = 30 * time.Second

func (s *Supervisor) serve(ctx context.Context, id paceline.ThreadID, v *service) {
	defer close(v.done)
	for busy := time.Now().Add(jobTime); ; {
		err := s.Serve(ctx, id)
		if errors.Is(err, ErrBusy) && time.Now().Before(busy) {
			select { // a job of ours is dispatching its claim just now
			case <-time.After(20 * time.Millisecond):
				continue
			case <-ctx.Done():
			}
		}
		s.serving.mu.Lock()
		if err == nil && v.again && ctx.Err() == nil {
			v.again = false
			s.serving.mu.Unlock()
			continue
		}
		delete(s.serving.threads, id)
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrDraining) {
			s.serving.trouble[id] = err
		}
		var parked *Refusal
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrDraining) && !errors.As(err, &parked) {
			s.Log.LogAttrs(ctx, slog.LevelError, "cannot serve", slog.String(logkey.Thread, string(id)), slog.Any(logkey.Error, err))
		}
		if len(s.serving.threads) == 0 {
			close(s.serving.quiet)
			s.serving.quiet = make(chan struct{})
		}
		s.serving.mu.Unlock()
		v.cancel(nil)
		return
	}
}

// Serving reports whether a thread is being worked on, and where it is not, why
// its last service gave up.
func (s *Supervisor) Serving(id paceline.ThreadID) (bool, error) {
	s.serving.mu.Lock()
	defer s.serving.mu.Unlock()
	return s.serving.threads[id] != nil, s.serving.trouble[id]
}

// Busy counts the threads that are being worked on; quiet is closed when the
// last of them is no more.
func (s *Supervisor) Busy() (n int, quiet <-chan struct{}) {
	s.serving.mu.Lock()
	defer s.serving.mu.Unlock()
	return len(s.serving.threads), s.serving.quiet
}

// CarryOn takes up every thread in which something is open.
func (s *Supervisor) CarryOn(ctx context.Context) ([]paceline.ThreadID, error) {
	if err := s.sweep(ctx); err != nil {
		return nil, err
	}
	ids, err := s.Store.Unsettled(ctx)
	if err == nil {
		var teams []paceline.ThreadID
		teams, err = s.Store.OpenTeams(ctx)
		for _, id := range teams {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		s.Wake(id)
	}
	return ids, err
}

// Drain starts no run any more. Those that run are carried to their ends, and
// what is open after that waits on disk for the next server.
func (s *Supervisor) Drain() {
	s.serving.mu.Lock()
	defer s.serving.mu.Unlock()
	s.serving.draining = true
}

// Draining reports whether Drain was called.
func (s *Supervisor) Draining() bool {
	s.serving.mu.Lock()
	defer s.serving.mu.Unlock()
	return s.serving.draining
}

// Stop ends what runs in a thread and everything that waits behind it, and
// returns when nothing of it lives any more.
func (s *Supervisor) Stop(ctx context.Context, id paceline.ThreadID) error {
	for {
		s.serving.mu.Lock()
		v := s.serving.threads[id]
		s.serving.mu.Unlock()
		if v != nil {
			v.cancel(errStopped)
			select {
			case <-v.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		// Whatever was not being worked on is stopped as well.
		o, free, err := s.owner(ctx, id)
		if errors.Is(err, ErrBusy) {
			select { // somebody else just stops it, or it was woken again
			case <-time.After(10 * time.Millisecond):
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err != nil {
			return err
		}
		defer free()
		return o.halt(ctx)
	}
}

// Leave ends every service. What is open stays open: its children are ended,
// and the next server carries on from what is on disk.
func (s *Supervisor) Leave() {
	s.Store.GiveUp()
	s.serving.mu.Lock()
	s.serving.left = true
	all := s.serving.threads
	for _, v := range all {
		v.cancel(errLeaving)
	}
	s.serving.mu.Unlock()
	for _, v := range all {
		<-v.done
	}
}

// halt stops whatever is open in the thread. No child of it lives.
func (o *owner) halt(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	for {
		r, m, err := o.open(ctx)
		if err != nil || m == nil {
			return err
		}
		if r != nil {
			if r.Live() {
				if err := o.gone(ctx, *r); err != nil {
					return err
				}
			}
			if _, _, err := o.decide(ctx, r.ID, run.StopAsked{By: "its user"}, facts{stop: true}); err != nil {
				return err
			}
			if now, err := o.Store.Message(ctx, m.ID); err != nil || now.Status != run.Unsettled {
				if err != nil {
					return err
				}
				continue
			}
		}
		end := run.Settle{Status: run.Halted, Text: "stopped before it was begun"}
		err = o.journal.commit(ctx, o.thread.ID, func(tx *store.Tx) ([]Event, error) {
			return []Event{o.finished("", m.ID, end)}, tx.SettleMessage(ctx, m.ID, end)
		})
		if err != nil {
			return err
		}
	}
}
