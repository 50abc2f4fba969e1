package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

var records = []proof{
	{"P5 a decision keeps its reasons, by thread and by run, oldest first", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.thread(t, "t-2", "m-2")
		b.add(t, running("r-1", "t-1", "m-1"), running("r-2", "t-1", "m-1"))
		decide := func(id paceline.RunID, what string, when time.Time) run.Decision {
			return run.Decision{
				At: when, Run: id, Event: "end", From: run.Running, To: run.Failed, What: what, Why: "because",
				Out:      []place.Exclusion{{Engine: paceline.Engine{Account: "codex", Model: "m"}, Why: "it is limited"}},
				Evidence: []paceline.Evidence{{Frame: "result", Line: 3, Says: "a", Means: "b"}},
			}
		}
		ds := []run.Decision{
			decide("", "nobody can serve", at), decide("r-1", "first", at), decide("r-2", "second", at),
			decide("r-1", "third", at.Add(-time.Hour)),
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for _, d := range ds {
				if err := tx.AddDecision(ctx, "t-1", d); err != nil {
					return err
				}
			}
			return tx.AddDecision(ctx, "t-2", decide("", "elsewhere", at))
		})
		want(t, ds)(b.Decisions(t.Context(), "t-1"))
		want(t, []run.Decision{ds[1], ds[3]})(b.RunDecisions(t.Context(), "r-1"))
	}},
	{"Z52 what was asked of a seat is kept with its thread, and of no other", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.thread(t, "t-2", "m-2")
		codex := paceline.Engine{Account: "codex", Model: "m"}
		seat := run.Seat{Base: codex, Next: &run.Move{Engine: codex, Home: true, At: at}, Parked: at}
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.SetSeat(ctx, "t-1", seat) })
		one, err := b.Thread(t.Context(), "t-1")
		want(t, seat)(one.Seat, err)
		two, err := b.Thread(t.Context(), "t-2")
		want(t, run.Seat{})(two.Seat, err)
	}},
	{"Items count from one in each thread, in the order in which they were added", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.thread(t, "t-2", "m-2")
		item := func(th paceline.ThreadID, i int) store.Item {
			return store.Item{Thread: th, Run: "r-1", Kind: "text", Body: json.RawMessage(fmt.Sprintf(`{"text":"%d \u0000"}`, i)), At: at}
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddItems(ctx, []store.Item{item("t-1", 1), item("t-2", 1), item("t-1", 2)})
		})
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.AddItem(ctx, item("t-1", 3)) })
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.AddItems(ctx, nil) })
		var wanted []store.Item
		for i := 1; i <= 3; i++ {
			it := item("t-1", i)
			it.Seq = int64(i)
			wanted = append(wanted, it)
		}
		want(t, wanted)(b.Items(t.Context(), "t-1", 0))
		want(t, wanted[2:])(b.Items(t.Context(), "t-1", 2))
		want(t, []store.Item(nil))(b.Items(t.Context(), "t-1", 3))
		its, err := b.Items(t.Context(), "t-2", 0)
		if err != nil || len(its) != 1 || its[0].Seq != 1 {
			t.Errorf("the other thread has %v (%v)", its, err)
		}
	}},
	{"A long thread is looked through by its heads; only what is wanted is read whole", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		item := func(run paceline.RunID, kind, body string) store.Item {
			return store.Item{Thread: "t-1", Run: run, Kind: kind, Body: json.RawMessage(body), At: at}
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddItems(ctx, []store.Item{
				item("r-1", "tool", `{"name":"Bash"}`), item("r-1", "result", `{"n":"1"}`), item("r-1", "packet", `{"text":"a"}`), item("r-1", "packet", `{"text":"b"}`), item("r-2", "packet", `{"text":"c"}`),
			})
		})
		want(t, []store.Head{
			{Seq: 1, Run: "r-1", Kind: "tool", Size: 15},
			{Seq: 2, Run: "r-1", Kind: "result", Size: 9, Body: json.RawMessage(`{"n":"1"}`)},
			{Seq: 3, Run: "r-1", Kind: "packet", Size: 12},
			{Seq: 4, Run: "r-1", Kind: "packet", Size: 12},
			{Seq: 5, Run: "r-2", Kind: "packet", Size: 12},
		})(b.Heads(t.Context(), "t-1"))
		third := item("r-1", "packet", `{"text":"a"}`)
		third.Seq = 3
		want(t, third)(b.Item(t.Context(), "t-1", 3))
		latest := item("r-1", "packet", `{"text":"b"}`)
		latest.Seq = 4
		want(t, latest)(b.RunItem(t.Context(), "t-1", "r-1", "packet"))
		_, err := b.Item(t.Context(), "t-1", 9)
		is(t, err, store.ErrNotFound)
		_, err = b.RunItem(t.Context(), "t-1", "r-3", "packet")
		is(t, err, store.ErrNotFound)
	}},
	{"What is not there is said to be so", func(t *testing.T, b bench) {
		ctx := t.Context()
		_, err := b.Thread(ctx, "t-none")
		is(t, err, store.ErrNotFound)
		_, err = b.Message(ctx, "m-none")
		is(t, err, store.ErrNotFound)
		_, err = b.Run(ctx, "r-none")
		is(t, err, store.ErrNotFound)
		is(t, b.try(t, func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.Run(ctx, "r-none")
			return err
		}), store.ErrNotFound)
	}},
}

var engines = []proof{
	{"A limit is held for every process until it is lifted, and what was seen last stands", func(t *testing.T, b bench) {
		office := paceline.Engine{Account: "office", Model: "gpt-5.6-sol"}
		claude := paceline.Engine{Account: "claude"}
		limit := func(e paceline.Engine, seen time.Time, code string) paceline.Limit {
			return paceline.Limit{
				Engine: e, Cause: paceline.CauseUsageLimit, Scope: code, Seen: seen, Run: "r-1",
				Reset: paceline.Reset{At: at.Add(time.Hour), Source: paceline.ResetDerived},
			}
		}
		hold := func(l paceline.Limit) {
			b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.HoldLimit(ctx, l) })
		}
		hold(limit(office, at, "five_hour"))
		hold(limit(claude, at, "five_hour"))
		hold(limit(claude, at.Add(time.Minute), "weekly"))
		hold(limit(claude, at.Add(-time.Minute), "late"))
		want(t, []paceline.Limit{limit(claude, at.Add(time.Minute), "weekly"), limit(office, at, "five_hour")})(b.Limits(t.Context()))
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.LiftLimit(ctx, claude) })
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.LiftLimit(ctx, claude) })
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.LiftLimit(ctx, paceline.Engine{Account: "office"}) // another engine of the same account
		})
		want(t, []paceline.Limit{limit(office, at, "five_hour")})(b.Limits(t.Context()))
	}},
	{"An account keeps what was seen last", func(t *testing.T, b bench) {
		rows := []store.AccountRow{
			{Name: "a", Harness: "codex", Seen: at},
			{Name: "b", Harness: "claude", Version: "2.1", SignedIn: true, Posture: paceline.PostureSubscription, Stamp: "7", Seen: at},
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for _, r := range []store.AccountRow{rows[1], rows[0]} {
				if err := tx.PutAccount(ctx, r); err != nil {
					return err
				}
			}
			return nil
		})
		want(t, rows)(b.Accounts(t.Context()))
		rows[1] = store.AccountRow{Name: "b", Harness: "claude", Version: "2.2", Note: "is not signed in", Seen: at.Add(time.Hour)}
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.PutAccount(ctx, rows[1]) })
		want(t, rows)(b.Accounts(t.Context()))
	}},
	{"Unknown frames are counted by harness, version and frame", func(t *testing.T, b bench) {
		for _, f := range []struct {
			version, frame string
			n              int
		}{{"2.2", "x", 1}, {"2.1", "y", 2}, {"2.1", "x \xff\x00", 3}, {"2.1", "y", 4}} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				return tx.CountUnknown(ctx, "claude", f.version, f.frame, f.n)
			})
		}
		got, err := b.UnknownFrames(t.Context())
		for i := range got {
			if got[i].Last.IsZero() {
				t.Errorf("%s was never seen", got[i].Frame)
			}
			got[i].Last = time.Time{}
		}
		want(t, []store.UnknownFrame{
			{Harness: "claude", Version: "2.1", Frame: "x \uFFFD\uFFFD", Count: 3},
			{Harness: "claude", Version: "2.1", Frame: "y", Count: 6},
			{Harness: "claude", Version: "2.2", Frame: "x", Count: 1},
		})(got, err)
	}},
}
