package postgres_test

import (
	"os"
	"testing"

	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/pgtest"
	"github.com/paceline/paceline/internal/store/postgres"
	"github.com/paceline/paceline/internal/store/storetest"
)

var server pgtest.Server

func TestMain(m *testing.M) {
	code := m.Run()
	server.Stop()
	os.Exit(code)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store { return open(t, server.Database(t), postgres.Options{}) })
}

// open opens a store for the length of a test.
func open(t testing.TB, url string, o postgres.Options) *store.Store {
	t.Helper()
	st, err := postgres.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}
