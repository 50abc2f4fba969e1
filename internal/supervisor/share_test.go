package supervisor

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/outbox"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/sqlite"
	"github.com/paceline/paceline/internal/wire"
)

// newOwner serves one thread of a new store, whose engines are never started.
func newOwner(tb testing.TB) *owner {
	tb.Helper()
	dir := tb.TempDir()
	st, err := sqlite.Open(tb.Context(), filepath.Join(dir, "paceline.db"), sqlite.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	return ownerOf(tb, st, dir)
}

// ownerOf is newOwner in a store that is open already.
func ownerOf(tb testing.TB, st *store.Store, dir string) *owner {
	tb.Helper()
	log := slog.New(slog.DiscardHandler)
	s, err := New(Options{
		Store: st, Dir: filepath.Join(dir, "locks"), Log: log,
		Box: func(p outbox.Performer) (*outbox.Outbox, error) { return outbox.New(st, p, log) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	o := &owner{Supervisor: s, policy: config.Policy{Fallback: config.Fallback{Enabled: true}}}
	o.thread = store.Thread{ID: "t-1", Dir: dir, Tree: dir, Chain: []paceline.Engine{{Account: "a"}, {Account: "b"}}, Created: time.Now()}
	if err := o.thread.SetPolicy(o.policy); err != nil {
		tb.Fatal(err)
	}
	if err := st.InTx(tb.Context(), func(tx *store.Tx) error { return tx.AddThread(tb.Context(), o.thread) }); err != nil {
		tb.Fatal(err)
	}
	return o
}

// running puts a message with a running run on record.
func (o *owner) running(tb testing.TB) run.State {
	tb.Helper()
	m := paceline.Message{ID: paceline.MessageID(store.NewID("m")), Thread: o.thread.ID, Kind: paceline.KindPrompt, Opener: true, Text: "hi", At: time.Now()}
	r := run.State{
		ID: paceline.RunID(store.NewID("r")), Thread: o.thread.ID, Message: m.ID, Engine: o.thread.Chain[0],
		Phase: run.Running, Work: paceline.WorkNone, Sent: true, Created: time.Now(),
	}
	err := o.Store.InTx(tb.Context(), func(tx *store.Tx) error {
		if _, _, err := tx.AddMessage(tb.Context(), m); err != nil {
			return err
		}
		return tx.AddRun(tb.Context(), r)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

var chain = []place.Candidate{
	{Engine: paceline.Engine{Account: "a"}, Route: "a:1", Posture: paceline.PostureSubscription},
	{Engine: paceline.Engine{Account: "b"}, Route: "b:1", Posture: paceline.PostureSubscription},
}

var limit = run.End{Ending: wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseUsageLimit, Work: paceline.WorkNone}}}

func TestRecord(t *testing.T) {
	t.Run("F15 a failure, its claim, its job and its decision land in one commit", func(t *testing.T) {
		o := newOwner(t)
		r := o.running(t)
		got, _, err := o.decide(t.Context(), r.ID, limit, facts{chain: chain})
		if err != nil || got.Claim.Phase != run.Pending {
			t.Fatalf("%+v, %v", got.Claim, err)
		}
		pending, err := o.box.Pending(t.Context())
		if err != nil || len(pending) != 1 {
			t.Errorf("jobs %+v, %v", pending, err)
		}
		if d, err := o.Store.RunDecisions(t.Context(), r.ID); err != nil || len(d) != 1 || d[0].What != "claim b" {
			t.Errorf("decisions %+v, %v", d, err)
		}
		if l, err := o.Store.Limits(t.Context()); err != nil || len(l) != 1 {
			t.Errorf("limits %+v, %v", l, err)
		}
	})
	t.Run("F18 F61 the same terminal and the same dispatch twice make one successor", func(t *testing.T) {
		o := newOwner(t)
		r := o.running(t)
		for range 2 {
			if _, _, err := o.decide(t.Context(), r.ID, limit, facts{chain: chain}); err != nil {
				t.Fatal(err)
			}
		}
		for _, next := range []paceline.RunID{"r-x", "r-y"} {
			if _, _, err := o.decide(t.Context(), r.ID, run.DispatchDue{Next: next}, facts{chain: chain}); err != nil {
				t.Fatal(err)
			}
		}
		runs, err := o.Store.Runs(t.Context(), o.thread.ID)
		if err != nil || len(runs) != 2 || runs[1].ID != "r-x" {
			t.Errorf("runs %+v, %v", runs, err)
		}
		pending, err := o.box.Pending(t.Context())
		if err != nil || len(pending) != 0 {
			t.Errorf("F31 a performed claim leaves no job: %+v, %v", pending, err)
		}
		n := 0
		for _, e := range o.heard(t) {
			if e.Event == "failover" {
				n++
			}
			if e.Event == "finished" {
				t.Error("F30 a failing over message was told to be finished")
			}
		}
		if n != 1 {
			t.Errorf("told of %d failovers", n)
		}
	})
	t.Run("F31 the job of a claim whose server died performs it", func(t *testing.T) {
		o := newOwner(t)
		r := o.running(t)
		if _, _, err := o.decide(t.Context(), r.ID, limit, facts{chain: chain}); err != nil {
			t.Fatal(err)
		}
		if err := o.perform(t.Context(), r.ID, 1); err != nil {
			t.Fatal(err)
		}
		// Its engines exist in no policy, so the claim is skipped, with a word: what
		// matters is that it ends.
		if got, err := o.Store.Run(t.Context(), r.ID); err != nil || got.Claim.Phase != run.Skipped {
			t.Errorf("%+v, %v", got.Claim, err)
		}
	})
}

// BenchmarkShare is our own share of a failover: from the limit frame to the
// moment at which the prompt may be written to a child that is ready. Each
// commit is synced to disk.
func BenchmarkShare(b *testing.B) {
	o := newOwner(b)
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		r := o.running(b)
		next := paceline.RunID(store.NewID("r"))
		b.StartTimer()
		start := time.Now()
		for _, step := range []struct {
			id paceline.RunID
			e  run.Event
		}{{r.ID, limit}, {r.ID, run.DispatchDue{Next: next}}, {next, run.Begin{}}, {next, run.Send{Conversation: "c"}}} {
			if _, _, err := o.decide(b.Context(), step.id, step.e, facts{chain: chain}); err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
