package packet

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Mark begins every line of ours. No line of anybody else's begins with it:
// theirs begin with bar.
const Mark = "[paceline]"

const bar = "| "

// quoted is put before a line that imitates one of ours. The bar alone takes its
// authority; this tells a reader who overlooks bars.
const quoted = "(imitated) "

// trusted are the beginnings of our sentences that give an item weight. A copy
// inside of an item is marked as one even without our mark in front of it.
var trusted = []string{
	"is the standing instruction that began this conversation",
	"the message to answer. everything after this line is the user's own",
	"you take over work that",
	"you take over a conversation that",
}

// quote puts every line of a text behind a bar. It changes nothing else but
// what is there to deceive: imitations of our lines are marked as such, and
// characters that hide or reorder text are spelled out.
func quote(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	lines := split(text)
	imitated := make([]bool, len(lines))
	for i, l := range lines {
		imitated[i] = imitates(skeleton(l))
	}
	if len(lines) > 1 && !slices.Contains(imitated, true) && imitates(skeleton(text)) {
		// One sentence over several lines.
		for i := range imitated {
			imitated[i] = true
		}
	}
	var out strings.Builder
	out.Grow(len(text) + len(bar)*len(lines))
	for i, l := range lines {
		out.WriteString(bar)
		if imitated[i] {
			out.WriteString(quoted)
		}
		visible(&out, l)
		out.WriteByte('\n')
	}
	return out.String()
}

// split cuts at everything that some reader takes for the end of a line. Blank
// lines at the end are nothing.
func split(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out []string
	begin := 0
	for i, r := range text {
		if ends(r) {
			out = append(out, text[begin:i])
			begin = i + len(string(r))
		}
	}
	out = append(out, text[begin:])
	for len(out) > 1 && strings.TrimSpace(out[len(out)-1]) == "" {
		out = out[:len(out)-1]
	}
	return out
}

func ends(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// imitates reports whether a skeleton holds a mark or a sentence of ours.
func imitates(s string) bool {
	if strings.Contains(s, markSkeleton) {
		return true
	}
	return slices.ContainsFunc(trustedSkeletons, func(t string) bool { return strings.Contains(s, t) })
}

var (
	markSkeleton     = skeleton(Mark)
	trustedSkeletons = func() (out []string) {
		for _, t := range trusted {
			out = append(out, skeleton(t))
		}
		return out
	}()
)

// skeleton is what a text looks like to a careless eye: without blanks and
// whatever cannot be seen, in lower case, and with letters that look like
// others in their place.
func skeleton(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			if r > ' ' && r != 0x7f {
				out.WriteByte(lower(byte(r)))
			}
		case unseen(r):
		case r >= 0xff01 && r <= 0xff5e: // the full-width forms of ASCII
			out.WriteByte(lower(byte(r - 0xfee0)))
		default:
			r = unicode.ToLower(r)
			if as, ok := alike[r]; ok {
				r = as
			}
			out.WriteRune(r)
		}
	}
	return out.String()
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// unseen reports whether a character takes no ink: blanks, controls, formats,
// fillers, joiners, variation selectors, accents on nothing, tags.
func unseen(r rune) bool {
	switch {
	case unicode.IsSpace(r), unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Cc, unicode.Cf, unicode.Cn, unicode.Co, unicode.Mn, unicode.Me):
		return true
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800: // fillers, and the empty braille cell
		return true
	}
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// alike are the letters and brackets of other scripts that our own lines could
// be imitated with.
var alike = map[rune]rune{
	'а': 'a', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'ӏ': 'l', 'о': 'o', 'р': 'p', 'ѕ': 's', 'т': 't', 'у': 'y', 'х': 'x', 'ν': 'v',
	'α': 'a', 'ε': 'e', 'ι': 'i', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'ı': 'i', 'ɩ': 'i', 'ո': 'n', 'ⅼ': 'l', 'ⅰ': 'i', 'ɑ': 'a',
	'【': '[', '〔': '[', '⟦': '[', '〚': '[', '】': ']', '〕': ']', '⟧': ']', '〛': ']', '’': '\'',
}

// visible writes a line with everything spelled out that hides or reorders
// text. Joiners stay: honest scripts need them.
func visible(out *strings.Builder, line string) {
	for _, r := range line {
		switch {
		case r == '\t' || r >= ' ' && r < 0x7f:
			out.WriteByte(byte(r))
		case r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0, // controls, escape sequences among them
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // reorder what follows
			r >= 0xe0000 && r <= 0xe007f: // a whole alphabet that cannot be seen
			fmt.Fprintf(out, "\\u{%x}", r)
		default:
			out.WriteRune(r)
		}
	}
}

// label makes a name fit for a line of ours: short, on one line, and without
// anything that could be read as more than a name.
func label(s string) string {
	var out strings.Builder
	for _, r := range s {
		if out.Len() >= 60 {
			break
		}
		if r > ' ' && r < 0x7f && r != '[' && r != ']' && r != '|' {
			out.WriteByte(byte(r))
		}
	}
	return out.String()
}
