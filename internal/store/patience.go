package store

import (
	"context"
	"errors"
	"time"
)

// retries bounds how often a busy store is asked again, whatever the clock
// says.
const retries = 50

// The pauses between two attempts grow from the first to the last: a busy store
// is free again at once, and one that is away is started again within seconds.
const (
	firstPause   = 5 * time.Millisecond
	longestBusy  = 250 * time.Millisecond
	longestPause = 2 * time.Second
)

// persist asks a store until it answers: one that is busy for a while, one that
// is away for longer. This is the only place where anything of the store is
// tried again. What ask does must leave nothing behind where it fails.
func (s *Store) persist(ctx context.Context, ask func(context.Context) error) error {
	began, pause := time.Now(), firstPause
	for try := 1; ; try++ {
		err := ask(ctx)
		if err == nil {
			if s.away.Swap(nil) != nil {
				s.tell(nil)
			}
			return nil
		}
		waited := time.Since(began)
		var hurry <-chan struct{}
		switch {
		case s.d.Busy(err) && try < retries && waited < s.d.Patience:
			pause = min(pause, longestBusy)
		case s.lost(err) && waited < s.d.Outage && !s.hasty():
			if s.away.CompareAndSwap(nil, &began) {
				s.tell(s.explain(err))
			}
			hurry = s.hurry
		default:
			return s.explain(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-hurry: // once more, and then no more
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		}
	}
}

// GiveUp ends every waiting for a database that is away, now and later: whoever
// leaves has no time. What could not be written is as lost as if we had been
// killed, and made good in the same way. Giving up twice is nothing.
func (s *Store) GiveUp() { s.giveUp() }

func (s *Store) hasty() bool {
	select {
	case <-s.hurry:
		return true
	default:
		return false
	}
}

// lost reports that the database cannot be reached, or went away in the middle.
func (s *Store) lost(err error) bool { return s.d.Lost != nil && s.d.Lost(err) }

// Away is since when the database has not answered; the zero time where it
// does, as far as anybody asked.
func (s *Store) Away() time.Time {
	if t := s.away.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// OnAway has tell called when the database goes away, with why, and with nil
// when it is back. It is called by whoever noticed, who waits for it.
func (s *Store) OnAway(tell func(why error)) { s.moved.Store(&tell) }

func (s *Store) tell(why error) {
	if tell := s.moved.Load(); tell != nil {
		(*tell)(why)
	}
}

// reading runs one read, which may be done again.
func reading[T any](ctx context.Context, s *Store, do func(context.Context) (T, error)) (v T, err error) {
	err = s.persist(ctx, func(ctx context.Context) (err error) {
		v, err = do(ctx)
		return err
	})
	return v, err
}

// single reads a single row.
func single[T any](ctx context.Context, s *Store, what string, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	return reading(ctx, s, func(ctx context.Context) (T, error) {
		return one(s.d.Read.QueryRowContext(ctx, query, args...), what, scan)
	})
}

// list reads every row of a query.
func list[T any](ctx context.Context, s *Store, what string, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	return reading(ctx, s, func(ctx context.Context) ([]T, error) { return all(ctx, s.d.Read, what, scan, query, args...) })
}

// errUnsure is a commit of which nobody can say what became of it.
var errUnsure = errors.New("the connection was lost while a transaction was being committed, and the database does not know what became of it")

// landed finds out whether a transaction was committed whose commit was not
// answered. Beginning it again without asking would do everything in it twice.
func (s *Store) landed(ctx context.Context, mark string) (bool, error) {
	var fate Fate
	err := s.persist(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
		fate, err = s.d.Fate(ctx, mark)
		return err
	})
	if err == nil && fate == Unknown {
		err = errUnsure
	}
	return fate == Committed, err
}
