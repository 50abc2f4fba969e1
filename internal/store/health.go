package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/paceline/paceline/internal/health"
)

// Health reads how a route stands, and its row's version. One that nobody used
// yet is healthy, at version 0.
func (t *Tx) Health(ctx context.Context, r health.Route) (rec health.Record, version int64, err error) {
	rec, err = one(t.tx.QueryRowContext(ctx, `SELECT body, version FROM health WHERE host = $1 AND route = $2`, t.host, r.String()),
		"health of "+r.String(), func(row scanner) (health.Record, error) {
			var body JSON[health.Record]
			err := row.Scan(&body, &version)
			return body.V, err
		})
	if errors.Is(err, ErrNotFound) {
		return health.Record{Route: r}, 0, nil
	}
	return rec, version, err
}

// PutHealth writes a route's health back over the version that was read, or is
// ErrStale: somebody else was at it, and may have claimed the very trial that it
// claims. Nobody waits for him here (Z78).
func (t *Tx) PutHealth(ctx context.Context, r health.Record, version int64) error {
	query := `INSERT INTO health (host, route, version, body) VALUES ($1, $2, $3 + 1, $4) ON CONFLICT DO NOTHING`
	if version > 0 {
		query = `UPDATE health SET version = version + 1, body = $4 WHERE host = $1 AND route = $2 AND version = $3`
	}
	ok, err := changed(t.tx.ExecContext(ctx, query, t.host, r.Route.String(), version, JSON[health.Record]{r}))
	if err == nil && !ok {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("put health of %s at version %d: %w", r.Route, version, err)
	}
	return nil
}

// ResetHealth forgets what a route did. A route that nobody used is no error.
func (t *Tx) ResetHealth(ctx context.Context, r health.Route) error {
	if _, err := t.tx.ExecContext(ctx, `DELETE FROM health WHERE host = $1 AND route = $2`, t.host, r.String()); err != nil {
		return fmt.Errorf("reset health of %s: %w", r, err)
	}
	return nil
}

// Health lists this host's routes as they were left, by name. What has become of
// them since is not decided here.
func (s *Store) Health(ctx context.Context) ([]health.Record, error) {
	return list(ctx, s, "list health", func(row scanner) (health.Record, error) {
		var body JSON[health.Record]
		err := row.Scan(&body)
		return body.V, err
	}, `SELECT body FROM health WHERE host = $1 ORDER BY route`, s.d.Host)
}
