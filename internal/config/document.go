package config

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// document is a file's text, with what is needed to point into it.
type document struct {
	file   string
	layer  Layer
	text   []byte
	starts []int // the offset of each line
}

func newDocument(file string, l Layer, text []byte) *document {
	d := &document{file: file, layer: l, text: text, starts: []int{0}}
	for i, c := range text {
		if c == '\n' {
			d.starts = append(d.starts, i+1)
		}
	}
	return d
}

func (d *document) at(from, width int) origin {
	return origin{layer: d.layer, doc: d, from: from, width: width}
}

// position counts lines and bytes from 1.
func (d *document) position(offset int) (line, col int) {
	i, exact := slices.BinarySearch(d.starts, offset)
	if !exact {
		i--
	}
	return i + 1, offset - d.starts[i] + 1
}

// widest is the length of a line past which no excerpt helps.
const widest = 120

// excerpt is the line at an offset with the place marked below it. Values are
// shown only of keys that hold no secret; for the rest the line ends after its
// equals sign, because a key pasted under a wrong name is still a key.
func (d *document) excerpt(offset, width int) string {
	line, col := d.position(offset)
	from, to := d.starts[line-1], len(d.text)
	if line < len(d.starts) {
		to = d.starts[line] - 1
	}
	raw := bytes.TrimSuffix(d.text[from:to], []byte("\r"))
	if len(raw) > widest || !utf8.Valid(raw) {
		return ""
	}
	shown, whole := presentable(string(raw))
	if shown == "" {
		return ""
	}
	at := min(col-1, len(shown))
	width = max(1, min(width, len(shown)-at))
	number := strconv.Itoa(line)
	pad := strings.Repeat(" ", utf8.RuneCountInString(shown[:at]))
	if !whole {
		shown += " …"
	}
	return "  " + number + " | " + printable(shown) + "\n" +
		"  " + strings.Repeat(" ", len(number)) + " | " + pad + strings.Repeat("^", width)
}

// presentable is as much of a line as may be shown.
func presentable(line string) (shown string, whole bool) {
	before, after, set := strings.Cut(line, "=")
	switch head := strings.TrimSpace(before); {
	case !set && strings.HasPrefix(head, "[") && !strings.ContainsAny(head, `"'`):
		return line, true
	case !set && open(head):
		return line, true
	case !set:
		return "", false // a part of some longer value
	case strings.Contains(after, "="): // more than one setting
		return before + "=", false
	case open(head):
		return line, true
	}
	return before + "=", false
}

// open reports whether the last part of a name belongs to keys without secrets.
func open(name string) bool {
	tail := name[strings.LastIndexByte(name, '.')+1:]
	known := false
	for i := range keys {
		parts := keys[i].path()
		if parts[len(parts)-1] != strings.TrimSpace(tail) {
			continue
		}
		if keys[i].secret {
			return false
		}
		known = true
	}
	return known
}

// printable replaces what a terminal would obey rather than show.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
