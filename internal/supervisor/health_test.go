package supervisor

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/health"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/sqlite"
	"github.com/paceline/paceline/internal/wire"
)

// usual is row Z85.
var usual = health.Policy{Enabled: true, OpenAfter: 3, Window: 10 * time.Minute, Cooldown: 5 * time.Minute, ErrorPct: 25, MinSamples: 8}

// minding is an owner whose engines a and b are known accounts, each on its own
// route.
func minding(tb testing.TB, st *store.Store) *owner {
	tb.Helper()
	if st == nil {
		st = opened(tb, filepath.Join(tb.TempDir(), "paceline.db"))
	}
	o := ownerOf(tb, st, tb.TempDir())
	o.policy.Fallback.Health = usual
	o.policy.Accounts = map[string]paceline.Account{
		"a": {Name: "a", Harness: "claude"},
		"b": {Name: "b", Harness: "codex"},
	}
	return o
}

func opened(tb testing.TB, path string) *store.Store {
	tb.Helper()
	st, err := sqlite.Open(tb.Context(), path, sqlite.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	return st
}

func ended(c paceline.Cause) run.End {
	return run.End{Ending: wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: c, Work: paceline.WorkNone}}}
}

var answered = run.End{Ending: wire.Ending{Outcome: paceline.OutcomeCompleted, Failure: paceline.Failure{Work: paceline.WorkSome}}}

// ends has a new run on engine a come to this.
func (o *owner) ends(tb testing.TB, e run.Event) run.State {
	tb.Helper()
	r := o.running(tb)
	// Marks are kept to the millisecond; runs are further apart than that.
	time.Sleep(2 * time.Millisecond)
	got, _, err := o.decide(tb.Context(), r.ID, e, facts{chain: chain})
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

// record is what is known of a's route.
func (o *owner) known(tb testing.TB) health.Record {
	tb.Helper()
	rs, err := o.Store.Health(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range rs {
		if r.Route.Account == "a" {
			return r
		}
	}
	return health.Record{}
}

// halfOpen leaves a's route with its cooldown over.
func (o *owner) halfOpen(tb testing.TB) {
	tb.Helper()
	route, _ := o.route(paceline.Engine{Account: "a"})
	ago := time.Now().Add(-usual.Cooldown - time.Minute).UTC().Truncate(time.Millisecond)
	r := health.Record{Route: route, Phase: health.Open, Since: ago, Until: ago.Add(usual.Cooldown), Bad: ago}
	if err := o.Store.InTx(tb.Context(), func(tx *store.Tx) error { return tx.PutHealth(tb.Context(), r, 0) }); err != nil {
		tb.Fatal(err)
	}
}

// lines are the changes of phase that the thread was told of.
func (o *owner) lines(tb testing.TB) string {
	tb.Helper()
	ds, err := o.Store.Decisions(tb.Context(), o.thread.ID)
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, d := range ds {
		if strings.HasPrefix(d.Event, "health-") {
			out = append(out, d.Event)
		}
	}
	return strings.Join(out, " ")
}

func (o *owner) weighed(tb testing.TB) []place.Candidate {
	tb.Helper()
	out := append([]place.Candidate(nil), chain...)
	if err := o.weigh(tb.Context(), out); err != nil {
		tb.Fatal(err)
	}
	return out
}

func TestHealthIsTold(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    []run.Event
		want health.Phase
		told string
	}{
		{"Z67 the third run that does not reach its vendor opens the route, and that is told once", []run.Event{ended(paceline.CauseTransport), ended(paceline.CauseServer), ended(paceline.CauseStall), ended(paceline.CauseTransport)}, health.Open, "health-open"},
		{"Z67 two do not", []run.Event{ended(paceline.CauseTransport), ended(paceline.CauseServer)}, health.Suspect, ""},
		{"Z67 an answered turn between them begins anew", []run.Event{ended(paceline.CauseTransport), ended(paceline.CauseServer), answered, ended(paceline.CauseServer)}, health.Suspect, ""},
		{"Z70 bug-47 limits and throttles say nothing of it", []run.Event{limit, limit, ended(paceline.CauseThrottle), ended(paceline.CauseThrottle), ended(paceline.CauseThrottle)}, health.Healthy, ""},
		{"Z70 nor does a crash", []run.Event{ended(paceline.CauseCrash), ended(paceline.CauseCrash), ended(paceline.CauseCrash)}, health.Healthy, ""},
		{"Z68 a structured 401 shuts it at once", []run.Event{run.End{Ending: wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseAuth, Status: 401, Work: paceline.WorkNone}}}}, health.Unavailable, "health-unavailable"},
		{"a tool that hangs is not its vendor's fault", []run.Event{stuck, stuck, stuck}, health.Healthy, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := minding(t, nil)
			for _, e := range tt.e {
				o.ends(t, e)
			}
			if r := o.known(t); r.Phase != tt.want || o.lines(t) != tt.told {
				t.Errorf("%s, told %q", r.Phase, o.lines(t))
			}
		})
	}
	t.Run("Z86 the same ending twice is one outcome", func(t *testing.T) {
		o := minding(t, nil)
		r := o.ends(t, ended(paceline.CauseTransport))
		for range 3 {
			if _, _, err := o.decide(t.Context(), r.ID, ended(paceline.CauseTransport), facts{chain: chain}); err != nil {
				t.Fatal(err)
			}
		}
		if got := o.known(t); len(got.Fails) != 1 {
			t.Errorf("%+v", got.Fails)
		}
	})
	t.Run("Z86 what the transcript of a crashed run tells has no time, and counts for nothing", func(t *testing.T) {
		o := minding(t, nil)
		for range 4 {
			o.ends(t, run.Lost{Delivered: true, Ending: ended(paceline.CauseTransport).Ending})
		}
		if got := o.known(t); got.Phase != health.Healthy {
			t.Errorf("%+v", got)
		}
	})
	t.Run("Z85 nothing is kept where health, or all failover, is switched off", func(t *testing.T) {
		for _, off := range []func(*owner){
			func(o *owner) { o.policy.Fallback.Enabled = false },
			func(o *owner) { o.policy.Fallback.Health.Enabled = false },
		} {
			o := minding(t, nil)
			off(o)
			for range 4 {
				o.ends(t, ended(paceline.CauseTransport))
			}
			if rs, err := o.Store.Health(t.Context()); err != nil || len(rs) != 0 {
				t.Errorf("%+v, %v", rs, err)
			}
		}
	})
	t.Run("Z100 the model is kept for information, and the first word's time", func(t *testing.T) {
		o := minding(t, nil)
		r := o.running(t)
		if _, _, err := o.decide(t.Context(), r.ID, answered, facts{model: "opus-5", first: 3 * time.Second}); err != nil {
			t.Fatal(err)
		}
		if got := o.known(t); got.Model != "opus-5" || got.Oks[0].First != 3*time.Second {
			t.Errorf("%+v", got)
		}
	})
	t.Run("Z78 the first word of an answer ends an outage, while its turn goes on", func(t *testing.T) {
		o := minding(t, nil)
		o.halfOpen(t)
		r := o.running(t)
		if _, _, err := o.decide(t.Context(), r.ID, run.Worked{Work: paceline.WorkSome, Evidence: paceline.Evidence{Frame: "assistant"}}, facts{}); err != nil {
			t.Fatal(err)
		}
		if got := o.known(t); got.Phase != health.Healthy || o.lines(t) != "health-half-open health-recovered" {
			t.Errorf("%s, told %q", got.Phase, o.lines(t))
		}
	})
}

var stuck = run.End{Ending: wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseStall, Code: "silent_tool", Work: paceline.WorkNone}}}

func TestHealthIsAsked(t *testing.T) {
	broken := func(t *testing.T) *owner {
		o := minding(t, nil)
		for range 3 {
			o.ends(t, ended(paceline.CauseTransport))
		}
		return o
	}
	t.Run("Z79 an open route is passed over, with a reason of its own and when it is tried again", func(t *testing.T) {
		o := broken(t)
		c := o.weighed(t)
		if h := c[0].Health; !strings.HasPrefix(h.Down, "route health open: 3 transport error(s) in 10m; next health check in ~5m (estimate)") || !h.Back.Equal(o.known(t).Until) || h.Shared {
			t.Errorf("%+v", h)
		}
		if c[1].Health != (place.Health{}) {
			t.Errorf("the other: %+v", c[1].Health)
		}
	})
	t.Run("Z90 of a chain of one nobody asks", func(t *testing.T) {
		o := broken(t)
		one := chain[:1:1]
		if err := o.weigh(t.Context(), one); err != nil || one[0].Health != (place.Health{}) {
			t.Errorf("%+v %v", one[0].Health, err)
		}
	})
	t.Run("Z75 an account that was pointed at the same endpoint is passed over too, and the one that failed is named", func(t *testing.T) {
		o := minding(t, nil)
		for _, name := range []string{"a", "b"} {
			acc := o.policy.Accounts[name]
			acc.BaseURL = "http://ada:secret@gw.internal:4000/v1"
			o.policy.Accounts[name] = acc
		}
		for range 3 {
			o.ends(t, ended(paceline.CauseServer))
		}
		h := o.weighed(t)[1].Health
		if !h.Shared || !strings.HasPrefix(h.Down, "a: route health open: 3 server error(s)") || !strings.HasSuffix(h.Down, "; both go to gw.internal:4000") {
			t.Errorf("%+v", h)
		}
		if strings.Contains(h.Down, "secret") || strings.Contains(h.Down, "v1") {
			t.Errorf("Z76 %s", h.Down)
		}
	})
	t.Run("Z74 Z75 Z80 the seat leaves a route of its own that is open, and stays where it is another's fault, or slow", func(t *testing.T) {
		o := minding(t, nil)
		o.ends(t, answered)
		m := o.queue(t, "next")
		for _, tt := range []struct {
			h    place.Health
			want string
		}{
			{place.Health{Down: "route health open"}, "b"},
			{place.Health{Down: "b: route health open", Shared: true}, "a"},
			{place.Health{Last: "route health degraded"}, "a"},
		} {
			c := append([]place.Candidate(nil), chain...)
			c[0].Health = tt.h
			ch, carry, err := o.choose(t.Context(), m, c)
			if err != nil || ch.Engine.Account != tt.want || (carry == run.History) != (tt.want == "b") {
				t.Errorf("%+v: %+v, %s, %v", tt.h, ch, carry, err)
			}
		}
	})
	t.Run("Z79 nobody goes home to a route that is down, or degraded", func(t *testing.T) {
		o := minding(t, nil)
		o.ends(t, answered)
		o.thread.Chain = []paceline.Engine{{Account: "a"}, {Account: "b"}}
		runs, err := o.Store.Runs(t.Context(), o.thread.ID)
		if err != nil {
			t.Fatal(err)
		}
		m := o.queue(t, "next")
		for _, h := range []place.Health{{Down: "open"}, {Last: "degraded"}, {}} {
			c := append([]place.Candidate(nil), chain...)
			c[0].Health = h
			if _, _, home := o.home(t.Context(), m, c, runs, 1, place.Ask{Now: time.Now()}); home != (h == place.Health{}) {
				t.Errorf("%+v: %t", h, home)
			}
		}
	})
	t.Run("A25 Z77 nowhere healthy: the message waits until the first route is tried again, and that is said once", func(t *testing.T) {
		now := time.Now()
		c := append([]place.Candidate(nil), chain...)
		c[0].Health = place.Health{Down: "open", Back: now.Add(time.Minute)}
		c[1].Health = place.Health{Down: "open", Back: now.Add(2 * time.Minute)}
		if r := returns(c, paceline.Message{}); !r.At.Equal(now.Add(time.Minute)) || r.Source != paceline.ResetAssumed {
			t.Errorf("%+v", r)
		}
		c[0].Limit = &paceline.Limit{Reset: paceline.Reset{At: now.Add(time.Hour), Source: paceline.ResetStated}}
		if r := returns(c, paceline.Message{}); !r.At.Equal(now.Add(2 * time.Minute)) {
			t.Errorf("%+v", r)
		}
		c[0].Limit = &paceline.Limit{}
		if r := returns(c[:1], paceline.Message{}); r.Known() {
			t.Errorf("a limit without a reset: %+v", r)
		}
		if r := returns(c, paceline.Message{Patience: -1}); r.Known() {
			t.Errorf("--no-wait waits: %+v", r)
		}
		if c[0].Limit = nil; !unreachable(c) {
			t.Error("it is not said that nobody can be reached")
		}
		if c[1].Health = (place.Health{}); unreachable(c) || unreachable(nil) {
			t.Error("it is said although somebody can")
		}
	})
}

func TestTrial(t *testing.T) {
	a, b := paceline.Engine{Account: "a"}, paceline.Engine{Account: "b"}
	last := func(t *testing.T, o *owner) run.State {
		t.Helper()
		runs, err := o.Store.Runs(t.Context(), o.thread.ID)
		if err != nil || len(runs) == 0 {
			t.Fatal(err)
		}
		return runs[len(runs)-1]
	}
	t.Run("Z77 a placement claims the trial of a half-open route in its run's name, and says so", func(t *testing.T) {
		o := minding(t, nil)
		o.halfOpen(t)
		m := o.queue(t, "hi")
		if err := o.placeOn(t.Context(), m, o.weighed(t)); err != nil {
			t.Fatal(err)
		}
		r := last(t, o)
		if got := o.known(t); r.Engine != a || got.Trial.Who != string(r.ID) || o.lines(t) != "health-half-open health-trial" {
			t.Errorf("%s has it, %s was placed on %s; told %q", got.Trial.Who, r.ID, r.Engine, o.lines(t))
		}
		// The next one is told who has it, and goes elsewhere.
		c := o.weighed(t)
		if !strings.Contains(c[0].Health.Down, "trial in flight: "+string(r.ID)) {
			t.Errorf("%+v", c[0].Health)
		}
	})
	t.Run("Z77 a trial that was claimed since the engines were looked at: placed once more, without it", func(t *testing.T) {
		o := minding(t, nil)
		o.halfOpen(t)
		stale := o.weighed(t)
		m := o.queue(t, "hi")
		claimed := func(tx *store.Tx) error {
			_, _, err := o.admit(t.Context(), tx, run.State{ID: "r-other", Engine: a}, false)
			return err
		}
		if err := o.Store.InTx(t.Context(), claimed); err != nil {
			t.Fatal(err)
		}
		if err := o.placeOn(t.Context(), m, stale); !errors.Is(err, errTaken) {
			t.Fatalf("%v", err)
		}
		if runs, _ := o.Store.Runs(t.Context(), o.thread.ID); len(runs) != 0 {
			t.Errorf("it left %+v", runs)
		}
		if err := o.placeOn(t.Context(), m, o.weighed(t)); err != nil {
			t.Fatal(err)
		}
		if r := last(t, o); r.Engine != b {
			t.Errorf("on %s", r.Engine)
		}
		ds, err := o.Store.Decisions(t.Context(), o.thread.ID)
		if err != nil || len(ds) != 1 || !strings.Contains(ds[0].Out[0].Why, "trial in flight: r-other") {
			t.Errorf("%+v, %v", ds, err)
		}
	})
	t.Run("Z77 Z78 of eight servers that place at once one tries, and the other seven go elsewhere", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "paceline.db")
		first := minding(t, opened(t, path))
		first.halfOpen(t)
		var owners []*owner
		for i := range 8 {
			o := &owner{Supervisor: &Supervisor{Options: first.Options}, policy: first.policy, Env: first.Env}
			o.Store = opened(t, path)
			o.journal = newJournal(o.Store, o.Log)
			o.thread = first.thread
			o.thread.ID = paceline.ThreadID("t-race-" + string(rune('a'+i)))
			if err := o.Store.InTx(t.Context(), func(tx *store.Tx) error { return tx.AddThread(t.Context(), o.thread) }); err != nil {
				t.Fatal(err)
			}
			owners = append(owners, o)
		}
		start := make(chan struct{})
		var wg sync.WaitGroup
		for _, o := range owners {
			m := store.Message{Message: paceline.Message{ID: paceline.MessageID(store.NewID("m")), Thread: o.thread.ID, Kind: paceline.KindPrompt, Opener: true, At: time.Now()}}
			if err := o.Store.InTx(t.Context(), func(tx *store.Tx) error {
				_, _, err := tx.AddMessage(t.Context(), m.Message)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				<-start
				err := errTaken
				for errors.Is(err, errTaken) {
					err = o.placeOn(context.WithoutCancel(t.Context()), m, o.weighed(t))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		on := map[paceline.Engine]int{}
		var trier paceline.RunID
		for _, o := range owners {
			r := last(t, o)
			if on[r.Engine]++; r.Engine == a {
				trier = r.ID
			}
		}
		if on[a] != 1 || on[b] != 7 || first.known(t).Trial.Who != string(trier) {
			t.Errorf("%v, %s has the trial", on, first.known(t).Trial.Who)
		}
	})
	t.Run("Z79 Z77 a successor claims the trial with its row, and where that is taken the claim is decided anew", func(t *testing.T) {
		for _, taken := range []bool{false, true} {
			o := minding(t, nil)
			o.halfOpen(t)
			turned := []place.Candidate{chain[1], chain[0]} // b, then a
			o.thread.Chain = []paceline.Engine{b, a}
			r := o.running(t)
			if _, _, err := o.decide(t.Context(), r.ID, limit, facts{chain: turned}); err != nil {
				t.Fatal(err)
			}
			if taken {
				if err := o.Store.InTx(t.Context(), func(tx *store.Tx) error {
					_, _, err := o.admit(t.Context(), tx, run.State{ID: "r-other", Engine: a}, false)
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			got, _, err := o.decide(t.Context(), r.ID, run.DispatchDue{Next: "r-next"}, facts{chain: turned})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]run.ClaimPhase{false: run.Dispatched, true: run.Skipped}[taken]; got.Claim.Phase != want {
				t.Errorf("taken %t: %s", taken, got.Claim.Phase)
			}
			if want := map[bool]string{false: "r-next", true: "r-other"}[taken]; o.known(t).Trial.Who != want {
				t.Errorf("taken %t: %s has it", taken, o.known(t).Trial.Who)
			}
			if taken && !got.Waiting() {
				t.Errorf("it does not wait: %+v", got.Claim)
			}
		}
	})
	t.Run("Z90 a run that was asked for outright goes where it was told, and leaves another's trial alone", func(t *testing.T) {
		o := minding(t, nil)
		o.halfOpen(t)
		for i, want := range []string{"r-1", "r-1"} {
			r := run.State{ID: paceline.RunID([]string{"r-1", "r-2"}[i]), Engine: a}
			err := o.Store.InTx(t.Context(), func(tx *store.Tx) error {
				down, _, err := o.admit(t.Context(), tx, r, true)
				if down.Down != "" {
					t.Errorf("%s is denied: %+v", r.ID, down)
				}
				return err
			})
			if got := o.known(t).Trial.Who; err != nil || got != want {
				t.Errorf("%s has it, %v", got, err)
			}
		}
	})
	t.Run("Z77 a trial that ends without a word on the route is free again", func(t *testing.T) {
		o := minding(t, nil)
		o.halfOpen(t)
		r := o.running(t)
		if err := o.Store.InTx(t.Context(), func(tx *store.Tx) error {
			_, _, err := o.admit(t.Context(), tx, r, false)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := o.decide(t.Context(), r.ID, run.StopAsked{By: "its user"}, facts{stop: true}); err != nil {
			t.Fatal(err)
		}
		if got := o.known(t); got.Phase != health.HalfOpen || got.Trial.Who != "" {
			t.Errorf("%+v", got)
		}
	})
}
