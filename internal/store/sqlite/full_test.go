package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/sqlite"
)

func TestFullDisk(t *testing.T) {
	t.Run("A write that finds no space is told, loses nothing, and succeeds once there is space", func(t *testing.T) {
		st := open(t, filepath.Join(t.TempDir(), "p.db"))
		thread(t, st, "t-1", "m-1")
		limit := func(pages int) {
			if _, err := st.DB().ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
				t.Fatal(err)
			}
		}
		limit(1) // SQLite takes the number of pages that there are
		fills(t, st, st.Path(), func() { limit(1 << 30) })
	})
	t.Run("So it is on a disk that is full", func(t *testing.T) {
		dir := t.TempDir()
		mountOn(t, dir, false, "size=2m")
		path := filepath.Join(dir, "p.db")
		st := open(t, path)
		thread(t, st, "t-1", "m-1")
		ballast := fill(t, dir)
		fills(t, st, path, func() {
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("A store that cannot be made for want of space is made once there is some", func(t *testing.T) {
		dir := t.TempDir()
		mountOn(t, dir, false, "size=64k")
		path := filepath.Join(dir, "p.db")
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		wantTrouble(t, err, store.Full, path)
		resize(t, dir, "size=8m")
		thread(t, open(t, path), "t-1", "m-1")
	})
}

func TestFullAtOpen(t *testing.T) {
	t.Run("A store that is opened on a full disk is told so, and opens once there is space", func(t *testing.T) {
		dir := t.TempDir()
		mountOn(t, dir, false, "size=2m")
		path := filepath.Join(dir, "p.db")
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		thread(t, st, "t-1", "m-1")
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		ballast := fill(t, dir)
		_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
		wantTrouble(t, err, store.Full, path)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, path).Thread(t.Context(), "t-1"); err != nil {
			t.Error(err)
		}
	})
}

// fill takes all the space that is left, with a file that can be removed.
func fill(t *testing.T, dir string) (ballast string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	return f.Name()
}

// fills writes to a full store, has space made, and writes again.
func fills(t *testing.T, st *store.Store, path string, makeRoom func()) {
	t.Helper()
	text := strings.Repeat("x", 1<<20)
	big := func() error {
		return st.InTx(t.Context(), func(tx *store.Tx) error {
			ctx := t.Context()
			if err := tx.ArchiveThread(ctx, "t-1"); err != nil {
				return err
			}
			_, _, err := tx.AddMessage(ctx, paceline.Message{ID: "m-big", Thread: "t-1", Kind: paceline.KindPrompt, Text: text})
			return err
		})
	}
	for range 3 {
		wantTrouble(t, big(), store.Full, path)
	}
	th, err := st.Thread(t.Context(), "t-1")
	if err != nil || th.Archived {
		t.Errorf("archived %t (%v) by a transaction that failed", th.Archived, err)
	}
	makeRoom()
	if err := big(); err != nil {
		t.Fatal(err)
	}
	if m, err := st.Message(t.Context(), "m-big"); err != nil || m.Text != text {
		t.Errorf("%d bytes (%v)", len(m.Text), err)
	}
	whole(t, st)
}
