package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/health"
	"github.com/paceline/paceline/internal/store"
)

// broken is a route that stands at nothing like its zero value.
func broken(account string) health.Record {
	p := health.Policy{OpenAfter: 1, Window: time.Hour, Cooldown: time.Minute, ErrorPct: 50, MinSamples: 2}
	route := health.Route{Account: account, Endpoint: "127.0.0.1:4000", Configured: true}
	r, _ := health.Observe(health.Record{Route: route}, health.Outcome{
		Kind: health.Server, ID: "r-1", At: at, Code: "overloaded_error", Model: "opus",
	}, at, p)
	return health.Admit(r, "r-2", at.Add(p.Cooldown), p).Record
}

var healths = []proof{
	{"Z83 a route's health is read as it was written, and of one that nobody used as healthy", func(t *testing.T, b bench) {
		claude, codex := broken("claude"), broken("codex")
		for _, r := range []health.Record{codex, claude} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				was, version, err := tx.Health(ctx, r.Route)
				if err != nil {
					return err
				}
				equal(t, "before", health.Record{Route: r.Route}, was)
				return tx.PutHealth(ctx, r, version)
			})
		}
		want(t, []health.Record{claude, codex})(b.Health(t.Context()))
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			got, version, err := tx.Health(ctx, codex.Route)
			equal(t, "read", codex, got)
			equal(t, "version", int64(1), version)
			return err
		})
		// Another endpoint of the same account is another route.
		moved := codex.Route
		moved.Endpoint = "127.0.0.1:5000"
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			got, version, err := tx.Health(ctx, moved)
			equal(t, "moved", health.Record{Route: moved}, got)
			equal(t, "version", int64(0), version)
			return err
		})
	}},
	{"Z77 Z78 of two that read the same health one writes it, and the other is refused at once", func(t *testing.T, b bench) {
		r := broken("claude")
		put := func(version int64) error {
			return b.try(t, func(ctx context.Context, tx *store.Tx) error { return tx.PutHealth(ctx, r, version) })
		}
		for version := range int64(3) {
			if err := put(version); err != nil {
				t.Fatal(err)
			}
			is(t, put(version), store.ErrStale)
		}
		is(t, put(7), store.ErrStale)
		is(t, put(0), store.ErrStale)
	}},
	{"Z77 Z78 of eight that ask for one trial at once one has it", func(t *testing.T, b bench) {
		p := health.Policy{OpenAfter: 1, Window: time.Hour, Cooldown: time.Minute, ErrorPct: 50, MinSamples: 2}
		half := broken("claude")
		half.Trial = health.Trial{}
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.PutHealth(ctx, half, 0) })
		var won atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				claimed := false
				err := b.InTx(t.Context(), func(tx *store.Tx) error {
					r, version, err := tx.Health(t.Context(), half.Route)
					if err != nil {
						return err
					}
					v := health.Admit(r, fmt.Sprint("r-", i), at.Add(p.Cooldown), p)
					if claimed = v.Claimed; !claimed {
						return nil
					}
					return tx.PutHealth(t.Context(), v.Record, version)
				})
				if err != nil && !errors.Is(err, store.ErrStale) {
					t.Error(err)
				}
				if err == nil && claimed {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if n := won.Load(); n != 1 {
			t.Errorf("%d have it", n)
		}
	}},
	{"Z83 a route that is reset is as new, and no other is touched", func(t *testing.T, b bench) {
		claude, codex := broken("claude"), broken("codex")
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.PutHealth(ctx, claude, 0); err != nil {
				return err
			}
			return tx.PutHealth(ctx, codex, 0)
		})
		for range 2 {
			b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.ResetHealth(ctx, claude.Route) })
		}
		want(t, []health.Record{codex})(b.Health(t.Context()))
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.PutHealth(ctx, claude, 0) })
	}},
}
