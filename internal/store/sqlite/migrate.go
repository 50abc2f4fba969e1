package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"golang.org/x/sys/unix"

	"github.com/paceline/paceline/internal/store"
)

// Migrations are named NNN_what.sql and are never changed once released.
//
//go:embed [0-9][0-9][0-9]_*.sql
var migrations embed.FS

// riverVersion is how far the job queue's own migrations go in the version that
// is linked. It is written down here because asking River takes longer than
// everything else at start.
const riverVersion = 8

// versions is how far a file's tables are; 0 is not begun.
type versions struct{ schema, river int }

var errNewer = errors.New("it knows more than this one")

// steps lists our migrations; the first is version 1.
func steps() ([]fs.DirEntry, error) { return fs.ReadDir(migrations, ".") }

// readable refuses a file that this build cannot read rightly.
func (v versions) readable() error {
	all, err := steps()
	switch {
	case err != nil:
		return err
	case v.schema == 0:
		return ErrNothing // made, and left before anything was in it
	case v.schema > len(all):
		return fmt.Errorf("schema %d, this one knows %d: %w", v.schema, len(all), errNewer)
	}
	return nil
}

// current reports whether nothing is to be migrated. A file that is ahead of
// this build is refused.
func (v versions) current() (bool, error) {
	if err := v.readable(); err != nil && !errors.Is(err, ErrNothing) {
		return false, err
	}
	if v.river > riverVersion {
		return false, fmt.Errorf("job tables %d, this one knows %d: %w", v.river, riverVersion, errNewer)
	}
	all, err := steps()
	return v.schema == len(all) && v.river == riverVersion, err
}

func versionsOf(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (versions, error) {
	var v versions
	var begun int
	err := q.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name IN ('schema_version', 'meta')`).Scan(&begun)
	if err != nil || begun < 2 {
		return v, err
	}
	err = q.QueryRowContext(ctx, `SELECT (SELECT COALESCE(MAX(version), 0) FROM schema_version),
		COALESCE((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'river'), 0)`).Scan(&v.schema, &v.river)
	return v, err
}

// migrate brings the tables up to this build. It returns the lock that says
// "this file is in use", which is held until the store is closed: tables are
// only changed while nobody else has them open, since an older program must not
// go on writing into newer tables.
func (f file) migrate(ctx context.Context, db *sql.DB) (*os.File, error) {
	lock, err := os.OpenFile(f.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.upgrade(ctx, db, lock); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

func (f file) upgrade(ctx context.Context, db *sql.DB, lock *os.File) error {
	deadline := time.Now().Add(f.busy)
	for {
		// Two that start at once both come by here: whoever does not get to
		// migrate finds it done.
		if _, err := os.Stat(f.path); err == nil && flock(lock, unix.LOCK_SH) {
			v, err := versionsOf(ctx, db)
			if err != nil {
				return err
			}
			if done, err := v.current(); done || err != nil {
				return err
			}
		}
		if time.Now().After(deadline) {
			return f.trouble(store.Locked, errors.New("its tables must be brought up to date, and another paceline has them open"))
		}
		// Given back first: two that both hold it shared would wait for each other.
		flock(lock, unix.LOCK_UN)
		if flock(lock, unix.LOCK_EX) {
			if err := f.apply(ctx, db); err != nil {
				return err
			}
			continue // and take the lock as everybody else does
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func flock(f *os.File, how int) bool { return unix.Flock(int(f.Fd()), how|unix.LOCK_NB) == nil }

// apply makes the file where it is missing, and runs what is missing in it, each migration in a transaction of its own.
func (f file) apply(ctx context.Context, db *sql.DB) error {
	if err := f.create(); err != nil {
		return err
	}
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
	if v.river < riverVersion {
		if err := jobs(ctx, db); err != nil {
			return fmt.Errorf("migrate the job tables: %w", err)
		}
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
	return in(ctx, db, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version
			(version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO schema_version (version, name, applied_at) VALUES ($1, $2, $3)`,
			version, name, time.Now().UnixMilli())
		return err
	})
}

// jobs migrates the job queue's tables and records how far they are, in one
// transaction.
func jobs(ctx context.Context, db *sql.DB) error {
	m, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return in(ctx, db, func(tx *sql.Tx) error {
		if _, err := m.MigrateTx(ctx, tx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: riverVersion}); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('river', $1)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value`, strconv.Itoa(riverVersion))
		return err
	})
}

func in(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing left to roll back
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}
