package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// prefix begins the variables that are ours.
const prefix = "PACELINE_"

// reserved are ours without being keys: the marker of a run's processes, the
// state directory, and the user's file.
var reserved = []string{"PACELINE_RUN", "PACELINE_STATE", "PACELINE_CONFIG"}

// environment reads the settings among a process's variables. Names below
// accounts and vendors are matched with the known ones, which variables cannot
// spell: OFFICE_2 is office-2 where a file declares that.
func environment(environ []string, known []string, home string) layer {
	out := newLayer()
	for name, text := range ours(environ) {
		at := origin{layer: LayerEnv, name: spell([]string{name})}
		path := envPath(name, known)
		k, what, _ := lookup(path)
		if what != leaf || name != strings.ToUpper(name) {
			if f := strange(name, path, what, known); f != nil {
				out.problems = append(out.problems, at.problem(at.name, *f))
			}
			continue
		}
		if text == "" {
			continue // as good as not set
		}
		if path[0] == "accounts" {
			out.names[path[1]] = at
		}
		out.typed(setting{key: k, path: path, at: at}, text, home)
	}
	slices.SortFunc(out.settings, func(a, b setting) int { return strings.Compare(a.at.name, b.at.name) })
	return out
}

// ours are the variables that begin with our prefix. Of one that is given
// twice, the last counts, as in a child.
func ours(environ []string) map[string]string {
	out := map[string]string{}
	for _, kv := range environ {
		name, text, ok := strings.Cut(kv, "=")
		if ok && strings.HasPrefix(name, prefix) && !slices.Contains(reserved, name) {
			out[name] = text
		}
	}
	return out
}

// envPath is the path that a variable's name spells.
func envPath(name string, known []string) []string {
	path := strings.Split(strings.TrimPrefix(name, prefix), "__")
	for i, part := range path {
		path[i] = strings.ToLower(part)
		if i != 1 || path[0] != "accounts" {
			continue
		}
		for _, k := range known {
			if envPart(k) == part {
				path[i] = k
				break
			}
		}
	}
	return path
}

// envPart is how a variable spells one part of a path.
func envPart(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) }

func envName(path []string) string {
	out := make([]string, len(path))
	for i, part := range path {
		out[i] = envPart(part)
	}
	return prefix + strings.Join(out, "__")
}

// strange says what is wrong with a variable that names no key. One without
// levels that resembles none of ours belongs to somebody else, and is let be.
func strange(name string, path []string, what found, known []string) *fault {
	if what == table && name == strings.ToUpper(name) {
		return &fault{
			name + " names a group of keys, not a key",
			fmt.Sprintf("put two underscores before the key, as in %s__%s", name, envPart(below(path)[0])),
		}
	}
	// Without the prefix, which would make everything of ours resemble it.
	var rests []string
	for _, n := range append(envNames(path, known), reserved...) {
		rests = append(rests, strings.TrimPrefix(n, prefix))
	}
	near := Nearest(strings.ToUpper(strings.TrimPrefix(name, prefix)), rests)
	if near == "" && !strings.Contains(name, "__") {
		return nil
	}
	f := &fault{what: "unknown variable " + spell([]string{name})}
	if near != "" {
		f.hint = "did you mean " + spell([]string{prefix + near}) + "?"
	}
	return f
}

// envNames are the variables there could be, with the names that are known and
// the one that path itself has in their place.
func envNames(path, known []string) []string {
	if len(path) > 2 {
		known = append(slices.Clone(known), path[1])
	}
	var out []string
	for i := range keys {
		if !strings.Contains(keys[i].name, anyName) {
			out = append(out, envName(keys[i].path()))
			continue
		}
		for _, name := range known {
			out = append(out, envName(keys[i].named(name)))
		}
	}
	return out
}

// typed adds a setting from its text: a variable's, or a flag's.
func (l *layer) typed(s setting, text string, home string) {
	var err error
	switch s.key.kind {
	case truth:
		s.value.truth, err = strconv.ParseBool(text)
	case number:
		s.value.number, err = strconv.Atoi(text)
	case list:
		for _, entry := range strings.Split(text, ",") {
			s.value.list = append(s.value.list, item{strings.TrimSpace(entry), s.at})
		}
	default:
		s.value.text = text
	}
	if err != nil {
		l.spoil(s, s.at, &fault{what: fmt.Sprintf("%s must be %s", s.spelt(), s.key.form())})
		return
	}
	l.take(s, home)
}

// Flags are what a command line says, as typed; "" is a flag that was not given.
type Flags struct {
	Chain  []string // "claude", "codex:MODEL"; an entry may itself be a list with commas
	Mode   string
	Engine string // a pin: the chain is this engine alone, and nothing moves away from it
}

// flags reads the settings of a command line.
func flags(f Flags, home string) layer {
	out := newLayer()
	add := func(name, path, text string) {
		if text == "" {
			return
		}
		parts := strings.Split(path, ".")
		k, _, _ := lookup(parts)
		out.typed(setting{key: k, path: parts, at: origin{layer: LayerFlag, name: name}}, text, home)
	}
	add("--mode", "mode", f.Mode)
	chain := strings.Join(f.Chain, ",")
	if chain != "" && f.Engine != "" {
		out.problems = append(out.problems, origin{layer: LayerFlag, name: "--engine"}.problem("--engine",
			fault{"--engine and --chain cannot both be given", "an engine is a pin; name it first in the chain to begin there"}))
		return out
	}
	if strings.Contains(f.Engine, ",") {
		out.problems = append(out.problems, origin{layer: LayerFlag, name: "--engine"}.problem("--engine",
			fault{"--engine names more than one engine", "--chain takes several"}))
		return out
	}
	add("--chain", "chain.default", chain)
	add("--engine", "chain.default", f.Engine)
	return out
}
