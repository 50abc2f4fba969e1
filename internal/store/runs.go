package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
)

// A run's body is all of its state; the columns beside it are what queries look
// for, written from the same state in the same statement.

func scanRun(row scanner) (run.State, error) {
	var body JSON[run.State]
	err := row.Scan(&body)
	return body.V, err
}

// versioned is a run with the version that PutRun compares.
type versioned struct {
	state   run.State
	version int64
}

func scanVersioned(row scanner) (versioned, error) {
	var body JSON[run.State]
	var v versioned
	err := row.Scan(&body, &v.version)
	v.state = body.V
	return v, err
}

// AddRun adds a run. A run has one successor at most: adding a second one, or
// the same run again, is ErrStale.
func (t *Tx) AddRun(ctx context.Context, s run.State) error {
	var seq int64
	_, err := one(t.tx.QueryRowContext(ctx, `INSERT INTO runs
		(id, thread, message, after, phase, claim, engine, is_open, body, created_at, updated_at, version)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1)
		ON CONFLICT DO NOTHING RETURNING seq`,
		s.ID, s.Thread, s.Message, s.After, s.Phase.String(), s.Claim.Phase.String(), s.Engine.String(), s.Open(),
		JSON[run.State]{s}, Millis{s.Created}, Millis{t.now}),
		"add run "+string(s.ID), func(row scanner) (int64, error) { return seq, row.Scan(&seq) })
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("add run %s after %q: %w", s.ID, s.After, ErrStale)
	}
	return err
}

// PutRun writes a run back over the version that was read, or is ErrStale. It
// belongs into one transaction with every effect of the step that made s.
func (t *Tx) PutRun(ctx context.Context, s run.State, version int64) error {
	ok, err := changed(t.tx.ExecContext(ctx, `UPDATE runs
		SET phase = $1, claim = $2, engine = $3, is_open = $4, body = $5, updated_at = $6, version = version + 1
		WHERE id = $7 AND version = $8`,
		s.Phase.String(), s.Claim.Phase.String(), s.Engine.String(), s.Open(), JSON[run.State]{s}, Millis{t.now}, s.ID, version))
	if err == nil && !ok {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("put run %s at version %d: %w", s.ID, version, err)
	}
	return nil
}

// Run reads a run and its version.
func (t *Tx) Run(ctx context.Context, id paceline.RunID) (run.State, int64, error) {
	v, err := one(t.tx.QueryRowContext(ctx, `SELECT body, version FROM runs WHERE id = $1`, id), "run "+string(id), scanVersioned)
	return v.state, v.version, err
}

// RunsOfMessage lists the runs that a message had, oldest first.
func (t *Tx) RunsOfMessage(ctx context.Context, id paceline.MessageID) ([]run.State, error) {
	return all(ctx, t.tx, "list runs of "+string(id), scanRun, `SELECT body FROM runs WHERE message = $1 ORDER BY seq`, id)
}

// RunsSince counts the thread's runs that were added after this one for other
// messages.
func (t *Tx) RunsSince(ctx context.Context, thread paceline.ThreadID, id paceline.RunID) (int, error) {
	var n int
	err := t.tx.QueryRowContext(ctx, `SELECT count(*) FROM runs AS later, runs AS this
		WHERE this.id = $1 AND later.thread = $2 AND later.seq > this.seq AND later.message <> this.message`, id, thread).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count runs since %s: %w", id, err)
	}
	return n, nil
}

// Run reads one run, or ErrNotFound.
func (s *Store) Run(ctx context.Context, id paceline.RunID) (run.State, error) {
	return single(ctx, s, "run "+string(id), scanRun, `SELECT body FROM runs WHERE id = $1`, id)
}

// Runs lists a thread's runs in the order in which they were added.
func (s *Store) Runs(ctx context.Context, id paceline.ThreadID) ([]run.State, error) {
	return list(ctx, s, "list runs of "+string(id), scanRun, `SELECT body FROM runs WHERE thread = $1 ORDER BY seq`, id)
}

// Orphans lists every run of this host with which something is still to happen,
// oldest first. Those that nobody serves are taken up by whoever starts next.
func (s *Store) Orphans(ctx context.Context) ([]run.State, error) {
	return list(ctx, s, "list open runs", scanRun, `SELECT runs.body FROM runs
		JOIN threads ON threads.id = runs.thread WHERE runs.is_open AND threads.host = $1 ORDER BY runs.seq`, s.d.Host)
}
