package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	for part := range slices.Chunk(rows, 50) {
		sql, args := strings.Builder{}, []any{id}
		sql.WriteString(`INSERT INTO events (thread, seq, epoch, body) VALUES `)
		for i, r := range part {
			if i > 0 {
				sql.WriteString(", ")
			}
			fmt.Fprintf(&sql, "($1, $%d, $%d, $%d)", len(args)+1, len(args)+2, len(args)+3)
			args = append(args, r.Seq, r.Epoch, JSON[json.RawMessage]{r.Body})
		}
		if _, err := t.tx.ExecContext(ctx, sql.String(), args...); err != nil {
			return fmt.Errorf("add events %d… of %s: %w", part[0].Seq, id, err)
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
