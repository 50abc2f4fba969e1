package store_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/paceline/paceline/internal/store"
)

var errBusy = errors.New("somebody else writes")

// dialect is a bare database, of which the test says when it is busy.
func dialect(t *testing.T, patience time.Duration) store.Dialect {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return store.Dialect{
		Write: db, Read: db, Patience: patience,
		Busy:    func(err error) bool { return errors.Is(err, errBusy) },
		Explain: func(err error) *store.Trouble { return &store.Trouble{Kind: store.Locked, Err: err} },
	}
}

func TestBusy(t *testing.T) {
	t.Run("A busy store is tried again until it lets the transaction in", func(t *testing.T) {
		tries := 0
		err := store.New(dialect(t, time.Minute)).InTx(t.Context(), func(*store.Tx) error {
			if tries++; tries < 4 {
				return errBusy
			}
			return nil
		})
		if err != nil || tries != 4 {
			t.Errorf("%d tries, %v", tries, err)
		}
	})
	t.Run("A store that stays busy is given up and said to be locked", func(t *testing.T) {
		tries := 0
		err := store.New(dialect(t, 20*time.Millisecond)).InTx(t.Context(), func(*store.Tx) error { tries++; return errBusy })
		var trouble *store.Trouble
		if !errors.As(err, &trouble) || trouble.Kind != store.Locked || !errors.Is(err, errBusy) || tries < 2 || tries > 10 {
			t.Errorf("%d tries, %v", tries, err)
		}
	})
	t.Run("Only what waiting cures is tried again", func(t *testing.T) {
		tries, broken := 0, errors.New("broken")
		err := store.New(dialect(t, time.Minute)).InTx(t.Context(), func(*store.Tx) error { tries++; return broken })
		if !errors.Is(err, broken) || tries != 1 {
			t.Errorf("%d tries, %v", tries, err)
		}
	})
	t.Run("Whoever waits for a busy store can be stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := store.New(dialect(t, time.Minute)).InTx(ctx, func(*store.Tx) error { cancel(); return errBusy })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestReadOnly(t *testing.T) {
	d := dialect(t, 0)
	d.Write = nil
	if err := store.New(d).InTx(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a store that was opened for reading writes: %v", err)
	}
}
