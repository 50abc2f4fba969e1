package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivermigrate"
)

// Migrations are named NNN_what.sql and are never changed once released.
//
//go:embed [0-9][0-9][0-9]_*.sql
var migrations embed.FS

// riverVersion is how far the job queue's own migrations go in the version that
// is linked.
const riverVersion = 8

// inUse is the advisory lock that every connection of a server holds shared, and
// who changes the tables holds alone: an older program must not go on writing
// into newer tables. The number says nothing.
const inUse = 0x7061_6365 // "pace"

var (
	errNewer    = errors.New("it knows more than this one")
	errOlder    = errors.New("its tables are of an older paceline")
	errChanging = errors.New("its tables must be brought up to date, and another paceline has them open")
)

// versions is how far the tables are; 0 is not begun.
type versions struct{ schema, river int }

// steps lists our migrations; the first is version 1.
func steps() ([]fs.DirEntry, error) { return fs.ReadDir(migrations, ".") }

// readable refuses tables that this build cannot read rightly.
func (v versions) readable() error {
	all, err := steps()
	switch {
	case err != nil:
		return err
	case v.schema == 0:
		return ErrNothing
	case v.schema > len(all):
		return fmt.Errorf("schema %d, this one knows %d: %w", v.schema, len(all), errNewer)
	case v.schema < len(all):
		return fmt.Errorf("schema %d, this one needs %d: %w", v.schema, len(all), errOlder)
	}
	return nil
}

// current reports whether nothing is to be migrated. Tables that are ahead of
// this build are refused.
func (v versions) current() (bool, error) {
	if err := v.readable(); err != nil && !errors.Is(err, ErrNothing) && !errors.Is(err, errOlder) {
		return false, err
	}
	if v.river > riverVersion {
		return false, fmt.Errorf("job tables %d, this one knows %d: %w", v.river, riverVersion, errNewer)
	}
	all, err := steps()
	return v.schema == len(all) && v.river == riverVersion, err
}

func versionsOf(ctx context.Context, db *sql.DB) (v versions, err error) {
	var begun bool
	err = db.QueryRowContext(ctx, `SELECT to_regclass('schema_version') IS NOT NULL AND to_regclass('meta') IS NOT NULL`).Scan(&begun)
	if err != nil || !begun {
		return v, err
	}
	err = db.QueryRowContext(ctx, `SELECT (SELECT COALESCE(MAX(version), 0) FROM schema_version),
		COALESCE((SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'river'), 0)`).Scan(&v.schema, &v.river)
	return v, err
}

// joining is asked of each connection of a server, the first one and those that
// follow an outage, in which somebody may have brought the tables up to date.
func joining(ctx context.Context, c *pgx.Conn) error {
	all, err := steps()
	if err != nil {
		return err
	}
	var free bool
	if err := c.QueryRow(ctx, `SELECT pg_try_advisory_lock_shared($1)`, inUse).Scan(&free); err != nil {
		return err
	}
	if !free {
		return errChanging
	}
	var schema int
	if err := c.QueryRow(ctx, `SELECT COALESCE(MAX(version), 0) FROM schema_version`).Scan(&schema); err != nil {
		return err
	}
	switch {
	case schema > len(all):
		return fmt.Errorf("schema %d, this one knows %d: %w", schema, len(all), errNewer)
	case schema < len(all):
		return fmt.Errorf("schema %d, this one needs %d: %w", schema, len(all), errOlder)
	}
	return nil
}

// migrate brings the tables up to this build, while no server has them open. Two
// that start at once both come by here: whoever does not get to migrate finds it
// done.
func (d database) migrate(ctx context.Context, patience time.Duration) error {
	pool, db, err := d.connect(ctx, nil)
	if err != nil {
		return err
	}
	defer pool.Close()
	defer db.Close()
	deadline := time.Now().Add(patience)
	for {
		v, err := versionsOf(ctx, db)
		if err != nil {
			return err
		}
		if done, err := v.current(); done || err != nil {
			return err
		}
		if done, err := alone(ctx, db, apply); done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errChanging
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// alone does something while nobody else has the tables open. done is false
// where somebody has.
func alone(ctx context.Context, db *sql.DB, do func(context.Context, *sql.DB) error) (done bool, err error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close()
	if err := c.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, inUse).Scan(&done); err != nil || !done {
		return false, err
	}
	err = do(ctx, db)
	_, e := c.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, inUse)
	return true, errors.Join(err, e)
}

// apply runs what is missing, each migration in a transaction of its own.
func apply(ctx context.Context, db *sql.DB) error {
	v, err := versionsOf(ctx, db)
	if err != nil {
		return err
	}
	all, err := steps()
	if err != nil {
		return err
	}
	for i := v.schema; i < len(all); i++ {
		if err := step(ctx, db, i+1, all[i].Name()); err != nil {
			return fmt.Errorf("migrate the store to %s: %w", all[i].Name(), err)
		}
	}
	if v.river >= riverVersion {
		return nil
	}
	m, err := rivermigrate.New(riverdatabasesql.New(db), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: riverVersion})
	}
	if err == nil {
		// After it, not with it: PostgreSQL uses no new value of an enumeration in
		// the transaction that adds it. Who is killed in between does it again, and
		// River finds it done.
		_, err = db.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('river', $1)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value`, strconv.Itoa(riverVersion))
	}
	if err != nil {
		return fmt.Errorf("migrate the job tables: %w", err)
	}
	return nil
}

func step(ctx context.Context, db *sql.DB, version int, name string) error {
	text, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(strings.SplitN(name, "_", 2)[0]); err != nil || n != version {
		return fmt.Errorf("it stands in place %d", version)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing left to roll back
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`,
		string(text),
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO schema_version (version, name, applied_at) VALUES ($1, $2, $3)`,
		version, name, time.Now().UnixMilli()); err != nil {
		return err
	}
	return tx.Commit()
}
