package supervisor

import (
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/pgtest"
	"github.com/paceline/paceline/internal/store/postgres"
)

// database is one that a test kills.
var database = pgtest.Server{Durable: true}

func TestMain(m *testing.M) {
	code := m.Run()
	database.Stop()
	os.Exit(code)
}

// away is an owner whose database is not there.
func away(t *testing.T) (*owner, run.State) {
	t.Helper()
	st, err := postgres.Open(t.Context(), database.Database(t), postgres.Options{Host: "attic"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	o := ownerOf(t, st, t.TempDir())
	r := o.running(t)
	o.Feed(Event{Event: "text", Thread: o.thread.ID, Text: "before"})
	database.Kill()
	return o, r
}

func TestOutage(t *testing.T) {
	t.Run("A run goes on while its database is away: what it says is heard at once, and on record once when it is back", func(t *testing.T) {
		o, r := away(t)
		want := []string{"before"}
		for i := range 2 * recent {
			want = append(want, strconv.Itoa(i))
			o.Feed(Event{Event: "text", Thread: o.thread.ID, Text: strconv.Itoa(i)})
		}
		// Long enough that a flush is at it.
		time.Sleep(2 * batched)
		o.Feed(Event{Event: "text", Thread: o.thread.ID, Text: "last"})
		want = append(want, "last")
		got, _ := words(o.heard(t))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("while it is away: %s", diff)
		}
		decided := make(chan error)
		go func() {
			_, _, err := o.decide(t.Context(), r.ID, limit, facts{chain: chain})
			decided <- err
		}()
		select {
		case err := <-decided:
			t.Errorf("it was decided without a record of it: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		database.Start(t)
		if err := <-decided; err != nil {
			t.Fatal(err)
		}
		es := o.heard(t)
		if got, _ := words(es); len(got) < len(want) || !cmp.Equal(want, got[:len(want)]) {
			t.Errorf("when it is back: %s", cmp.Diff(want, got))
		}
		rows, err := o.Store.Events(t.Context(), o.thread.ID, 0, 10*recent)
		if err != nil || len(rows) != len(es) {
			t.Errorf("%d events are on record, and %d were told: %v", len(rows), len(es), err)
		}
		if ds, err := o.Store.RunDecisions(t.Context(), r.ID); err != nil || len(ds) != 1 {
			t.Errorf("%d decisions: %v", len(ds), err)
		}
	})
	t.Run("A server that leaves does not wait for its database, and says why", func(t *testing.T) {
		o, r := away(t)
		defer database.Start(t)
		decided := make(chan error)
		go func() {
			_, _, err := o.decide(t.Context(), r.ID, limit, facts{chain: chain})
			decided <- err
		}()
		if err := o.Close(t.Context()); err != nil {
			t.Error(err)
		}
		var trouble *store.Trouble
		if err := <-decided; !errors.As(err, &trouble) || trouble.Kind != store.Lost {
			t.Errorf("got %v", err)
		}
	})
}
