package store_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/paceline/paceline/internal/store"
)

func TestIDs(t *testing.T) {
	t.Run("An id is short, readable, and sorts in the order of its making", func(t *testing.T) {
		shape := regexp.MustCompile(`^r-[0-9a-hjkmnp-tv-z]{11}$`)
		ids := make([]string, 10_000)
		for i := range ids {
			ids[i] = store.NewID("r")
			if !shape.MatchString(ids[i]) {
				t.Fatalf("%q has another shape", ids[i])
			}
		}
		if !slices.IsSorted(ids) {
			t.Error("they do not sort")
		}
	})
	t.Run("No two ids of a process are the same", func(t *testing.T) {
		const makers, each = 8, 20_000
		made := make([][]string, makers)
		var wg sync.WaitGroup
		for i := range makers {
			wg.Go(func() {
				for range each {
					made[i] = append(made[i], store.NewID("m"))
				}
			})
		}
		wg.Wait()
		seen := map[string]bool{}
		for _, ids := range made {
			for _, id := range ids {
				seen[id] = true
			}
		}
		if len(seen) != makers*each {
			t.Errorf("%d ids are %d different ones", makers*each, len(seen))
		}
	})
}
