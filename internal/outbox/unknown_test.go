package outbox_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"github.com/paceline/paceline/internal/outbox"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/postgres"
	"github.com/paceline/paceline/internal/store/sqlite"
)

// future is an effect of a build to come.
type future struct {
	Seat string `json:"seat"`
}

func (future) Kind() string                 { return "rollover" }
func (future) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: "rollover"} }

func TestUnknownKind(t *testing.T) { both(t, unknownKinds) }

func unknownKinds(t *testing.T) {
	t.Run("F43 an effect of a kind that this build does not know is neither performed nor discarded, and reported", func(t *testing.T) {
		t.Parallel()
		file := path(t)
		st := open(t, file)
		newer, err := newerBuild(st)
		if err != nil {
			t.Fatal(err)
		}
		err = st.InTx(t.Context(), func(tx *store.Tx) error {
			for range 2 {
				if _, err := newer.InsertTx(t.Context(), tx.SQL(), future{"s-1"}, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := newJournal()
		box := opened(t, st, seen.perform)
		enqueue(t, st, box, "r-stuck")
		// One of the two, and an effect that this build knows, were being performed
		// when their process was killed a minute ago.
		stuck(t, st, `kind = 'dispatch' OR id = (SELECT min(id) FROM river_job)`)
		before := rows(t, st, "rollover")
		start(t, box)
		// The known one is rescued and performed again: the same sweep saw them all.
		seen.await(t, "r-stuck 2")
		enqueue(t, st, box, "r-1")
		seen.await(t, "r-stuck 2", "r-1 1")
		if after := rows(t, st, "rollover"); !slices.Equal(before, after) {
			t.Errorf("they were touched:\n%s\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		awaitPending(t, st, outbox.Kind{Name: "rollover", Count: 2})
		reader, err := openRead(t, file)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		wantPending(t, reader, outbox.Kind{Name: "rollover", Count: 2})
	})
	t.Run("F43 what somebody discarded all the same is still reported", func(t *testing.T) {
		t.Parallel()
		st := open(t, path(t))
		newer, err := newerBuild(st)
		if err != nil {
			t.Fatal(err)
		}
		err = st.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := newer.InsertTx(t.Context(), tx.SQL(), future{"s-1"}, nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		enqueue(t, st, opened(t, st, nobody(t)), "r-1")
		if _, err := st.DB().ExecContext(t.Context(), `UPDATE river_job SET state = 'discarded', finalized_at = created_at`); err != nil {
			t.Fatal(err)
		}
		wantPending(t, st, outbox.Kind{Name: "rollover", Count: 1})
	})
}

// newerBuild writes jobs as a build to come would.
func newerBuild(st *store.Store) (*river.Client[*sql.Tx], error) {
	if st.Native() != nil {
		return river.NewClient(riverdatabasesql.New(st.DB()), &river.Config{})
	}
	return river.NewClient(riversqlite.New(st.DB()), &river.Config{})
}

func openRead(t *testing.T, file string) (*store.Store, error) {
	if strings.HasPrefix(file, "postgres:") {
		return postgres.OpenRead(t.Context(), file, postgres.Options{Host: "attic"})
	}
	return sqlite.OpenRead(t.Context(), file, sqlite.Options{})
}

// stuck makes jobs look as if their worker had died a minute ago.
func stuck(t *testing.T, st *store.Store, which string) {
	t.Helper()
	ago := `strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 minute')`
	if st.Native() != nil {
		ago = `now() - interval '1 minute'`
	}
	_, err := st.DB().ExecContext(t.Context(), `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = `+ago+` WHERE `+which)
	if err != nil {
		t.Fatal(err)
	}
}

// rows are the jobs of a kind, whole.
func rows(t *testing.T, st *store.Store, kind string) (out []string) {
	t.Helper()
	text := `json(args) || ' ' || json(metadata)`
	if st.Native() != nil {
		text = `args::text || ' ' || metadata::text`
	}
	rs, err := st.ReadDB().QueryContext(t.Context(), `SELECT id || ' ' || state || ' ' || attempt || ' ' || scheduled_at || ' ' ||
		`+text+` FROM river_job WHERE kind = $1 ORDER BY id`, kind)
	if err != nil {
		t.Fatal(err)
	}
	defer rs.Close()
	for rs.Next() {
		var s string
		if err := rs.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		t.Fatalf("no %s is there (%v)", kind, rs.Err())
	}
	return out
}
