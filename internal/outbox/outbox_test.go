package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/outbox"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/pgtest"
	"github.com/paceline/paceline/internal/store/postgres"
	"github.com/paceline/paceline/internal/store/sqlite"
)

// server is the PostgreSQL of these tests.
var server pgtest.Server

// all are the tests, and the end of what they started.
type all struct{ *testing.M }

func (m all) Run() int {
	defer server.Stop()
	return m.M.Run()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(all{m}) }

const onPostgres = "PostgreSQL"

// both holds each kind of database to the same.
func both(t *testing.T, prove func(t *testing.T)) {
	t.Parallel()
	for _, name := range []string{"SQLite", onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prove(t)
		})
	}
}

// patience bounds every wait of a test. Nothing here takes a tenth of it.
const patience = 30 * time.Second

func TestEnqueue(t *testing.T) { both(t, enqueueing) }

func enqueueing(t *testing.T) {
	t.Run("F15 an effect is there when its transaction is, and gone when that is undone", func(t *testing.T) {
		t.Parallel()
		st := open(t, path(t))
		box := opened(t, st, nobody(t))
		undone := errors.New("undone")
		err := st.InTx(t.Context(), func(tx *store.Tx) error {
			return errors.Join(box.Enqueue(t.Context(), tx, run.Dispatch{Run: "r-1"}), undone)
		})
		if !errors.Is(err, undone) {
			t.Error(err)
		}
		wantPending(t, st)
		enqueue(t, st, box, "r-1")
		wantPending(t, st, outbox.Kind{Name: "dispatch", Count: 1, Known: true})
	})
	t.Run("F18 a run with an unfinished effect gets no second one", func(t *testing.T) {
		t.Parallel()
		st := open(t, path(t))
		box := opened(t, st, nobody(t))
		enqueue(t, st, box, "r-1", "r-2", "r-1")
		enqueue(t, st, box, "r-1")
		wantPending(t, st, outbox.Kind{Name: "dispatch", Count: 2, Known: true})
	})
	t.Run("An effect that its author performs is taken out with it", func(t *testing.T) {
		t.Parallel()
		st := open(t, path(t))
		box := opened(t, st, nobody(t))
		enqueue(t, st, box, "r-1", "r-2")
		performed := func(last error) error {
			return st.InTx(t.Context(), func(tx *store.Tx) error {
				return errors.Join(box.Performed(t.Context(), tx, "r-1"), last)
			})
		}
		if performed(errors.New("undone")) == nil {
			t.Error("committed")
		}
		wantPending(t, st, outbox.Kind{Name: "dispatch", Count: 2, Known: true})
		if err := performed(nil); err != nil {
			t.Fatal(err)
		}
		wantPending(t, st, outbox.Kind{Name: "dispatch", Count: 1, Known: true})
		if err := performed(nil); err != nil {
			t.Errorf("there was none left: %v", err)
		}
	})
}

func TestWork(t *testing.T) { both(t, working) }

func working(t *testing.T) {
	t.Run("F31 what a process left behind is performed by the one that starts next", func(t *testing.T) {
		t.Parallel()
		file := path(t)
		left := open(t, file)
		enqueue(t, left, opened(t, left, nobody(t)), "r-1", "r-2")
		if err := left.Close(); err != nil {
			t.Fatal(err)
		}
		st := open(t, file)
		seen := newJournal()
		start(t, opened(t, st, seen.perform))
		seen.await(t, "r-1 1", "r-2 1")
		awaitPending(t, st)
	})
	t.Run("F31 an effect that is written while somebody works is performed by them", func(t *testing.T) {
		t.Parallel()
		st := open(t, path(t))
		seen := newJournal()
		box := opened(t, st, seen.perform)
		start(t, box)
		enqueue(t, st, box, "r-1")
		seen.await(t, "r-1 1")
		awaitPending(t, st)
	})
	t.Run("F17 an attempt that is refused is followed by another one with a number of its own", func(t *testing.T) {
		t.Parallel()
		st := open(t, path(t))
		seen := newJournal()
		box := opened(t, st, func(ctx context.Context, id paceline.RunID, attempt int) error {
			_ = seen.perform(ctx, id, attempt)
			switch attempt {
			case 1:
				return errors.New("refused")
			case 2:
				panic("broken")
			}
			return nil
		})
		enqueue(t, st, box, "r-1")
		start(t, box)
		seen.await(t, "r-1 1", "r-1 2", "r-1 3")
		awaitPending(t, st)
	})
	t.Run("F18 two outboxes on one store perform each effect once", func(t *testing.T) {
		t.Parallel()
		file := path(t)
		seen := newJournal()
		var wanted []string
		var boxes []*outbox.Outbox
		var stores []*store.Store
		for range 2 {
			st := open(t, file)
			box := opened(t, st, seen.perform)
			start(t, box)
			boxes, stores = append(boxes, box), append(stores, st)
		}
		for i := range 40 {
			id := paceline.RunID(fmt.Sprintf("r-%02d", i))
			enqueue(t, stores[i%2], boxes[i%2], id)
			wanted = append(wanted, string(id)+" 1")
		}
		seen.await(t, wanted...)
		awaitPending(t, stores[0])
	})
	t.Run("F18 a claim that its author dispatched is found done, and has one successor", func(t *testing.T) {
		t.Parallel()
		st := open(t, path(t))
		claimed(t, st, "r-1")
		seen := newJournal()
		dispatch := func(ctx context.Context, id paceline.RunID, attempt int) error {
			err := st.InTx(ctx, func(tx *store.Tx) error { return dispatched(ctx, tx, id) })
			if err == nil {
				_ = seen.perform(ctx, id, attempt)
			}
			return err
		}
		box := opened(t, st, dispatch)
		enqueue(t, st, box, "r-1")
		start(t, box)
		if err := dispatch(t.Context(), "r-1", 0); err != nil && !errors.Is(err, store.ErrStale) {
			t.Fatal(err)
		}
		seen.await(t, "r-1 0", "r-1 1")
		runs, err := st.Runs(t.Context(), "t-1")
		if err != nil || len(runs) != 2 || runs[0].Claim.Phase != run.Dispatched || runs[0].Claim.Next != runs[1].ID {
			t.Errorf("%v (%v)", runs, err)
		}
		awaitPending(t, st)
	})
	t.Run("A job ends when its time is up", func(t *testing.T) {
		t.Parallel()
		st := open(t, path(t))
		left := make(chan time.Duration, 1)
		box := opened(t, st, func(ctx context.Context, _ paceline.RunID, _ int) error {
			end, _ := ctx.Deadline()
			left <- time.Until(end)
			return nil
		})
		enqueue(t, st, box, "r-1")
		start(t, box)
		if d := await(t, left); d <= 0 || d > 20*time.Second {
			t.Errorf("it may last %v", d)
		}
	})
}

func TestStartAndStop(t *testing.T) { both(t, startingAndStopping) }

func startingAndStopping(t *testing.T) {
	st := open(t, path(t))
	seen := newJournal()
	working, finish := make(chan struct{}), make(chan struct{})
	box := opened(t, st, func(ctx context.Context, id paceline.RunID, attempt int) error {
		if id == "r-slow" {
			close(working)
			<-finish
		}
		return seen.perform(ctx, id, attempt)
	})
	if err := box.Stop(t.Context()); err != nil {
		t.Errorf("stopping what was not started: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		if err := box.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	cancel() // bounds the start, and nothing after it
	enqueue(t, st, box, "r-slow")
	await(t, working)
	stopped := make(chan error, 1)
	go func() { stopped <- box.Stop(context.WithoutCancel(ctx)) }()
	close(finish)
	if err := await(t, stopped); err != nil {
		t.Errorf("stopping: %v", err)
	}
	seen.await(t, "r-slow 1")
	wantPending(t, st) // its end is on record before Stop returns
	enqueue(t, st, box, "r-1")
	wantPending(t, st, outbox.Kind{Name: "dispatch", Count: 1, Known: true})
	start(t, box)
	seen.await(t, "r-slow 1", "r-1 1")
}

func TestHosts(t *testing.T) {
	t.Parallel()
	t.Run("An effect of another host's run is left to it, whoever works the same database, in "+onPostgres, func(t *testing.T) {
		t.Parallel()
		file := server.Database(t)
		attic, barn := openAs(t, file, "attic-1"), openAs(t, file, "barn-2")
		enqueue(t, attic, opened(t, attic, nobody(t)), "r-attic")
		seen := newJournal()
		box := opened(t, barn, seen.perform)
		start(t, box)
		enqueue(t, barn, box, "r-barn")
		seen.await(t, "r-barn 1")
		awaitPending(t, barn)
		wantPending(t, attic, outbox.Kind{Name: "dispatch", Count: 1, Known: true})
		start(t, opened(t, attic, seen.perform))
		seen.await(t, "r-barn 1", "r-attic 1")
	})
}

// claimed adds a failed run with a pending claim.
func claimed(t *testing.T, st *store.Store, id paceline.RunID) {
	t.Helper()
	ctx := t.Context()
	err := st.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.AddThread(ctx, store.Thread{ID: "t-1"}); err != nil {
			return err
		}
		if _, _, err := tx.AddMessage(ctx, paceline.Message{ID: "m-1", Thread: "t-1"}); err != nil {
			return err
		}
		return tx.AddRun(ctx, run.State{ID: id, Thread: "t-1", Message: "m-1", Phase: run.Failed, Claim: run.Claim{Phase: run.Pending}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dispatched resolves a claim as the rules do: only while it is pending.
func dispatched(ctx context.Context, tx *store.Tx, id paceline.RunID) error {
	s, version, err := tx.Run(ctx, id)
	if err != nil || s.Claim.Phase != run.Pending {
		return err
	}
	next := run.State{ID: paceline.RunID(store.NewID("r")), Thread: s.Thread, Message: s.Message, After: id}
	s.Claim.Phase, s.Claim.Next = run.Dispatched, next.ID
	if err := tx.PutRun(ctx, s, version); err != nil {
		return err
	}
	return tx.AddRun(ctx, next)
}

// journal writes down what was performed: the run and the attempt.
type journal struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{}
}

func newJournal() *journal { return &journal{more: make(chan struct{}, 1000)} }

func (j *journal) perform(_ context.Context, id paceline.RunID, attempt int) error {
	j.mu.Lock()
	j.lines = append(j.lines, fmt.Sprint(id, " ", attempt))
	j.mu.Unlock()
	j.more <- struct{}{}
	return nil
}

func (j *journal) sorted() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Sorted(slices.Values(j.lines))
}

// await waits until as many lines are there as are wanted, and compares them.
func (j *journal) await(t *testing.T, wanted ...string) {
	t.Helper()
	late := time.After(patience)
	for len(j.sorted()) < len(wanted) {
		select {
		case <-j.more:
		case <-late:
			t.Fatalf("got %q, want %q", j.sorted(), wanted)
		}
	}
	slices.Sort(wanted)
	if got := j.sorted(); !slices.Equal(got, wanted) {
		t.Fatalf("got %q, want %q", got, wanted)
	}
}

// await takes what comes out of a channel, or its end.
func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	return v
}

func nobody(t *testing.T) outbox.Performer {
	return func(_ context.Context, id paceline.RunID, _ int) error {
		t.Errorf("%s was performed by an outbox that was not started", id)
		return nil
	}
}

// path is where a new store is, in the kind of database that the test is named
// for.
func path(t *testing.T) string {
	t.Helper()
	if strings.Contains(t.Name(), "/"+onPostgres) {
		return server.Database(t)
	}
	return filepath.Join(t.TempDir(), "p.db")
}

func open(t *testing.T, file string) *store.Store {
	t.Helper()
	return openAs(t, file, "attic")
}

// openAs opens a store for a host; a file has but one.
func openAs(t *testing.T, file, host string) *store.Store {
	t.Helper()
	var st *store.Store
	var err error
	if strings.HasPrefix(file, "postgres:") {
		st, err = postgres.Open(t.Context(), file, postgres.Options{Host: host})
	} else {
		st, err = sqlite.Open(t.Context(), file, sqlite.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func opened(t *testing.T, st *store.Store, p outbox.Performer) *outbox.Outbox {
	t.Helper()
	box, err := outbox.New(st, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// start starts an outbox until the test ends.
func start(t *testing.T, box *outbox.Outbox) {
	t.Helper()
	if err := box.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

func enqueue(t *testing.T, st *store.Store, box *outbox.Outbox, ids ...paceline.RunID) {
	t.Helper()
	err := st.InTx(t.Context(), func(tx *store.Tx) error {
		for _, id := range ids {
			if err := box.Enqueue(t.Context(), tx, run.Dispatch{Run: id}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func pending(t *testing.T, st *store.Store) []outbox.Kind {
	t.Helper()
	kinds, err := outbox.Pending(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func wantPending(t *testing.T, st *store.Store, wanted ...outbox.Kind) {
	t.Helper()
	if got := pending(t, st); !slices.Equal(got, wanted) {
		t.Errorf("pending %v, want %v", got, wanted)
	}
}

// awaitPending waits for the end of jobs to be on record, which follows their
// performance.
func awaitPending(t *testing.T, st *store.Store, wanted ...outbox.Kind) {
	t.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); {
		if slices.Equal(pending(t, st), wanted) {
			return
		}
		select {
		case <-t.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
	wantPending(t, st, wanted...)
}
