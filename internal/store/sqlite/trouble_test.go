package sqlite_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/sqlite"
)

// wantTrouble holds an error to what people are told: what, where, and what to
// try.
func wantTrouble(t *testing.T, err error, kind store.TroubleKind, path string) {
	t.Helper()
	var trouble *store.Trouble
	if !errors.As(err, &trouble) {
		t.Fatalf("got %v, want a trouble: it %s", err, kind)
	}
	if trouble.Kind != kind || trouble.Path != path || trouble.Hint == "" || !strings.Contains(err.Error(), path) {
		t.Errorf("got %q (hint %q), want: it %s", err, trouble.Hint, kind)
	}
}

// bothWays opens a file for writing and for reading, and expects the same of
// both.
func bothWays(t *testing.T, path string, kind store.TroubleKind) {
	t.Helper()
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{Busy: 50 * time.Millisecond})
	wantTrouble(t, err, kind, path)
	_, err = sqlite.OpenRead(t.Context(), path, sqlite.Options{Busy: 50 * time.Millisecond})
	wantTrouble(t, err, kind, path)
}

func TestTrouble(t *testing.T) {
	t.Run("A file that is no database is named and left as it is", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.db")
		garbage := bytes.Repeat([]byte("this is no database\n"), 1000)
		if err := os.WriteFile(path, garbage, 0o600); err != nil {
			t.Fatal(err)
		}
		bothWays(t, path, store.Corrupt)
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, garbage) {
			t.Errorf("it was changed (%v)", err)
		}
	})
	t.Run("A file that was cut short is damaged", func(t *testing.T) {
		path := filled(t)
		if err := os.Truncate(path, 4096*3+100); err != nil {
			t.Fatal(err)
		}
		bothWays(t, path, store.Corrupt)
	})
	t.Run("F42 a store of a newer version is refused and not touched", func(t *testing.T) {
		path := filled(t)
		plant(t, path, `INSERT INTO schema_version (version, name, applied_at) VALUES (999, '999_future.sql', 0)`)
		before := sum(t, path)
		bothWays(t, path, store.Newer)
		if sum(t, path) != before {
			t.Error("it was touched")
		}
	})
	t.Run("F43 job tables of a newer version are refused by whoever would work them", func(t *testing.T) {
		path := filled(t)
		plant(t, path, `UPDATE meta SET value = '999' WHERE key = 'river'`)
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		wantTrouble(t, err, store.Newer, path)
		openRead(t, path)
	})
	t.Run("A store that another program keeps locked is said to be so, and works when it lets go", func(t *testing.T) {
		path := filled(t)
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{Busy: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		release := lock(t, path)
		wantTrouble(t, archive(t, st), store.Locked, path)
		if _, err := st.Threads(t.Context()); err != nil {
			t.Errorf("reading waits for the writer: %v", err)
		}
		release()
		if err := archive(t, st); err != nil {
			t.Error(err)
		}
	})
	t.Run("A folder, a pipe and a file in the place of the folder are named", func(t *testing.T) {
		dir := t.TempDir()
		bothWays(t, dir, store.NotAFile)
		pipe := filepath.Join(dir, "pipe")
		if err := unix.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		bothWays(t, pipe, store.NotAFile)
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		bothWays(t, filepath.Join(file, "p.db"), store.Unwritable)
	})
	t.Run("A folder that may not be written is named", func(t *testing.T) {
		dir := t.TempDir()
		readOnly(t, dir)
		path := filepath.Join(dir, "state", "p.db")
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		wantTrouble(t, err, store.Unwritable, path)
		path = filepath.Join(dir, "p.db")
		_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
		wantTrouble(t, err, store.Unwritable, path)
	})
}

// filled makes a store with a thread in it, and closes it.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.db")
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	thread(t, st, "t-1", "m-1")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// thread adds a thread with one message.
func thread(t testing.TB, st *store.Store, id paceline.ThreadID, m paceline.MessageID) {
	t.Helper()
	ctx := t.Context()
	err := st.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.AddThread(ctx, store.Thread{ID: id}); err != nil {
			return err
		}
		_, _, err := tx.AddMessage(ctx, paceline.Message{ID: m, Thread: id, Kind: paceline.KindPrompt})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func archive(t *testing.T, st *store.Store) error {
	t.Helper()
	return st.InTx(t.Context(), func(tx *store.Tx) error { return tx.ArchiveThread(t.Context(), "t-1") })
}

// whole asks the database whether it is in order.
func whole(t *testing.T, st *store.Store) {
	t.Helper()
	var said string
	if err := st.ReadDB().QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Errorf("integrity: %s (%v)", said, err)
	}
	var broken int
	if err := st.ReadDB().QueryRowContext(t.Context(), "SELECT count(*) FROM pragma_foreign_key_check").Scan(&broken); err != nil || broken != 0 {
		t.Errorf("%d rows belong to nothing (%v)", broken, err)
	}
}

// raw opens a file as another program would.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// plant changes a file behind the store's back, and leaves no log behind.
func plant(t *testing.T, path, statement string) {
	t.Helper()
	db := raw(t, path)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// lock holds a file's write lock until it is released.
func lock(t *testing.T, path string) (release func()) {
	t.Helper()
	db := raw(t, path)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		conn.Close()
		db.Close()
	}
}

func sum(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %x", len(b), sha256.Sum256(b))
}

// readOnly makes a folder that nobody can write in, not even root.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() == 0 {
		mountOn(t, dir, true, "")
		return
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
}
