package notice

import (
	"regexp"
	"strings"
	"unicode"
)

const (
	// maxWords bounds what is read as prose: a notice is short (A5), and what is
	// longer holds it at its head or at its tail.
	maxWords = 8 << 10
	// maxBody bounds what is parsed as a body.
	maxBody = 1 << 20
)

var (
	escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b.")
	quoted  = regexp.MustCompile("\"[^\"]*\"|`[^`]*`|“[^”]*”")
)

// lost are signs that were decoded in a wrong alphabet on their way.
var lost = strings.NewReplacer("Â·", "·", "â€™", "'", "â€˜", "'", "âˆ™", "·", "â€”", "—", "Â ", " ")

// plain makes a notice's words comparable: one kind of apostrophe and of
// separator, no colours, boxes, bullets or wraps. What stands in double quotes
// is somebody else's word, and goes.
func plain(text string) string {
	text = escapes.ReplaceAllString(cut(text), "")
	text = lost.Replace(text)
	var b strings.Builder
	b.Grow(len(text))
	space := true // none is written yet
	put := func(r rune) {
		if r == ' ' {
			if !space {
				b.WriteByte(' ')
			}
			space = true
			return
		}
		space = false
		b.WriteRune(r)
	}
	for _, r := range text {
		switch {
		case r == '’', r == '‘', r == 'ʼ', r == '′':
			put('\'')
		case r == '∙', r == '•', r == '·', r == '—', r == '–', r == '−':
			put('·')
		case r == '\u2010', r == '\u2011':
			put('-')
		case r == '…':
			put('.')
		case r == unicode.ReplacementChar, unicode.IsSpace(r), unicode.IsControl(r), unicode.Is(unicode.So, r), unicode.Is(unicode.Cf, r):
			put(' ')
		default:
			put(r)
		}
	}
	said := strings.TrimSpace(b.String())
	if strings.Contains(said, `{"`) || strings.Contains(said, `{\"`) {
		return strings.NewReplacer(`\"`, " ", `"`, " ").Replace(said) // a body that was cut off
	}
	return quoted.ReplaceAllString(said, `""`)
}

// comparable is said for the grammar: in lower case, and a code that ended up in
// prose ("usage_limit_exceeded") reads as the words that it is made of.
func comparable(said string) string {
	return strings.ReplaceAll(strings.ToLower(said), "_", " ")
}

func cut(text string) string {
	if len(text) <= maxWords {
		return text
	}
	return text[:maxWords/2] + "\n" + text[len(text)-maxWords/2:]
}
