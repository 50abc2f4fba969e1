// Package outbox performs effects. An effect is a job that is written in the
// same transaction as the state it follows from, so it exists exactly when that
// state does, and whoever dies after the commit leaves somebody else the job.
//
// A job is performed at least once. That its effect happens once is not decided
// here: the performer compares the run's claim, and finds nothing to do where
// that is no longer pending. Jobs are short. A run is never a job: it lasts
// hours, and a job that lasts is given to somebody else.
//
// The queue is River, which nothing outside of this package knows. Each kind of
// effect has a queue of its own name, and of its host's where several share a
// database. Only the queues of the kinds that this
// build knows are worked. A kind that it does not know was written by a newer
// build: it stays where it is, and Pending names it.
package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// Performer performs the effect of a run's pending claim. It returns nil once
// the claim is resolved, by itself or by anyone; any error is another attempt,
// with the next number. attempt counts from 1.
type Performer func(ctx context.Context, id paceline.RunID, attempt int) error

// Outbox writes jobs, and works them once it is started.
type Outbox struct {
	store   *store.Store
	perform Performer
	log     *slog.Logger
	queue   string                 // of our host
	insert  *river.Client[*sql.Tx] // only writes jobs

	mu   sync.Mutex
	work *river.Client[*sql.Tx] // nil while it is not started
}

// New returns an Outbox that can write jobs and works none yet.
func New(st *store.Store, perform Performer, log *slog.Logger) (*Outbox, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	o := &Outbox{store: st, perform: perform, log: slog.New(quiet{log.Handler()}), queue: queue(st.Host())}
	insert, err := river.NewClient(driver(st), &river.Config{Logger: o.log, Workers: o.workers(nil)})
	if err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	o.insert = insert
	return o, nil
}

// Enqueue writes the job of an effect in the caller's transaction. A run that
// has an unfinished job gets no second one, which spares work and guards
// nothing.
func (o *Outbox) Enqueue(ctx context.Context, tx *store.Tx, e run.Dispatch) error {
	if _, err := o.insert.InsertTx(ctx, tx.SQL(), dispatch{Run: e.Run}, &river.InsertOpts{Queue: o.queue}); err != nil {
		return fmt.Errorf("enqueue the dispatch of %s: %w", e.Run, err)
	}
	return nil
}

// Performed removes the unfinished job of an effect that the caller performs
// itself, in the transaction that does so. A job that is just being worked is
// left to find it done.
func (o *Outbox) Performed(ctx context.Context, tx *store.Tx, id paceline.RunID) error {
	_, err := o.insert.JobDeleteManyTx(ctx, tx.SQL(), river.NewJobDeleteManyParams().
		Kinds(dispatch{}.Kind()).
		States(rivertype.JobStateAvailable, rivertype.JobStateRetryable, rivertype.JobStateScheduled).
		Where("args ->> 'run' = @run", river.NamedArgs{"run": string(id)}))
	if err != nil {
		return fmt.Errorf("take the dispatch of %s out of the outbox: %w", id, err)
	}
	return nil
}

// Start begins to work jobs, until Stop; ctx bounds the starting alone, so that
// its end cuts no job off. A worker looks for jobs all the time, which costs
// some processor: it is started only where jobs may have been left by somebody.
// Starting twice is nothing.
func (o *Outbox) Start(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.work != nil {
		return nil
	}
	kinds, err := o.Pending(ctx)
	if err != nil {
		return err
	}
	work, err := river.NewClient(driver(o.store), o.config(kinds))
	if err != nil {
		return fmt.Errorf("start the outbox: %w", err)
	}
	if err := work.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the outbox: %w", err)
	}
	o.work = work
	return nil
}

// Stop takes no more jobs, waits for those at work until ctx ends, and then
// cuts them off: they are performed again by whoever starts next. Stopping what
// was not started is nothing.
func (o *Outbox) Stop(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.work == nil {
		return nil
	}
	err := o.work.Stop(ctx)
	if err != nil {
		cut, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutting)
		defer cancel()
		err = o.work.StopAndCancel(cut)
	}
	if err != nil {
		return fmt.Errorf("stop the outbox: %w", err)
	}
	o.work = nil
	return nil
}

// Kind is how many jobs of one kind are unfinished.
type Kind struct {
	Name  string
	Count int
	Known bool // this build performs it
}

// Pending counts the unfinished jobs by kind, in the order of their names.
func (o *Outbox) Pending(ctx context.Context) ([]Kind, error) { return Pending(ctx, o.store) }

// Pending counts the unfinished jobs of a store, which may be open for reading
// only; those of other hosts are theirs. A kind that no worker of this build knows is counted whatever became of
// its jobs, except that they were completed.
func Pending(ctx context.Context, st *store.Store) ([]Kind, error) {
	rows, err := st.ReadDB().QueryContext(ctx, `SELECT kind, state, count(*) FROM river_job
		WHERE state <> 'completed' AND (kind <> $1 OR queue = $2) GROUP BY kind, state ORDER BY kind`,
		dispatch{}.Kind(), queue(st.Host()))
	if err != nil {
		return nil, fmt.Errorf("count the effects: %w", err)
	}
	defer rows.Close()
	var out []Kind
	for rows.Next() {
		k, state := Kind{}, ""
		if err := rows.Scan(&k.Name, &state, &k.Count); err != nil {
			return nil, fmt.Errorf("count the effects: %w", err)
		}
		k.Known = k.Name == dispatch{}.Kind()
		over := rivertype.JobState(state) == rivertype.JobStateDiscarded || rivertype.JobState(state) == rivertype.JobStateCancelled
		switch {
		case k.Known && over:
		case len(out) > 0 && out[len(out)-1].Name == k.Name:
			out[len(out)-1].Count += k.Count
		default:
			out = append(out, k)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("count the effects: %w", err)
	}
	return out, nil
}
