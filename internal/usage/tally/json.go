package tally

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// cursor reads one row of JSON once, from left to right, and builds nothing. It
// is strict, since a row that was cut, or written over by another process, is
// to be counted by nobody. The first fault ends it: every later read fails.
type cursor struct {
	b     []byte
	i     int
	depth int
	bad   bool
	// texts asks that what is passed over is sound text too, and nested no
	// deeper than deepest.
	texts bool
	// null is asked about each key whose value is null; the row fails where it
	// answers true.
	null func(key []byte) bool
}

const deepest = 127

func (c *cursor) fail() bool { c.bad = true; return false }

// space goes to the next byte that means something, and returns it; 0 at the
// end, which no JSON has elsewhere.
func (c *cursor) space() byte {
	for c.i < len(c.b) {
		switch b := c.b[c.i]; b {
		case ' ', '\t', '\r', '\n':
			c.i++
		default:
			return b
		}
	}
	return 0
}

// end reports whether nothing follows.
func (c *cursor) end() bool { return !c.bad && c.space() == 0 && c.i == len(c.b) }

func (c *cursor) take(b byte) bool {
	if c.bad || c.space() != b || c.i == len(c.b) {
		return c.fail()
	}
	c.i++
	return true
}

// enter opens an object or an array; first says that it has a first member.
func (c *cursor) enter(open, close byte) (first bool) {
	if !c.take(open) {
		return false
	}
	c.depth++
	if c.texts && c.depth > deepest {
		return c.fail()
	}
	if c.space() == close {
		c.i++
		c.depth--
		return false
	}
	return true
}

// more goes past the comma before a next member, or past the end.
func (c *cursor) more(close byte) bool {
	if c.bad {
		return false
	}
	switch c.space() {
	case ',':
		c.i++
		return true
	case close:
		c.i++
		c.depth--
		return false
	}
	return c.fail()
}

// key reads a member's name and its colon. A name that is escaped is returned
// as it reads.
func (c *cursor) key() []byte {
	k, ok := c.text()
	if !ok || !c.take(':') {
		c.bad = true
		return nil
	}
	if c.null != nil && c.space() == 'n' && c.null(k) {
		c.bad = true
	}
	return k
}

// passKey goes past a member's name and its colon.
func (c *cursor) passKey() {
	switch {
	case c.texts:
		c.key()
	case c.bad || c.space() != '"':
		c.fail()
	default:
		c.pass(false)
		c.take(':')
	}
}

// text reads a string, without copying it where it has no escape.
func (c *cursor) text() ([]byte, bool) {
	if c.bad || c.space() != '"' {
		return nil, c.fail()
	}
	from := c.i + 1
	escaped := c.pass(true)
	if c.bad {
		return nil, false
	}
	raw := c.b[from : c.i-1]
	if !escaped {
		return raw, true
	}
	return unescape(raw), true
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// pass goes past a string, and reports whether it has escapes. Most bytes are
// plain text, of which eight are looked at in one go.
func (c *cursor) pass(strict bool) (escaped bool) {
	b, i := c.b, c.i+1
	for {
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			quote, slash := w^(ones*'"'), w^(ones*'\\')
			odd := ((quote - ones) &^ quote) | ((slash - ones) &^ slash) | ((w - ones*0x20) &^ w)
			if strict {
				odd |= w
			}
			if odd &= highs; odd != 0 {
				i += bits.TrailingZeros64(odd) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			c.bad = true
			return escaped
		}
		switch ch := b[i]; {
		case ch == '"':
			c.i = i + 1
			return escaped
		case ch == '\\':
			escaped = true
			n := escape(b[i:], strict)
			if n == 0 {
				c.bad = true
				return escaped
			}
			i += n
		case ch < 0x20:
			c.bad = true
			return escaped
		case ch < utf8.RuneSelf || !strict:
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				c.bad = true
				return escaped
			}
			i += n
		}
	}
}

// escape is the length of the escape that b begins with, 0 where it is none. A
// half of a pair of surrogates alone is no character.
func escape(b []byte, strict bool) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		r, ok := hex4(b)
		switch {
		case !ok:
			return 0
		case !strict || !utf16.IsSurrogate(r):
			return 6
		}
		low, ok := hex4(b[6:])
		if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
			return 0
		}
		return 12
	}
	return 0
}

// hex4 reads \uXXXX.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, ch := range b[2:6] {
		switch {
		case '0' <= ch && ch <= '9':
			ch -= '0'
		case 'a' <= ch && ch <= 'f':
			ch -= 'a' - 10
		case 'A' <= ch && ch <= 'F':
			ch -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(ch)
	}
	return r, true
}

// unescape reads a string that pass went past strictly.
func unescape(raw []byte) []byte {
	plain := map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		r, ok := hex4(raw[i:])
		if !ok {
			i++
			if p, ok := plain[raw[i]]; ok {
				out = append(out, p)
			} else {
				out = append(out, raw[i])
			}
			continue
		}
		i += 5
		if low, ok := hex4(raw[i+1:]); ok && utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, low)
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// number reads a number's bytes.
func (c *cursor) number() ([]byte, bool) {
	c.space()
	from := c.i
	at := func() byte {
		if c.i < len(c.b) {
			return c.b[c.i]
		}
		return 0
	}
	digits := func() bool {
		from := c.i
		for '0' <= at() && at() <= '9' {
			c.i++
		}
		return c.i > from
	}
	if at() == '-' {
		c.i++
	}
	if at() == '0' {
		c.i++
	} else if !digits() {
		return nil, c.fail()
	}
	if at() == '.' {
		if c.i++; !digits() {
			return nil, c.fail()
		}
	}
	if at()|0x20 == 'e' {
		c.i++
		if at() == '+' || at() == '-' {
			c.i++
		}
		if !digits() {
			return nil, c.fail()
		}
	}
	return c.b[from:c.i], !c.bad
}

// word takes null, true or false.
func (c *cursor) word(w string) bool {
	if c.bad || len(c.b)-c.i < len(w) || string(c.b[c.i:c.i+len(w)]) != w {
		return c.fail()
	}
	c.i += len(w)
	return true
}

// skip goes past a value of any kind. It keeps its own stack, one bit a level,
// so that no depth of what a file holds is a depth of ours.
func (c *cursor) skip() {
	var objects []uint64
	base := c.depth
	for !c.bad {
		switch b := c.space(); b {
		case '{', '[':
			n := c.depth - base
			if n/64 == len(objects) {
				objects = append(objects, 0)
			}
			objects[n/64] &^= 1 << (n % 64)
			if b == '{' {
				objects[n/64] |= 1 << (n % 64)
				if c.enter('{', '}') {
					c.passKey()
					continue
				}
			} else if c.enter('[', ']') {
				continue
			}
		case '"':
			c.pass(c.texts)
		case 't':
			c.word("true")
		case 'f':
			c.word("false")
		case 'n':
			c.word("null")
		default:
			c.number()
		}
		for {
			if c.bad || c.depth == base {
				return
			}
			n := c.depth - base - 1
			if objects[n/64]>>(n%64)&1 == 1 {
				if c.more('}') {
					c.passKey()
					break
				}
			} else if c.more(']') {
				break
			}
		}
	}
}
