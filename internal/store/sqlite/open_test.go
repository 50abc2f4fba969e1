package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"golang.org/x/sys/unix"

	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/sqlite"
)

func TestOpen(t *testing.T) {
	t.Run("Only its owner can read a store and its folder", func(t *testing.T) {
		old := unix.Umask(0)
		defer unix.Umask(old)
		dir := filepath.Join(t.TempDir(), "a", "state")
		st := open(t, filepath.Join(dir, "p.db"))
		thread(t, st, "t-1", "m-1")
		for name, wanted := range map[string]os.FileMode{
			"..": 0o700, ".": 0o700, "p.db": 0o600, "p.db-wal": 0o600, "p.db-shm": 0o600, "p.db.lock": 0o600,
		} {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || info.Mode().Perm() != wanted {
				t.Errorf("%s: mode %v (%v), want %v", name, info.Mode().Perm(), err, wanted)
			}
		}
	})
	t.Run("A store that others could read is closed to them", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.db")
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		open(t, path)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v: %v", info.Mode(), err)
		}
	})
	t.Run("A path may hold any character", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a b%20?x=1&#é\n'\"", "p?.db")
		thread(t, open(t, path), "t-1", "m-1")
		if _, err := os.Stat(path + "-wal"); err != nil {
			t.Errorf("SQLite wrote elsewhere: %v", err)
		}
		st := openRead(t, path)
		if _, err := st.Thread(t.Context(), "t-1"); err != nil {
			t.Error(err)
		}
	})
	t.Run("Of eight that start at once each finds a whole store", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				defer st.Close()
				if _, err := st.Orphans(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
	t.Run("What one process wrote the next one reads", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.db")
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		thread(t, st, "t-1", "m-1")
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, path).Message(t.Context(), "m-1"); err != nil {
			t.Error(err)
		}
	})
	t.Run("State is on disk when it is committed, and reads wait for nobody", func(t *testing.T) {
		st := open(t, filepath.Join(t.TempDir(), "p.db"))
		for _, db := range []*sql.DB{st.DB(), st.ReadDB()} {
			for pragma, wanted := range map[string]string{
				"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000",
			} {
				var got string
				if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != wanted {
					t.Errorf("%s is %s (%v), want %s", pragma, got, err, wanted)
				}
			}
		}
		if n := st.DB().Stats().MaxOpenConnections; n != 1 {
			t.Errorf("%d connections write", n)
		}
	})
	t.Run("The connections that read cannot write", func(t *testing.T) {
		st := open(t, filepath.Join(t.TempDir(), "p.db"))
		if _, err := st.ReadDB().ExecContext(t.Context(), `DELETE FROM threads`); err == nil {
			t.Error("one did")
		}
	})
}

func TestOpenRead(t *testing.T) {
	t.Run("Where nothing was recorded yet, reading says so and makes nothing", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		_, err := sqlite.OpenRead(t.Context(), filepath.Join(dir, "p.db"), sqlite.Options{})
		if !errors.Is(err, sqlite.ErrNothing) {
			t.Error(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder was made: %v", err)
		}
	})
	t.Run("A file that was made and never filled holds nothing yet", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.db")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.OpenRead(t.Context(), path, sqlite.Options{}); !errors.Is(err, sqlite.ErrNothing) {
			t.Error(err)
		}
	})
	t.Run("A reader reads beside a writer, and writes nothing", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.db")
		writer := open(t, path)
		thread(t, writer, "t-1", "m-1")
		reader := openRead(t, path)
		err := writer.InTx(t.Context(), func(tx *store.Tx) error {
			if err := tx.ArchiveThread(t.Context(), "t-1"); err != nil {
				return err
			}
			th, err := reader.Thread(t.Context(), "t-1")
			if th.Archived {
				t.Error("it saw what is not committed")
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if err := reader.InTx(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrReadOnly) {
			t.Error(err)
		}
	})
}

func TestMigrations(t *testing.T) {
	t.Run("The job tables are as far as the River that is linked", func(t *testing.T) {
		st := open(t, filepath.Join(t.TempDir(), "p.db"))
		m, err := rivermigrate.New(riversqlite.New(st.DB()), nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Validate(t.Context(), nil)
		if err != nil || !res.OK {
			t.Errorf("%v %v", res, err)
		}
		all := m.AllVersions()
		var recorded int
		err = st.DB().QueryRowContext(t.Context(), `SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'river'`).Scan(&recorded)
		if linked := all[len(all)-1].Version; err != nil || recorded != linked {
			t.Errorf("recorded %d (%v), linked %d", recorded, err, linked)
		}
	})
	t.Run("Tables are brought up to date only while nobody has them open", func(t *testing.T) {
		path := filled(t)
		older := open(t, path)
		old(t, older)
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{Busy: 50 * time.Millisecond})
		wantTrouble(t, err, store.Locked, path)
		if err := older.Close(); err != nil {
			t.Fatal(err)
		}
		var river string
		if err := open(t, path).DB().QueryRowContext(t.Context(), `SELECT value FROM meta WHERE key = 'river'`).Scan(&river); err != nil {
			t.Error(err)
		}
	})
	t.Run("Waiting for that can be stopped", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.db")
		old(t, open(t, path))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := sqlite.Open(ctx, path, sqlite.Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// old makes a store look as if its job tables had never been brought up to date.
func old(t *testing.T, st *store.Store) {
	t.Helper()
	if _, err := st.DB().ExecContext(t.Context(), `DELETE FROM meta`); err != nil {
		t.Fatal(err)
	}
}

func openRead(t testing.TB, path string) *store.Store {
	t.Helper()
	st, err := sqlite.OpenRead(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// BenchmarkOpen is what every command pays at its start.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "p.db")
	open(b, path)
	for b.Loop() {
		st, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := st.Orphans(b.Context()); err != nil {
			b.Fatal(err)
		}
		st.Close()
	}
}
