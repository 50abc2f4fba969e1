package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/sqlite"
	"github.com/paceline/paceline/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store { return open(t, filepath.Join(t.TempDir(), "p.db")) })
}

// open opens a store for the length of a test.
func open(t testing.TB, path string) *store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
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
