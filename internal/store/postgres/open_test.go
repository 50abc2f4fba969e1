package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/postgres"
)

var at = time.Date(2026, 11, 5, 9, 30, 15, 0, time.UTC)

// fill adds a thread with one message and one run that is still open.
func fill(t testing.TB, st *store.Store, thread string) {
	t.Helper()
	ctx := t.Context()
	err := st.InTx(ctx, func(tx *store.Tx) error {
		id := paceline.ThreadID(thread)
		th := store.Thread{ID: id, Dir: "/src", Tree: "/src", Title: "fix it", Created: at, Updated: at}
		if err := tx.AddThread(ctx, th); err != nil {
			return err
		}
		m := paceline.Message{ID: paceline.MessageID("m-" + thread), Thread: id, Kind: paceline.KindPrompt, Text: "fix it", At: at}
		if _, _, err := tx.AddMessage(ctx, m); err != nil {
			return err
		}
		return tx.AddRun(ctx, run.State{ID: paceline.RunID("r-" + thread), Thread: id, Message: m.ID, Phase: run.Running, Created: at})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHosts(t *testing.T) {
	base := server.Database(t)
	a, b := open(t, base, postgres.Options{Host: "attic"}), open(t, base, postgres.Options{Host: "barn"})
	fill(t, a, "t-a")
	fill(t, b, "t-b")
	limit := paceline.Limit{Engine: paceline.Engine{Account: "claude"}, Seen: at}
	if err := a.InTx(t.Context(), func(tx *store.Tx) error { return tx.HoldLimit(t.Context(), limit) }); err != nil {
		t.Fatal(err)
	}
	t.Run("A server carries on the runs of its own host alone", func(t *testing.T) {
		for host, st := range map[string]*store.Store{"a": a, "b": b} {
			if rs, err := st.Orphans(t.Context()); err != nil || len(rs) != 1 || rs[0].ID != paceline.RunID("r-t-"+host) {
				t.Errorf("%s has %v, %v", host, rs, err)
			}
			if ids, err := st.Unsettled(t.Context()); err != nil || len(ids) != 1 || ids[0] != paceline.ThreadID("t-"+host) {
				t.Errorf("%s has %v, %v", host, ids, err)
			}
		}
	})
	t.Run("The last thread of a folder is the last one of this host's folder", func(t *testing.T) {
		if th, err := a.LastThreadIn(t.Context(), "/src"); err != nil || th.ID != "t-a" {
			t.Errorf("%v, %v", th.ID, err)
		}
	})
	t.Run("Every host's threads are listed, and say whose they are", func(t *testing.T) {
		ths, err := a.Threads(t.Context())
		if err != nil || len(ths) != 2 {
			t.Fatal(len(ths), err)
		}
		for _, th := range ths {
			if err := a.Mine(th); (err == nil) != (th.Host == "attic") || err != nil && !errors.Is(err, store.ErrElsewhere) {
				t.Errorf("%s of %q: %v", th.ID, th.Host, err)
			}
		}
	})
	t.Run("An account at its limit on one host is another account on the other", func(t *testing.T) {
		if ls, err := b.Limits(t.Context()); err != nil || len(ls) != 0 {
			t.Errorf("%v, %v", ls, err)
		}
		if ls, err := a.Limits(t.Context()); err != nil || len(ls) != 1 {
			t.Errorf("%v, %v", ls, err)
		}
	})
}

func TestOpening(t *testing.T) {
	t.Run("Ten that start at once on an empty database all find its tables", func(t *testing.T) {
		base := server.Database(t)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				st, err := postgres.Open(t.Context(), base, postgres.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := st.Orphans(t.Context()); err != nil {
					t.Error(err)
				}
				st.Close()
			})
		}
		wg.Wait()
	})
	t.Run("A command that reads makes nothing, and is told that there is nothing", func(t *testing.T) {
		base := server.Database(t)
		for range 2 {
			if _, err := postgres.OpenRead(t.Context(), base, postgres.Options{}); !errors.Is(err, postgres.ErrNothing) {
				t.Errorf("got %v", err)
			}
		}
		open(t, base, postgres.Options{})
		st, err := postgres.OpenRead(t.Context(), base, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if err := st.InTx(t.Context(), nil); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("it writes: %v", err)
		}
	})
	t.Run("Tables of a newer program are left alone, by who opens them and by who has them open", func(t *testing.T) {
		base := server.Database(t)
		st := open(t, base, postgres.Options{})
		err := st.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.SQL().ExecContext(t.Context(), `INSERT INTO schema_version VALUES (999, 'newer', 0)`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		kind(t, store.Newer, func() error { _, err := postgres.Open(t.Context(), base, postgres.Options{}); return err }())
		kind(t, store.Newer, func() error { _, err := postgres.OpenRead(t.Context(), base, postgres.Options{}); return err }())
		server.Exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = '`+path(base)+`'`)
		for range 10 { // until a connection has been made anew
			if _, err = st.Orphans(t.Context()); err != nil {
				break
			}
		}
		kind(t, store.Newer, err)
	})
	t.Run("Tables that another program has open are not brought up to date", func(t *testing.T) {
		base := server.Database(t)
		st := open(t, base, postgres.Options{})
		err := st.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.SQL().ExecContext(t.Context(), `UPDATE meta SET value = '1' WHERE key = 'river'`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = postgres.Open(t.Context(), base, postgres.Options{Busy: 100 * time.Millisecond})
		kind(t, store.Locked, err)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		open(t, base, postgres.Options{})
	})
}

func TestTrouble(t *testing.T) {
	const secret = "s3cr3t-w0rd"
	base := server.Database(t)
	server.Exec(t, `CREATE ROLE guest LOGIN PASSWORD 'something-else'`)
	here := server.TCP(base, "guest", secret)
	elsewhere, _ := url.Parse(here)
	elsewhere.Host = "127.0.0.1:1"
	for _, tt := range []struct {
		name string
		url  string
		kind store.TroubleKind
	}{
		{"A wrong password", here, store.Refused},
		{"A database that does not exist", server.TCP(strings.Replace(base, path(base), "nowhere", 1), "guest", secret), store.Refused},
		{"Nobody who listens", elsewhere.String(), store.Lost},
		{"No socket", "postgres://guest:" + secret + "@/x?host=/nowhere", store.Lost},
		{"A port that is none", "postgres://guest:" + secret + "@127.0.0.1:port/x", store.Unusable},
		{"A password with a slash", "postgres://guest:" + secret + "/x@127.0.0.1/x", store.Unusable},
		{"A control character", "postgres://guest:" + secret + "\x7f@127.0.0.1/x", store.Unusable},
		{"An option that does not exist", "postgres://guest:" + secret + "@127.0.0.1/x?sslmode=maybe", store.Unusable},
		{"Another database's URL", "mysql://guest:" + secret + "@127.0.0.1/x", store.Unusable},
		{"A list of words", "host=127.0.0.1 password=" + secret, store.Unusable},
	} {
		t.Run(tt.name+" is named without the password", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			for _, open := range []func(context.Context, string, postgres.Options) (*store.Store, error){postgres.Open, postgres.OpenRead} {
				_, err := open(ctx, tt.url, postgres.Options{})
				kind(t, tt.kind, err)
				if text := err.Error() + postgres.Named(tt.url); strings.Contains(text, secret) {
					t.Errorf("it says the password: %s", text)
				}
			}
		})
	}
	t.Run("A user who may not make tables is told what to grant", func(t *testing.T) {
		_, err := postgres.Open(t.Context(), server.TCP(base, "guest", "something-else"), postgres.Options{})
		kind(t, store.Refused, err)
	})
}

func path(text string) string {
	u, _ := url.Parse(text)
	return strings.TrimPrefix(u.Path, "/")
}

func kind(t *testing.T, want store.TroubleKind, err error) {
	t.Helper()
	var trouble *store.Trouble
	if !errors.As(err, &trouble) {
		t.Fatalf("got %v, want a store that %s", err, want)
	}
	if trouble.Kind != want {
		t.Errorf("got %v, want one that %s", err, want)
	}
}
