package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/outbox"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/sqlite"
)

// victim is set for a child that writes claims until it is killed.
const victim = "PACELINE_TEST_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victim); path != "" {
		fmt.Fprintln(os.Stderr, fail(path, os.Stdout))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// fail lets one run after another fail with a claim, and says so of each that
// is committed.
func fail(path string, said io.Writer) error {
	ctx := context.Background()
	st, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	box, err := outbox.New(st, func(context.Context, paceline.RunID, int) error { return nil }, nil)
	if err != nil {
		return err
	}
	th, m := paceline.ThreadID(store.NewID("t")), paceline.MessageID(store.NewID("m"))
	err = st.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.AddThread(ctx, store.Thread{ID: th}); err != nil {
			return err
		}
		_, _, err := tx.AddMessage(ctx, paceline.Message{ID: m, Thread: th, Kind: paceline.KindPrompt})
		return err
	})
	for err == nil {
		s := run.State{ID: paceline.RunID(store.NewID("r")), Thread: th, Message: m, Phase: run.Running}
		if err = st.InTx(ctx, func(tx *store.Tx) error { return tx.AddRun(ctx, s) }); err != nil {
			return err
		}
		err = st.InTx(ctx, func(tx *store.Tx) error {
			s, version, err := tx.Run(ctx, s.ID)
			if err != nil {
				return err
			}
			s.Phase, s.Claim.Phase = run.Failed, run.Pending
			if err := box.Enqueue(ctx, tx, run.Dispatch{Run: s.ID}); err != nil {
				return err
			}
			if err := tx.PutRun(ctx, s, version); err != nil {
				return err
			}
			return tx.AddDecision(ctx, th, run.Decision{Run: s.ID, What: "claim"})
		})
		fmt.Fprintln(said, s.ID)
	}
	return err
}

func TestKill(t *testing.T) {
	t.Run("F15 a process that is killed anywhere leaves each failure with its claim and its effect, or none of them", func(t *testing.T) {
		kills := 10
		if os.Getenv("PACELINE_SOAK") != "" {
			kills = 300
		}
		path := filepath.Join(t.TempDir(), "p.db")
		promised := map[paceline.RunID]bool{}
		for i := range kills {
			if i%3 == 2 { // now and then the killing begins with a new store
				path, promised = filepath.Join(t.TempDir(), "p.db"), map[paceline.RunID]bool{}
			}
			for _, id := range kill(t, path, i) {
				promised[id] = true
			}
			kept(t, path, promised)
		}
	})
}

// kill starts a victim and kills it after a random while, or after a random
// number of claims. It returns what the victim said was committed.
func kill(t *testing.T, path string, i int) (said []paceline.RunID) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), victim+"="+path), os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	claims, after := 1+rand.IntN(60), time.Minute
	if i%2 == 1 {
		claims, after = 1<<30, time.Duration(rand.IntN(150))*time.Millisecond
	}
	timer := time.AfterFunc(after, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, paceline.RunID(lines.Text()))
		if len(said) == claims {
			_ = c.Process.Kill()
		}
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the victim ended by itself: %v", err)
	}
	return said
}

// kept holds a store to its promise.
func kept(t *testing.T, path string, promised map[paceline.RunID]bool) {
	t.Helper()
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	whole(t, st)
	rows, err := st.ReadDB().QueryContext(t.Context(), `SELECT args ->> 'run', count(*) FROM river_job GROUP BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	jobs := map[paceline.RunID]int{}
	for rows.Next() {
		var id paceline.RunID
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			t.Fatal(err)
		}
		jobs[id] = n
	}
	orphans, err := st.Orphans(t.Context()) // running, or failed with a claim: all of them
	if err != nil {
		t.Fatal(err)
	}
	found := map[paceline.RunID]bool{}
	for _, s := range orphans {
		ds, err := st.RunDecisions(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		wanted := 0
		if s.Phase == run.Failed {
			wanted, found[s.ID] = 1, true
		}
		if jobs[s.ID] != wanted || len(ds) != wanted || (s.Claim.Phase == run.Pending) != (s.Phase == run.Failed) {
			t.Errorf("%s is %s with claim %q, %d jobs and %d decisions", s.ID, s.Phase, s.Claim.Phase, jobs[s.ID], len(ds))
		}
	}
	if len(found) != len(jobs) {
		t.Errorf("%d claims, %d jobs", len(found), len(jobs))
	}
	for id := range promised {
		if !found[id] {
			t.Errorf("%s was committed, and is lost", id)
		}
	}
}

// BenchmarkClaim is a failure, its claim, its effect and its decision, on disk.
func BenchmarkClaim(b *testing.B) {
	st := open(b, filepath.Join(b.TempDir(), "p.db"))
	thread(b, st, "t-1", "m-1")
	box, err := outbox.New(st, func(context.Context, paceline.RunID, int) error { return nil }, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	for b.Loop() {
		b.StopTimer()
		s := run.State{ID: paceline.RunID(store.NewID("r")), Thread: "t-1", Message: "m-1", Phase: run.Running}
		if err := st.InTx(ctx, func(tx *store.Tx) error { return tx.AddRun(ctx, s) }); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		err := st.InTx(ctx, func(tx *store.Tx) error {
			s, version, err := tx.Run(ctx, s.ID)
			s.Phase, s.Claim.Phase = run.Failed, run.Pending
			return errors.Join(err, tx.PutRun(ctx, s, version), box.Enqueue(ctx, tx, run.Dispatch{Run: s.ID}),
				tx.AddDecision(ctx, "t-1", run.Decision{Run: s.ID}))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
