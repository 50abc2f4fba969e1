package config

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"mode", "fallback", "chain", "max_hops", "enabled", "env"}
	for _, c := range []struct{ name, word, want string }{
		{"the word itself", "mode", "mode"},
		{"a letter too many", "modee", "mode"},
		{"a letter too few", "falback", "fallback"},
		{"two neighbours swapped are one mistake", "moed", "mode"},
		{"a wrong letter", "chaim", "chain"},
		{"a third of a long word may be wrong", "max_hopped", "max_hops"},
		{"half of a short one may not", "made-up", ""},
		{"two letters of three may not", "exx", ""},
		{"one letter may", "en", "env"},
		{"the first of two that are as near", "enx", "env"},
		{"nothing is near nothing", "", ""},
		{"nor anything to a text", strings.Repeat("mode", 1000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Nearest(c.word, known); got != c.want {
				t.Errorf("Nearest(%.20q) is %q, want %q", c.word, got, c.want)
			}
		})
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("of no names %q is near", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"kitten", "sitting", 3},
		{"ab", "ba", 1},
		{"abcd", "badc", 2},
		{"ca", "abc", 3}, // a swapped pair is not edited again
	} {
		if got := distance(c.a, c.b, 99); got != c.want {
			t.Errorf("distance(%q, %q) is %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.a, c.b, 1); min(got, 1) != min(c.want, 1) {
			t.Errorf("distance(%q, %q) below 1 is %d", c.a, c.b, got)
		}
	}
}
