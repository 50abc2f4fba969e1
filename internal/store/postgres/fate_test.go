package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/pgtest"
)

// After a crash the database gives out again the numbers of transactions whose
// record had not reached the disk. A transaction that was lost in this way was
// once taken for done, because its number's next owner had committed.
func TestFate(t *testing.T) {
	var server pgtest.Server
	t.Cleanup(server.Stop)
	url := server.Database(t)
	st, err := Open(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	d, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	pool, db, err := d.connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	m := &marks{db: db}
	made := func(end string) string {
		t.Helper()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		mark, err := m.mark(t.Context(), tx)
		if err == nil && end == "commit" {
			err = tx.Commit()
		} else if err == nil && end == "roll back" {
			err = tx.Rollback()
		} else {
			t.Cleanup(func() { _ = tx.Rollback() })
		}
		if err != nil {
			t.Fatal(err)
		}
		return mark
	}
	number, _, _ := strings.Cut(made("commit"), " ")
	for name, tt := range map[string]struct {
		mark string
		want store.Fate
		err  error
	}{
		"P3 what was committed is done":                                      {made("commit"), store.Committed, nil},
		"P3 what was rolled back is not":                                     {made("roll back"), store.Undone, nil},
		"P3 what goes on is asked about again":                               {made("go on"), store.Unknown, errGoing},
		"P3 a number that a crash gave to another one does not make it done": {number + " 00000000-0000-4000-8000-000000000000", store.Undone, nil},
		"P3 a number that was never given is not done":                       {"99999999 00000000-0000-4000-8000-000000000000", store.Undone, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := m.fate(t.Context(), tt.mark); got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%v, %v; want %v, %v", got, err, tt.want, tt.err)
			}
		})
	}
}
