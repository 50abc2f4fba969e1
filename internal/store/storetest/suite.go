// Package storetest holds every database to what package store promises. Each
// dialect runs the same suite, so what is proved for one holds for the others.
package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// Run runs the suite. open returns a new, empty store that is closed when its
// test ends.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	for _, part := range [][]proof{claims, openRuns, messages, reopened, threads, records, teams, events, engines, healths, values, transactions} {
		for _, p := range part {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.prove(t, bench{open(t)})
			})
		}
	}
}

// proof is one promise, and how it is proved.
type proof struct {
	name  string
	prove func(t *testing.T, b bench)
}

// bench is a store under test.
type bench struct{ *store.Store }

// at is a fixed instant: nothing here depends on when it runs.
var at = time.Date(2026, 11, 5, 9, 30, 15, 250_000_000, time.UTC)

func (b bench) write(t *testing.T, do func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	if err := b.try(t, do); err != nil {
		t.Fatal(err)
	}
}

func (b bench) try(t *testing.T, do func(ctx context.Context, tx *store.Tx) error) error {
	t.Helper()
	return b.InTx(t.Context(), func(tx *store.Tx) error { return do(t.Context(), tx) })
}

// thread adds a thread with one message.
func (b bench) thread(t *testing.T, id paceline.ThreadID, m paceline.MessageID) {
	t.Helper()
	b.write(t, func(ctx context.Context, tx *store.Tx) error {
		th := store.Thread{ID: id, Dir: "/src/app", Tree: "/src", Title: "fix it", Mode: paceline.ModeEdit, Created: at, Updated: at}
		if err := th.SetPolicy(struct{}{}); err != nil {
			return err
		}
		if err := tx.AddThread(ctx, th); err != nil {
			return err
		}
		return added(tx.AddMessage(ctx, prompt(m, id)))
	})
}

func prompt(id paceline.MessageID, th paceline.ThreadID) paceline.Message {
	return paceline.Message{ID: id, Thread: th, Kind: paceline.KindPrompt, Sender: "user", Text: "fix it", UUID: "u-" + string(id), At: at}
}

// added turns the answer of AddMessage into an error where nothing was added.
func added(_ store.Message, accepted bool, err error) error {
	if err == nil && !accepted {
		return errors.New("not accepted")
	}
	return err
}

func running(id paceline.RunID, th paceline.ThreadID, m paceline.MessageID) run.State {
	return run.State{
		ID: id, Thread: th, Message: m, Engine: paceline.Engine{Account: "claude"},
		Phase: run.Running, Sent: true, Work: paceline.WorkNone, Created: at, Began: at,
	}
}

// failed is what a step makes of a running run at its limit.
func failed(s run.State) run.State {
	s.Phase, s.Ended = run.Failed, at
	s.Failure = &paceline.Failure{Cause: paceline.CauseUsageLimit, Code: "usage_limit_reached", Work: paceline.WorkNone}
	s.Claim = run.Claim{Phase: run.Pending, Target: paceline.Engine{Account: "codex"}, Why: "hit its usage limit", Since: at}
	return s
}

// add adds runs in their order.
func (b bench) add(t *testing.T, runs ...run.State) {
	t.Helper()
	b.write(t, func(ctx context.Context, tx *store.Tx) error {
		for _, r := range runs {
			if err := tx.AddRun(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// want compares what was read with what was written.
func want[T any](t *testing.T, wanted T) func(got T, err error) {
	t.Helper()
	return func(got T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "read", wanted, got)
	}
}

// names reads the ids out of rows.
func names[T any, N ~string](t *testing.T, name func(T) N) func(rows []T, err error) []string {
	t.Helper()
	return func(rows []T, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range rows {
			out = append(out, string(name(r)))
		}
		return out
	}
}

func runID(s run.State) paceline.RunID { return s.ID }

func equal[T any](t *testing.T, what string, wanted, got T) {
	t.Helper()
	if !reflect.DeepEqual(wanted, got) {
		t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, wanted)
	}
}

func is(t *testing.T, err, wanted error) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Errorf("got error %v, want %v", err, wanted)
	}
}
