package supervisor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/logkey"
	"github.com/paceline/paceline/internal/store"
)

// steers leads a message to the run that it is to be added to.
type steers struct {
	mu sync.Mutex
	to map[paceline.ThreadID]wheel
}

// wheel is where a run takes steers, while it does.
type wheel struct {
	asked chan steer
	gone  chan struct{}
	over  chan struct{} // its user does not wait for the turn to end
	heard func() time.Time
}

// steer is a message that is to be added to what runs.
type steer struct {
	message paceline.Message
	taken   chan error // nil: it is on record with its run
}

// open lets steers in to the run of a thread, until over is called.
func (s *steers) open(id paceline.ThreadID, heard func() time.Time) (w wheel, over func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w = wheel{make(chan steer), make(chan struct{}), make(chan struct{}, 1), heard}
	s.to[id] = w
	return w, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.to, id)
		close(w.gone)
	}
}

// hurry tells a thread's run that its user moves the seat now.
func (s *steers) hurry(id paceline.ThreadID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.to[id]; ok {
		select {
		case w.over <- struct{}{}:
		default: // it was told
		}
	}
}

// Heard is when each running thread's program last gave a sign of life.
func (s *Supervisor) Heard() map[paceline.ThreadID]time.Time {
	s.steers.mu.Lock()
	defer s.steers.mu.Unlock()
	out := map[paceline.ThreadID]time.Time{}
	for id, w := range s.steers.to {
		if at := w.heard(); !at.IsZero() {
			out[id] = at.UTC()
		}
	}
	return out
}

// ask hands a steer to the run of its thread; false where none takes it.
func (s *steers) ask(ctx context.Context, a steer) bool {
	s.mu.Lock()
	w, ok := s.to[a.message.Thread]
	s.mu.Unlock()
	if !ok {
		return false
	}
	select {
	case w.asked <- a:
		return true
	case <-w.gone:
	case <-ctx.Done():
	}
	return false
}

// Steer adds a message to the run that is under way in its thread, on record
// first. Where none is, or the run takes nothing any more, it is accepted as an
// ordinary message that waits for its turn; steered tells which.
func (s *Supervisor) Steer(ctx context.Context, th *store.Thread, m paceline.Message) (steered bool, at Offset, err error) {
	if at, err = s.journal.end(ctx, th.ID); err != nil {
		return false, at, err
	}
	a := steer{message: m, taken: make(chan error, 1)}
	a.message.Kind = paceline.KindSteer
	if s.steers.ask(ctx, a) {
		select {
		case err := <-a.taken:
			return err == nil, at, err
		case <-ctx.Done():
			return false, at, ctx.Err()
		}
	}
	at, err = s.Accept(ctx, th, m)
	return false, at, err
}

// steer records a steer with the run, and then gives it to the program. From
// here on the run is steered: it is not sent again elsewhere (F13).
func (d *drive) steer(ctx context.Context, a steer) {
	m := a.message
	err := d.journal.commit(ctx, d.thread.ID, func(tx *store.Tx) ([]Event, error) {
		_, added, err := tx.AddSteer(ctx, m, d.id)
		if err != nil || !added {
			return nil, err
		}
		return []Event{{Event: "accepted", At: time.Now(), Thread: d.thread.ID, Run: d.id, Message: m.ID}}, nil
	})
	a.taken <- err
	if err != nil {
		return
	}
	d.steering.Go(func() { // the program may take its time, and what it says meanwhile is to be read
		taken, err := d.turn.Steer(ctx, m)
		if taken || ctx.Err() != nil {
			return // taken, or the run ends, and this message with it
		}
		d.Log.LogAttrs(ctx, slog.LevelInfo, "steer not taken", slog.String(logkey.Run, string(d.id)), slog.Any(logkey.Error, err))
		ctx := context.WithoutCancel(ctx)
		if err := d.Store.InTx(ctx, func(tx *store.Tx) error { return tx.Unsteer(ctx, m.ID) }); err != nil {
			d.Log.LogAttrs(ctx, slog.LevelWarn, "steer not queued", slog.Any(logkey.Error, err))
			return
		}
	})
}
