package store

import (
	"context"
	"fmt"
)

// Trust keeps that the user of a tree agreed to project files of this digest.
func (t *Tx) Trust(ctx context.Context, tree, digest string) error {
	_, err := t.tx.ExecContext(ctx, `INSERT INTO trust (host, tree, digest, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (host, tree, digest) DO NOTHING`, t.host, []byte(tree), digest, Millis{t.now})
	if err != nil {
		return fmt.Errorf("trust the project files: %w", err)
	}
	return nil
}

// Trusted reports whether its user ever agreed to them.
func (s *Store) Trusted(ctx context.Context, tree, digest string) (bool, error) {
	return single(ctx, s, "look up trust", func(row scanner) (bool, error) {
		var n int
		err := row.Scan(&n)
		return n > 0, err
	}, `SELECT COUNT(*) FROM trust WHERE host = $1 AND tree = $2 AND digest = $3`, s.d.Host, []byte(tree), digest)
}
