package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/paceline/paceline"
)

// merged is what all layers together say.
type merged struct {
	set    map[string]setting // by spelt path
	names  map[string]origin  // the accounts there are
	spoilt map[string]bool
}

// standing is what holds where nobody says anything. There is no default
// chain, and an account's posture is asked of its program.
var standing = map[string]string{
	"mode": "edit", "fallback.enabled": "true", "fallback.max_hops": "0", "fallback.weaker": "skip",
	"fallback.overage": "announce", "fallback.rollover": "settled",
	"accounts.*.enabled": "true", "accounts.*.capacity": "full",
}

// defaults is the weakest layer, for the accounts that the others name.
func defaults(names []string) layer {
	out := newLayer()
	for i := range keys {
		k := &keys[i]
		text, ok := k.standing()
		switch {
		case !strings.Contains(k.name, anyName):
			s := setting{key: k, path: k.path()}
			switch {
			case ok:
				out.typed(s, text, "")
			case k.kind != number:
				out.settings = append(out.settings, s) // an empty list
			}
		case k.name == "accounts.*.harness":
			for _, h := range harnesses {
				out.typed(setting{key: k, path: k.named(h)}, h, "")
			}
		case ok:
			for _, name := range names {
				out.typed(setting{key: k, path: k.named(name)}, text, "")
			}
		}
	}
	return out
}

// merge lays the layers over each other, the weakest first.
func merge(layers ...layer) (merged, Problems) {
	m := merged{map[string]setting{}, map[string]origin{}, map[string]bool{}}
	var problems Problems
	broken := false
	for _, l := range layers {
		problems = append(problems, l.problems...)
		broken = broken || l.broken
		maps.Copy(m.spoilt, l.spoilt)
		for _, s := range l.settings {
			path := spell(s.path)
			if s.at.layer == LayerRepo {
				below := m.set[path]
				if broken && s.key.rule == narrow {
					below = s // what the user's file allows could not be read
				}
				if f := refused(s, below); f != nil {
					problems = append(problems, s.problem(*f))
					continue
				}
			}
			m.set[path] = s
		}
		for _, name := range slices.Sorted(maps.Keys(l.names)) {
			at := l.names[name]
			if at.layer == LayerRepo {
				problems = append(problems, undeclared(name, at, l)...)
			} else if _, seen := m.names[name]; !seen {
				m.names[name] = at
			}
		}
	}
	for _, h := range harnesses {
		if _, seen := m.names[h]; !seen {
			m.names[h] = origin{}
		}
	}
	return m, problems
}

// refused says why a repository's file may not set what it sets; nil where it
// may. below is what holds without it.
func refused(s, below setting) *fault {
	switch {
	case s.key.rule != narrow:
		return &fault{"a repository file may not set " + spell(s.path), "it belongs in your own configuration file"}
	case below.key != nil && width(s.key, s.value) > width(below.key, below.value):
		return &fault{
			fmt.Sprintf("a repository file may narrow %s, never widen it: it is %s already, and this says %s",
				spell(s.path), literal(below.key, below.value), literal(s.key, s.value)),
			"leave it out here, or set the wider value in your own configuration file",
		}
	}
	return nil
}

// undeclared refuses an account whose heading in a repository's file has
// nothing below it; what stands below a heading is refused by itself.
func undeclared(name string, at origin, l layer) Problems {
	inside := "accounts." + spell([]string{name}) + "."
	for _, s := range l.settings {
		if strings.HasPrefix(spell(s.path), inside) {
			return nil
		}
	}
	path := spell([]string{"accounts", name})
	return Problems{at.problem(path, fault{"a repository file may not set " + path, "it belongs in your own configuration file"})}
}

// width orders the values of a key that a repository's file may narrow.
func width(k *key, v value) int {
	switch k.kind {
	case truth:
		if v.truth {
			return 1
		}
		return 0
	case number:
		if v.number == 0 {
			return math.MaxInt // no bound
		}
		return v.number
	case text, list:
	}
	return slices.Index(k.words, v.text)
}

// policy is what the settings come to.
func (m merged) policy() Policy {
	p := Policy{Accounts: map[string]paceline.Account{}}
	for i := range keys { // in the table's order, so that it depends on nothing else
		for _, s := range m.of(&keys[i]) {
			s.key.set(&p, s.name(), s.value)
		}
	}
	return p
}

// of are the settings of one key, by name.
func (m merged) of(k *key) []setting {
	if !strings.Contains(k.name, anyName) {
		if s, ok := m.set[k.name]; ok {
			return []setting{s}
		}
		return nil
	}
	var out []setting
	for _, s := range m.set {
		if s.key == k {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b setting) int { return strings.Compare(a.name(), b.name()) })
	return out
}
