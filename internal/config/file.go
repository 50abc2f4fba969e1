package config

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// reading is a file while it is read.
type reading struct {
	doc  *document
	home string
	out  layer
}

// file reads the settings of one file, which may be absent (nil). Text that is not TOML at all gives one
// problem and no settings; otherwise each line is judged by itself.
func file(doc *document, home string) layer {
	r := &reading{doc: doc, home: home, out: newLayer()}
	if doc == nil {
		return r.out
	}
	if i := invalid(doc.text); i >= 0 {
		r.out.broken = true
		r.fail(doc.at(i, 1), "", "it is not UTF-8 text", "save it as UTF-8")
		return r.out
	}
	// This also finds keys that are set twice, which the syntax tree alone
	// does not tell.
	if err := toml.Unmarshal(doc.text, new(any)); err != nil {
		r.broken(err)
		return r.out
	}
	var p unstable.Parser
	p.Reset(doc.text)
	var heading []part
	known := true
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			heading = r.parts(nil, e)
			known = r.heading(heading)
		case unstable.ArrayTable:
			known = false // what stands below it would only repeat the problem
			r.rows(r.parts(nil, e))
		case unstable.KeyValue:
			if known {
				r.pair(heading, e)
			}
		default: // a comment
		}
	}
	return r.out
}

// invalid is the offset of the first byte that is not UTF-8; -1 where all is.
func invalid(b []byte) int {
	for i := 0; i < len(b); {
		c, n := utf8.DecodeRune(b[i:])
		if c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// broken reports what the parser could not read.
func (r *reading) broken(err error) {
	r.out.broken = true
	at, what := r.doc.at(0, 1), "it is not TOML"
	var de *toml.DecodeError
	if errors.As(err, &de) {
		line, col := de.Position()
		if line >= 1 && line <= len(r.doc.starts) {
			at = r.doc.at(min(r.doc.starts[line-1]+col-1, len(r.doc.text)), 1)
		}
		what += ": " + printable(strings.TrimPrefix(de.Error(), "toml: "))
	}
	r.fail(at, "", what, "")
}

func (r *reading) fail(at origin, key, what, hint string) {
	r.out.problems = append(r.out.problems, at.problem(key, fault{what, hint}))
}

// part is one part of a dotted name, with its place.
type part struct {
	name string
	at   origin
}

func names(parts []part) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.name
	}
	return out
}

// parts is the full name of a heading or a pair that stands below prefix.
func (r *reading) parts(prefix []part, n *unstable.Node) []part {
	out := append([]part(nil), prefix...)
	for it := n.Key(); it.Next(); {
		k := it.Node()
		out = append(out, part{string(k.Data), r.doc.at(int(k.Raw.Offset), int(k.Raw.Length))})
	}
	return out
}

// heading judges a [table]; false means that what stands below it is not read.
func (r *reading) heading(parts []part) bool {
	_, what, depth := lookup(names(parts))
	switch what {
	case table:
		r.declares(parts)
		return true
	case leaf, beyond:
		r.nested(parts[:depth])
	case unknown:
		r.unknown(parts, depth)
	}
	return false
}

// declares notes the account that a name belongs to.
func (r *reading) declares(parts []part) {
	if len(parts) < 2 || parts[0].name != "accounts" {
		return
	}
	if _, seen := r.out.names[parts[1].name]; !seen {
		r.out.names[parts[1].name] = parts[1].at
	}
}

// rows judges a [[table]]: no key has several.
func (r *reading) rows(parts []part) {
	path := names(parts)
	if _, what, depth := lookup(path); what == unknown {
		r.unknown(parts, depth)
		return
	}
	r.fail(parts[len(parts)-1].at, spell(path), fmt.Sprintf("%s is not a list of tables", spell(path)),
		"write it with one pair of brackets")
}

// pair judges a name and its value.
func (r *reading) pair(prefix []part, n *unstable.Node) {
	parts := r.parts(prefix, n)
	path := names(parts)
	last := parts[len(parts)-1]
	k, what, depth := lookup(path)
	switch what {
	case unknown:
		r.unknown(parts, depth)
	case beyond:
		r.nested(parts[:depth])
	case table:
		if n.Value().Kind != unstable.InlineTable {
			r.fail(last.at, spell(path), spell(path)+" is a table, not a value", "its keys are "+strings.Join(below(path), ", "))
			return
		}
		r.declares(parts)
		for it := n.Value().Children(); it.Next(); {
			r.pair(parts, it.Node())
		}
	case leaf:
		r.declares(parts)
		r.leaf(k, path, last, n.Value())
	}
}

// below names the keys of a table as a hint gives them.
func below(path []string) []string {
	if next := children(path); len(next) > 0 {
		return next
	}
	var out []string
	for _, next := range children(append(append([]string(nil), path...), "NAME")) {
		out = append(out, "NAME."+next)
	}
	return out
}

// leaf reads a value, and keeps the setting if nothing is wrong with it.
func (r *reading) leaf(k *key, path []string, name part, n *unstable.Node) {
	s := setting{key: k, path: path, at: name.at}
	if n.Raw.Length > 0 {
		s.at = r.doc.at(int(n.Raw.Offset), int(n.Raw.Length))
	}
	v, ok := r.value(s, n)
	if !ok {
		return
	}
	s.value = v
	r.out.take(s, r.home)
}

// value is what a node says, if it has the form that its key wants. It recovers
// from nothing: a number in quotes is a mistake that its writer should see.
func (r *reading) value(s setting, n *unstable.Node) (v value, ok bool) {
	switch {
	case s.key.kind == text && n.Kind == unstable.String:
		v.text, ok = string(n.Data), true
	case s.key.kind == truth && n.Kind == unstable.Bool:
		v.truth, ok = bytes.Equal(n.Data, []byte("true")), true
	case s.key.kind == number && n.Kind == unstable.Integer:
		i, err := strconv.ParseInt(string(n.Data), 0, 32)
		v.number, ok = int(i), err == nil
	case s.key.kind == list && n.Kind == unstable.Array:
		ok = true
		for it := n.Children(); it.Next(); {
			e := it.Node()
			if e.Kind != unstable.String {
				ok = false
				break
			}
			v.list = append(v.list, item{string(e.Data), r.doc.at(int(e.Raw.Offset), int(e.Raw.Length))})
		}
	}
	if !ok {
		r.out.spoil(s, s.at, &fault{what: s.spelt() + " must be " + s.key.form()})
	}
	return v, ok
}

// unknown reports a name that nothing has.
func (r *reading) unknown(parts []part, depth int) {
	path := names(parts)
	hint := "the keys here are " + strings.Join(below(path[:depth]), ", ")
	if near := meant(path, depth); near != "" {
		hint = "did you mean " + near + "?"
		r.out.spoilt[near] = true
	}
	name := spell(path[:depth+1])
	r.fail(parts[depth].at, name, "unknown key "+name, hint)
}

// nested reports a value that is used as a table.
func (r *reading) nested(parts []part) {
	name := spell(names(parts))
	r.fail(parts[len(parts)-1].at, name, name+" is a value, not a table", "")
}
