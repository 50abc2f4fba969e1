package config

import (
	"strconv"
	"strings"
)

// Layer is one source of settings. A later one wins.
type Layer uint8

const (
	LayerDefault Layer = iota
	LayerUser
	LayerRepo
	LayerEnv
	LayerFlag
)

var layerNames = []string{"default", "user file", "repository file", "environment", "flag"}

func (l Layer) String() string { return word(layerNames, uint8(l)) }

// MarshalText gives a layer's name, for `config show --json`.
func (l Layer) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// layer is what one source says, and what is wrong with how it says it.
type layer struct {
	// broken says that there is more, which could not be read: nothing may then
	// be concluded from what is missing.
	broken   bool
	settings []setting
	// names are the accounts that are named at all, with the first place that
	// does: an empty [accounts.office] is a declaration too, if a wanting one.
	names map[string]origin
	// spoilt are the paths that were set to something wrong. Their absence is
	// then no second problem.
	spoilt   map[string]bool
	problems Problems
}

func newLayer() layer {
	return layer{names: map[string]origin{}, spoilt: map[string]bool{}}
}

// spoil reports what is wrong with a setting's value, if anything is.
func (l *layer) spoil(s setting, at origin, f *fault) {
	if f != nil {
		l.problems = append(l.problems, at.problem(s.spelt(), *f))
		l.spoilt[spell(s.path)] = true
	}
}

// setting is one key with the value that a layer gives it.
type setting struct {
	key   *key
	path  []string
	value value
	at    origin
}

// name is what anyName stands for in the setting's path.
func (s setting) name() string {
	for i, part := range s.key.path() {
		if part == anyName {
			return s.path[i]
		}
	}
	return ""
}

// value is what a key is set to; which field counts is its key's kind.
type value struct {
	text   string
	number int
	truth  bool
	list   []item
}

// item is an entry of a list, which has a place of its own.
type item struct {
	text string
	at   origin
}

func (v value) texts() []string {
	var out []string
	for _, i := range v.list {
		out = append(out, i.text)
	}
	return out
}

// origin is where something was said.
type origin struct {
	layer Layer
	name  string // the variable or the flag; "" in a file
	doc   *document
	from  int // offset in doc
	width int
}

// problem reports a fault at its place. The excerpt is left to doc, which knows
// what may be shown of a line.
func (o origin) problem(key string, f fault) Problem {
	p := Problem{Key: key, What: f.what, Hint: f.hint, layer: o.layer}
	switch {
	case o.doc != nil:
		p.File = o.doc.file
		p.Line, p.Col = o.doc.position(o.from)
		p.Excerpt = o.doc.excerpt(o.from, o.width)
	case o.layer == LayerEnv:
		p.File = "environment"
	case o.layer == LayerFlag:
		p.File = "flags"
	}
	return p
}

// problem reports what is wrong with a setting, under the name that its layer
// knows it by.
func (s setting) problem(f fault) Problem {
	return s.at.problem(s.spelt(), f)
}

func (s setting) spelt() string {
	if s.at.name != "" {
		return s.at.name
	}
	return spell(s.path)
}

// spell writes a path as a file would. A foreign name may hold anything, so it
// is quoted, with its control characters escaped.
func spell(path []string) string {
	out := make([]string, len(path))
	for i, part := range path {
		out[i] = part
		if !bare(part) {
			out[i] = strconv.Quote(part)
		}
	}
	return strings.Join(out, ".")
}

// bare reports whether a name needs no quotes in a file.
func bare(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return name != ""
}
