package sqlite_test

import (
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// Stores of their own share nothing in this process: only the file's locks
// stand between them, as between processes.
func TestTwoStores(t *testing.T) {
	t.Run("F18 many that read and then write the same run wait for each other, and each change builds on the one before", func(t *testing.T) {
		const writers, each = 6, 25
		path := filepath.Join(t.TempDir(), "p.db")
		first := open(t, path)
		thread(t, first, "t-1", "m-1")
		ctx := t.Context()
		err := first.InTx(ctx, func(tx *store.Tx) error {
			return tx.AddRun(ctx, run.State{ID: "r-1", Thread: "t-1", Message: "m-1"})
		})
		if err != nil {
			t.Fatal(err)
		}
		var tries atomic.Int64
		var wg sync.WaitGroup
		for range writers {
			st := open(t, path)
			wg.Go(func() {
				for range each {
					err := st.InTx(ctx, func(tx *store.Tx) error {
						tries.Add(1)
						s, version, err := tx.Run(ctx, "r-1")
						s.Starts++
						return errors.Join(err, tx.PutRun(ctx, s, version))
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if s, err := first.Run(ctx, "r-1"); err != nil || s.Starts != writers*each {
			t.Errorf("%d changes are left (%v), of %d", s.Starts, err, writers*each)
		}
		if n := tries.Load(); n != writers*each {
			t.Errorf("%d tries for %d changes: a transaction was let in and then refused", n, writers*each)
		}
	})
	t.Run("P3 of two that read a run outside of a transaction the second one is stale", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.db")
		a, b := open(t, path), open(t, path)
		thread(t, a, "t-1", "m-1")
		ctx := t.Context()
		s := run.State{ID: "r-1", Thread: "t-1", Message: paceline.MessageID("m-1")}
		if err := a.InTx(ctx, func(tx *store.Tx) error { return tx.AddRun(ctx, s) }); err != nil {
			t.Fatal(err)
		}
		put := func(st *store.Store) error {
			return st.InTx(ctx, func(tx *store.Tx) error { return tx.PutRun(ctx, s, 1) })
		}
		if err := put(b); err != nil {
			t.Fatal(err)
		}
		if err := put(a); !errors.Is(err, store.ErrStale) {
			t.Error(err)
		}
	})
}
