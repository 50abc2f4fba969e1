package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/paceline/paceline"
)

// EventRow is something that clients were told about a thread. The store does
// not look inside.
type EventRow struct {
	Seq   int64 // counts from 1 within the thread
	Epoch int64 // of the server that told it
	Body  json.RawMessage
}

// NextEpoch counts the servers of this database; the first is 1.
func (t *Tx) NextEpoch(ctx context.Context) (int64, error) {
	var v string
	err := t.tx.QueryRowContext(ctx, `INSERT INTO meta (key, value) VALUES ('epoch', '1')
		ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT) RETURNING value`).Scan(&v)
	if err != nil {
		return 0, fmt.Errorf("begin an epoch: %w", err)
	}
	return strconv.ParseInt(v, 10, 64)
}

// AddEvents adds events with the numbers that they carry. A number is used
// once: whoever brings it again has lost track, and gets an error.
func (t *Tx) AddEvents(ctx context.Context, id paceline.ThreadID, rows []EventRow) error {
	for _, r := range rows {
		_, err := t.tx.ExecContext(ctx, `INSERT INTO events (thread, seq, epoch, body) VALUES ($1, $2, $3, $4)`,
			id, r.Seq, r.Epoch, JSON[json.RawMessage]{r.Body})
		if err != nil {
			return fmt.Errorf("add event %d of %s: %w", r.Seq, id, err)
		}
	}
	return nil
}

// Events lists a thread's events after a number, limit of them at most.
func (s *Store) Events(ctx context.Context, id paceline.ThreadID, after int64, limit int) ([]EventRow, error) {
	return list(ctx, s, "list events of "+string(id), func(row scanner) (EventRow, error) {
		var r EventRow
		var body JSON[json.RawMessage]
		err := row.Scan(&r.Seq, &r.Epoch, &body)
		r.Body = body.V
		return r, err
	}, `SELECT seq, epoch, body FROM events WHERE thread = $1 AND seq > $2 ORDER BY seq LIMIT $3`, id, after, limit)
}

// LastEvent is the number of a thread's last event that was told in an epoch or
// before; 0 is none.
func (s *Store) LastEvent(ctx context.Context, id paceline.ThreadID, epoch int64) (int64, error) {
	return single(ctx, s, "last event of "+string(id), func(row scanner) (n int64, err error) { return n, row.Scan(&n) },
		`SELECT COALESCE(MAX(seq), 0) FROM events WHERE thread = $1 AND epoch <= $2`, id, epoch)
}
