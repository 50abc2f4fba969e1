package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

var claims = []proof{
	{"F15 a failure, its claim, its settlement and its decision land together or not at all", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		before := running("r-1", "t-1", "m-1")
		b.add(t, before)
		gaveUp := errors.New("the effect was refused")
		land := func(last error) error {
			return b.try(t, func(ctx context.Context, tx *store.Tx) error {
				s, version, err := tx.Run(ctx, "r-1")
				return errors.Join(
					err,
					tx.PutRun(ctx, failed(s), version),
					tx.AddDecision(ctx, "t-1", run.Decision{At: at, Run: "r-1", Event: "end", What: "claim"}),
					tx.AddItem(ctx, store.Item{Thread: "t-1", Run: "r-1", Kind: "announcement", At: at}),
					tx.HoldLimit(ctx, paceline.Limit{Engine: s.Engine, Seen: at}),
					tx.SettleMessage(ctx, "m-1", run.Settle{Status: run.Blocked}),
					last,
				)
			})
		}
		is(t, land(gaveUp), gaveUp)
		want(t, before)(b.Run(t.Context(), "r-1"))
		want(t, []run.Decision(nil))(b.Decisions(t.Context(), "t-1"))
		want(t, []store.Item(nil))(b.Items(t.Context(), "t-1", 0))
		want(t, []paceline.Limit(nil))(b.Limits(t.Context()))
		if m, err := b.Message(t.Context(), "m-1"); err != nil || m.Status != run.Unsettled {
			t.Errorf("the message is %s (%v) after a rollback", m.Status, err)
		}
		if err := land(nil); err != nil {
			t.Fatal(err)
		}
		want(t, failed(before))(b.Run(t.Context(), "r-1"))
		if ds, err := b.Decisions(t.Context(), "t-1"); err != nil || len(ds) != 1 {
			t.Errorf("got %d decisions (%v), want 1", len(ds), err)
		}
	}},
	{"F18 of eight writers that read the same run one wins and seven are stale", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.add(t, running("r-1", "t-1", "m-1"))
		var version int64
		b.write(t, func(ctx context.Context, tx *store.Tx) (err error) {
			_, version, err = tx.Run(ctx, "r-1")
			return err
		})
		errs := race(8, func(i int) error {
			return b.try(t, func(ctx context.Context, tx *store.Tx) error {
				s := failed(running("r-1", "t-1", "m-1"))
				s.Claim.Why = fmt.Sprint("writer ", i)
				return tx.PutRun(ctx, s, version)
			})
		})
		equal(t, "errors", tally{won: 1, stale: 7}, count(errs))
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			_, v, err := tx.Run(ctx, "r-1")
			equal(t, "version", version+1, v)
			return err
		})
	}},
	{"F18 two attempts with ids of their own create one successor", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.add(t, failed(running("r-1", "t-1", "m-1")))
		errs := race(8, func(i int) error {
			return b.try(t, func(ctx context.Context, tx *store.Tx) error {
				next := running(paceline.RunID(fmt.Sprint("r-next-", i)), "t-1", "m-1")
				next.After = "r-1"
				return tx.AddRun(ctx, next)
			})
		})
		equal(t, "errors", tally{won: 1, stale: 7}, count(errs))
		runs, err := b.Runs(t.Context(), "t-1")
		if err != nil || len(runs) != 2 {
			t.Errorf("got %d runs (%v), want the failed one and one successor", len(runs), err)
		}
	}},
	{"F18 a run that exists is not added again", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.add(t, running("r-1", "t-1", "m-1"))
		is(t, b.try(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddRun(ctx, failed(running("r-1", "t-1", "m-1")))
		}), store.ErrStale)
		want(t, running("r-1", "t-1", "m-1"))(b.Run(t.Context(), "r-1"))
	}},
	{"F18 runs without a predecessor do not stand in each other's way", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.add(t, running("r-1", "t-1", "m-1"), running("r-2", "t-1", "m-1"))
		equal(t, "runs", []string{"r-1", "r-2"}, names(t, runID)(b.Runs(t.Context(), "t-1")))
	}},
	{"P3 putting a run that is not there is stale", func(t *testing.T, b bench) {
		is(t, b.try(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutRun(ctx, running("r-none", "t-1", "m-1"), 1)
		}), store.ErrStale)
	}},
}

// race lets n writers go at once.
func race(n int, write func(i int) error) []error {
	errs := make([]error, n)
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			errs[i] = write(i)
		})
	}
	done.Wait()
	return errs
}

type tally struct{ won, stale, other int }

func count(errs []error) (n tally) {
	for _, err := range errs {
		switch {
		case err == nil:
			n.won++
		case errors.Is(err, store.ErrStale):
			n.stale++
		default:
			n.other++
		}
	}
	return n
}

var openRuns = []proof{
	{"P3 a run stays open until it is over and its claim resolved", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		var wanted []string
		var all []run.State
		for phase := run.Queued; phase <= run.Stopped; phase++ {
			for claim := run.NoClaim; claim <= run.Skipped; claim++ {
				s := running(paceline.RunID(fmt.Sprintf("r-%s-%s", phase, claim)), "t-1", "m-1")
				s.Phase, s.Claim.Phase = phase, claim
				if all = append(all, s); s.Open() {
					wanted = append(wanted, string(s.ID))
				}
			}
		}
		b.add(t, all...)
		equal(t, "orphans", wanted, names(t, runID)(b.Orphans(t.Context())))
		// And as rows are rewritten: everything ends.
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for _, s := range all {
				s.Phase, s.Claim.Phase = run.Done, run.NoClaim
				if err := tx.PutRun(ctx, s, 1); err != nil {
					return err
				}
			}
			return nil
		})
		equal(t, "orphans", nil, names(t, runID)(b.Orphans(t.Context())))
	}},
	{"F19 runs since count the thread's later ones for other messages", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.thread(t, "t-2", "m-3")
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return added(tx.AddMessage(ctx, prompt("m-2", "t-1"))) })
		b.add(t,
			running("r-before", "t-1", "m-2"), running("r-this", "t-1", "m-1"), running("r-same", "t-1", "m-1"),
			running("r-elsewhere", "t-2", "m-3"), running("r-later", "t-1", "m-2"), running("r-latest", "t-1", "m-2"))
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for id, wanted := range map[paceline.RunID]int{"r-this": 2, "r-before": 2, "r-later": 0, "r-latest": 0} {
				n, err := tx.RunsSince(ctx, "t-1", id)
				if err != nil {
					return err
				}
				equal(t, "runs since "+string(id), wanted, n)
			}
			rs, err := tx.RunsOfMessage(ctx, "m-1")
			equal(t, "runs of m-1", []string{"r-this", "r-same"}, names(t, runID)(rs, err))
			return nil
		})
		equal(t, "runs of t-1", []string{"r-before", "r-this", "r-same", "r-later", "r-latest"}, names(t, runID)(b.Runs(t.Context(), "t-1")))
	}},
}
