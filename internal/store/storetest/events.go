package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

var events = []proof{
	{"Epochs count up by one, in committed transactions alone", func(t *testing.T, b bench) {
		var got []int64
		next := func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.NextEpoch(ctx)
			got = append(got, n)
			return err
		}
		b.write(t, next)
		if err := b.try(t, func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.NextEpoch(ctx); err != nil {
				return err
			}
			return fmt.Errorf("changed its mind")
		}); err == nil {
			t.Fatal("it was committed")
		}
		b.write(t, next)
		equal(t, "epochs", []int64{1, 2}, got)
	}},
	{"Events are read in order, behind a number, so many at a time", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.thread(t, "t-2", "m-2")
		var rows []store.EventRow
		for i := range int64(5) {
			rows = append(rows, store.EventRow{Seq: i + 1, Epoch: 1 + i/3, Body: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))})
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.AddEvents(ctx, "t-1", rows) })
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.AddEvents(ctx, "t-2", rows[:1]) })
		want(t, rows)(b.Events(t.Context(), "t-1", 0, 100))
		want(t, rows[2:4])(b.Events(t.Context(), "t-1", 2, 2))
		want(t, int64(3))(b.LastEvent(t.Context(), "t-1", 1))
		want(t, int64(5))(b.LastEvent(t.Context(), "t-1", 2))
		want(t, int64(0))(b.LastEvent(t.Context(), "t-3", 9))
	}},
	{"A number of an event is used once", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		row := []store.EventRow{{Seq: 1, Epoch: 1, Body: json.RawMessage(`{}`)}}
		add := func(ctx context.Context, tx *store.Tx) error { return tx.AddEvents(ctx, "t-1", row) }
		b.write(t, add)
		if err := b.try(t, add); err == nil {
			t.Error("it was used twice")
		}
	}},
	{"A thread is unsettled while one of its messages is open", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.thread(t, "t-2", "m-2")
		want(t, []paceline.ThreadID{"t-1", "t-2"})(b.Unsettled(t.Context()))
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.SettleMessage(ctx, "m-1", run.Settle{Status: run.Answered})
		})
		want(t, []paceline.ThreadID{"t-2"})(b.Unsettled(t.Context()))
	}},
	{"F13 a steer is its run's, ends as that run's message does, and waits for itself where the run did not take it", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.add(t, running("r-1", "t-1", "m-1"))
		steered := func() (is bool) {
			b.write(t, func(ctx context.Context, tx *store.Tx) (err error) {
				is, err = tx.Steered(ctx, "r-1")
				return err
			})
			return is
		}
		equal(t, "steered", false, steered())
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for _, id := range []paceline.MessageID{"m-2", "m-3"} {
				m := prompt(id, "t-1")
				m.Kind = paceline.KindSteer
				if err := added(tx.AddSteer(ctx, m, "r-1")); err != nil {
					return err
				}
			}
			return tx.Unsteer(ctx, "m-3")
		})
		equal(t, "steered", true, steered())
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.SettleSteers(ctx, "r-1", run.Settle{Status: run.Blocked, Text: "limited"})
		})
		ms, err := b.Messages(t.Context(), "t-1")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the steer", run.Blocked, ms[1].Status)
		equal(t, "what it was told", "limited", ms[1].Outcome)
		equal(t, "the one that was not taken", run.Unsettled, ms[2].Status)
		equal(t, "is an ordinary message", paceline.KindPrompt, ms[2].Kind)
	}},
	{"A thread keeps the variables of its last client", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		for _, env := range [][]string{{"PATH=/bin", "LANG=C"}, {"PATH=/usr/bin"}} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.SetThreadEnv(ctx, "t-1", env) })
			th, err := b.Thread(t.Context(), "t-1")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "env", env, th.Env)
		}
	}},
	{"Project files are trusted for their tree and contents alone", func(t *testing.T, b bench) {
		trust := func(ctx context.Context, tx *store.Tx) error { return tx.Trust(ctx, "/src", "abc") }
		want(t, false)(b.Trusted(t.Context(), "/src", "abc"))
		b.write(t, trust)
		b.write(t, trust)
		want(t, true)(b.Trusted(t.Context(), "/src", "abc"))
		want(t, false)(b.Trusted(t.Context(), "/src", "abd"))
		want(t, false)(b.Trusted(t.Context(), "/other", "abc"))
	}},
}
