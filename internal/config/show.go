package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Shown is one key with its value and what set it. A key that nothing sets and
// that has no default is not shown.
type Shown struct {
	Key   string `json:"key"`
	Value string `json:"value"` // as a file would write it; without secrets
	Layer Layer  `json:"layer"`
	From  string `json:"from"` // for people: a file with its line, a variable, a flag, "default"
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"` // from 1, in File
}

// show lists the keys in the table's order, and those of each account together.
func (m merged) show() []Shown {
	var out []Shown
	groups := map[string]map[string]bool{} // "accounts" to the names below it
	for _, s := range m.set {
		if strings.Contains(s.key.name, anyName) {
			group := s.path[0]
			if groups[group] == nil {
				groups[group] = map[string]bool{}
			}
			groups[group][s.name()] = true
		}
	}
	for i := range keys {
		if s := m.set[keys[i].name]; s.key != nil {
			out = append(out, s.show())
		}
	}
	for _, group := range slices.Backward(slices.Sorted(maps.Keys(groups))) { // vendors, accounts
		for _, name := range slices.Sorted(maps.Keys(groups[group])) {
			for i := range keys {
				if s, ok := m.set[spell(keys[i].named(name))]; ok && s.path[0] == group {
					out = append(out, s.show())
				}
			}
		}
	}
	return out
}

func (s setting) show() Shown {
	out := Shown{Key: spell(s.path), Value: literal(s.key, s.value), Layer: s.at.layer}
	switch {
	case s.at.doc != nil:
		out.File = s.at.doc.file
		out.Line, _ = s.at.doc.position(s.at.from)
		out.From = fmt.Sprintf("%s:%d", out.File, out.Line)
	case s.at.name != "":
		out.From = s.at.name
	default:
		out.From = out.Layer.String()
	}
	return out
}

// literal writes a value as a file would, or as much of it as may be shown.
func literal(k *key, v value) string {
	switch k.kind {
	case truth:
		return strconv.FormatBool(v.truth)
	case number:
		return strconv.Itoa(v.number)
	case list:
		quoted := make([]string, len(v.list))
		for i, e := range v.list {
			quoted[i] = strconv.Quote(e.text)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case text:
	}
	if k.secret {
		return strconv.Quote(k.shown(v.text))
	}
	return strconv.Quote(v.text)
}
