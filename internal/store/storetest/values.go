package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

var values = []proof{
	{"P8 one instant in two zones is one time, to the millisecond", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		kathmandu := time.FixedZone("", 5*3600+45*60)
		instant := at.Add(999 * time.Microsecond) // beyond what is kept
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for id, when := range map[paceline.MessageID]time.Time{"m-utc": instant, "m-zone": instant.In(kathmandu)} {
				m := prompt(id, "t-1")
				m.At = when
				if err := added(tx.AddMessage(ctx, m)); err != nil {
					return err
				}
			}
			// Written later, seen at the very same instant: it stands.
			first := paceline.Limit{Engine: paceline.Engine{Account: "claude"}, Seen: instant, Scope: "utc"}
			second := paceline.Limit{Engine: paceline.Engine{Account: "claude"}, Seen: instant.In(kathmandu), Scope: "zone"}
			return errors.Join(tx.HoldLimit(ctx, first), tx.HoldLimit(ctx, second))
		})
		for _, id := range []paceline.MessageID{"m-utc", "m-zone"} {
			m, err := b.Message(t.Context(), id)
			if err != nil || m.At != at {
				t.Errorf("%s was written at %v (%v), want %v", id, m.At, err, at)
			}
		}
		ls, err := b.Limits(t.Context())
		if err != nil || len(ls) != 1 || ls[0].Scope != "zone" || !ls[0].Seen.Equal(instant) {
			t.Errorf("limits %v (%v)", ls, err)
		}
	}},
	{"P8 a time that nobody set stays unset", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.add(t, run.State{ID: "r-1", Thread: "t-1", Message: "m-1"})
		r, err := b.Run(t.Context(), "r-1")
		if err != nil || !r.Ended.IsZero() || !r.Created.IsZero() {
			t.Errorf("ended %v, created %v: %v", r.Ended, r.Created, err)
		}
		m, err := b.Message(t.Context(), "m-1")
		if err != nil || !m.Settled.IsZero() {
			t.Errorf("settled %v: %v", m.Settled, err)
		}
	}},
	{"F42 fields that this build does not know are passed over", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		wanted := failed(running("r-1", "t-1", "m-1"))
		b.add(t, wanted)
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.SQL().ExecContext(ctx, `UPDATE runs SET body = '{"seat":{"generation":7},"claim2":[1],' || substr(body, 2) WHERE id = $1`, "r-1")
			return err
		})
		want(t, wanted)(b.Run(t.Context(), "r-1"))
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			s, version, err := tx.Run(ctx, "r-1")
			return errors.Join(err, tx.PutRun(ctx, s, version))
		})
		want(t, wanted)(b.Run(t.Context(), "r-1"))
	}},
	{"A run comes back as it was put", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		s := failed(running("r-2", "t-1", "m-1"))
		s.After, s.Hop, s.Conversation, s.Version, s.Starts = "r-1", 1, "c-1", "2.1", 2
		s.Engine = paceline.Engine{Account: "office", Model: "gpt-5.6-sol"}
		s.Containment = paceline.Containment{Mode: paceline.ModeEdit, Writable: []string{"/src"}, Network: true, By: "landlock"}
		s.Posture, s.Work = paceline.PostureMetered, paceline.WorkSome
		s.WorkedBy = paceline.Evidence{Frame: "tool", Line: 4, Says: "Bash", Means: "work"}
		s.Claim.Phase, s.Claim.Next, s.Claim.Refused, s.Claim.Resolved = run.Dispatched, "r-3", 2, at.Add(time.Second)
		b.add(t, s)
		want(t, s)(b.Run(t.Context(), "r-2"))
	}},
}

var transactions = []proof{
	{"F15 what a broken transaction wrote is gone, however it broke", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		write := func(ctx context.Context, tx *store.Tx) {
			if err := tx.AddRun(ctx, running("r-1", "t-1", "m-1")); err != nil {
				t.Error(err)
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic was swallowed")
				}
			}()
			_ = b.InTx(t.Context(), func(tx *store.Tx) error { write(t.Context(), tx); panic("broken") })
		}()
		ctx, cancel := context.WithCancel(t.Context())
		is(t, b.InTx(ctx, func(tx *store.Tx) error { write(ctx, tx); cancel(); return ctx.Err() }), context.Canceled)
		if err := b.InTx(ctx, func(*store.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled context begins a transaction: %v", err)
		}
		want(t, []run.State(nil))(b.Runs(t.Context(), "t-1"))
		b.add(t, running("r-1", "t-1", "m-1")) // and the store goes on
	}},
	{"Of several who decide upon what they read, each has read what those before wrote", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		const rounds, each = 10, 6
		for round := range rounds {
			m := paceline.MessageID(fmt.Sprintf("m-1-%d", round))
			b.write(t, func(ctx context.Context, tx *store.Tx) error { return added(tx.AddMessage(ctx, prompt(m, "t-1"))) })
			var wg sync.WaitGroup
			for i := range each {
				wg.Go(func() {
					// Whoever finds no run of the message begins the only one.
					err := b.try(t, func(ctx context.Context, tx *store.Tx) error {
						rs, err := tx.RunsOfMessage(ctx, m)
						if err != nil || len(rs) > 0 {
							return err
						}
						return tx.AddRun(ctx, running(paceline.RunID(fmt.Sprintf("r-%d-%d", round, i)), "t-1", m))
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}
		if rs, err := b.Runs(t.Context(), "t-1"); err != nil || len(rs) != rounds {
			t.Errorf("%d runs of %d messages: %v", len(rs), rounds, err)
		}
	}},
	{"A transaction sees what it wrote, and nobody else does until it is committed", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.AddRun(ctx, running("r-1", "t-1", "m-1")); err != nil {
				return err
			}
			_, _, err := tx.Run(ctx, "r-1")
			_, outside := b.Run(ctx, "r-1") // and does not wait for the writer
			is(t, outside, store.ErrNotFound)
			return err
		})
		if _, err := b.Run(t.Context(), "r-1"); err != nil {
			t.Error(err)
		}
	}},
	{"A run belongs to a message and a thread that exist", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		for _, r := range []run.State{running("r-1", "t-none", "m-1"), running("r-1", "t-1", "m-none")} {
			if b.try(t, func(ctx context.Context, tx *store.Tx) error { return tx.AddRun(ctx, r) }) == nil {
				t.Errorf("added to %s and %s", r.Thread, r.Message)
			}
		}
	}},
}
