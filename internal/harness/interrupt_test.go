package harness

import (
	"slices"
	"testing"
)

func TestEveryTurnIsInterrupted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begun map[string][]string // what begins while one is interrupted
		want  []string
	}{
		{"R13 the root and each that runs below it, the root first", nil, []string{"root", "a", "b"}},
		{"R13 a nested turn that began during the teardown too", map[string][]string{"root": {"c"}, "c": {"d"}}, []string{"root", "a", "b", "c", "d"}},
		{"R20 one that does not end is asked once, and left to the end of its tree", map[string][]string{"a": {"a"}}, []string{"root", "a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			active := []string{"root", "a", "b"}
			var got []string
			every(func() []string { return slices.Clone(active) }, func(x string) {
				got = append(got, x)
				active = append(slices.DeleteFunc(active, func(y string) bool { return y == x }), tt.begun[x]...)
			})
			if !slices.Equal(got, tt.want) {
				t.Errorf("interrupted %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("R17 a program that begins turns faster than they end does not hold its end up", func(t *testing.T) {
		n := 0
		every(func() []int { return []int{n} }, func(int) { n++ })
		if n != mostTurns {
			t.Error(n)
		}
	})
}
