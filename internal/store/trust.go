package store

import (
	"context"
	"fmt"
)

// Trust keeps that the user of a tree agreed to project files of this digest.
func (t *Tx) Trust(ctx context.Context, tree, digest string) error {
	_, err := t.tx.ExecContext(ctx, `INSERT INTO trust (tree, digest, at) VALUES ($1, $2, $3) ON CONFLICT (tree, digest) DO NOTHING`,
		[]byte(tree), digest, Millis{t.now})
	if err != nil {
		return fmt.Errorf("trust the project files: %w", err)
	}
	return nil
}

// Trusted reports whether its user ever agreed to them.
func (s *Store) Trusted(ctx context.Context, tree, digest string) (bool, error) {
	n, err := one(s.d.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM trust WHERE tree = $1 AND digest = $2`, []byte(tree), digest),
		"look up trust", func(row scanner) (n int, err error) { return n, row.Scan(&n) })
	return explained(s, n > 0, err)
}
