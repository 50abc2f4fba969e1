package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with the configuration. It holds no secret: where
// a value could be one, neither What nor Excerpt shows it.
type Problem struct {
	File    string `json:"file"`           // the file's path, "environment" or "flags"
	Line    int    `json:"line,omitempty"` // from 1; 0 where it has no place in a file
	Col     int    `json:"col,omitempty"`  // from 1, in bytes
	Key     string `json:"key,omitempty"`  // as its layer spells it: mode, PACELINE_MODE, --mode
	What    string `json:"what"`
	Hint    string `json:"hint,omitempty"`
	Excerpt string `json:"excerpt,omitempty"` // the line, and a caret below it

	layer Layer
}

// Error is the problem on one line, with its place in front.
func (p Problem) Error() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.What)
	case p.File != "":
		return p.File + ": " + p.What
	}
	return p.What
}

// Problems are all that is wrong, in the order of the layers and their lines.
type Problems []Problem

// most is how many problems are told in full. A file that has more is not a
// configuration at all.
const most = 25

// Error tells the problems with their excerpts and hints, as people read them.
func (ps Problems) Error() string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == most {
			fmt.Fprintf(&b, "and %d more", len(ps)-most)
			break
		}
		b.WriteString(p.Error())
		if p.Excerpt != "" {
			b.WriteString("\n" + p.Excerpt)
		}
		if p.Hint != "" {
			b.WriteString("\n  hint: " + p.Hint)
		}
	}
	return b.String()
}

// Unwrap gives errors.As each problem.
func (ps Problems) Unwrap() []error {
	out := make([]error, len(ps))
	for i, p := range ps {
		out[i] = p
	}
	return out
}

// sorted is ps in reading order. What one layer says of one place keeps the
// order in which it was found.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		for _, d := range []int{int(a.layer) - int(b.layer), a.Line - b.Line, a.Col - b.Col} {
			if d != 0 {
				return d
			}
		}
		return strings.Compare(a.Key, b.Key)
	})
	return ps
}

// fault is what is wrong with a value, before it is known where it stands.
type fault struct{ what, hint string }
