// Package secret finds credentials in a text and blanks them, before the text
// is shown to another vendor than the one whose program read it (F48).
//
// Which shapes are credentials is not ours to maintain: gitleaks.toml is the
// default rule set of gitleaks 8.30.1, byte for byte as it was published (MIT,
// gitleaks.LICENSE). To bring it up to date, copy the newer file over it. What
// is added here is what that set does not know: the sign-in tokens of the
// programs that Paceline drives.
//
// A blank too many costs a successor one look into the tree. So rules that
// depend on where a text was found are asked without the place, and exceptions
// that depend on it are not made.
package secret

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed gitleaks.toml
var published []byte

// own are the shapes that the published set lacks.
var own = []rule{
	{ID: "claude-sign-in", Regex: `\bsk-ant-o[ar]t\d{2}-[\w-]{20,}`, Keywords: []string{"sk-ant-o"}},
	{ID: "codex-refresh-token", Regex: `\brt_[\w-]{40,}(?:\.[\w-]+)*`, Keywords: []string{"rt_"}},
}

// Finder blanks credentials. It keeps the expressions that it needed so far,
// and is used by one goroutine.
type Finder struct {
	rules  []rule
	global allowlist
	exps   map[string]*regexp.Regexp
}

type ruleset struct {
	Allowlist allowlist `toml:"allowlist"`
	Rules     []rule    `toml:"rules"`
}

type rule struct {
	ID         string      `toml:"id"`
	Regex      string      `toml:"regex"`
	Group      int         `toml:"secretGroup"` // 0 is the first one that matched, else the whole
	Entropy    float64     `toml:"entropy"`     // bits a byte that the secret has at least
	Keywords   []string    `toml:"keywords"`    // lower case; one is in the text, or the rule is not asked
	Allowlists []allowlist `toml:"allowlists"`
}

type allowlist struct {
	Target    string   `toml:"regexTarget"` // what Regexes look at: "" is the secret, else match or line
	Regexes   []string `toml:"regexes"`
	Stopwords []string `toml:"stopwords"`
	Paths     []string `toml:"paths"`
	Condition string   `toml:"condition"`
}

// New reads the rules. It fails only where the embedded file is broken.
func New() (*Finder, error) {
	var set ruleset
	if err := toml.Unmarshal(published, &set); err != nil {
		return nil, fmt.Errorf("read the rules for secrets: %w", err)
	}
	return &Finder{rules: append(set.Rules, own...), global: set.Allowlist, exps: map[string]*regexp.Regexp{}}, nil
}

// Blank returns the text with each credential in it replaced by its rule's
// name, and how many there were.
func (f *Finder) Blank(text string) (blanked string, n int) {
	var found []span
	lower := strings.ToLower(text)
	for _, r := range f.rules {
		if r.Regex != "" && r.named(lower) {
			found = append(found, f.find(r, text)...)
		}
	}
	if len(found) == 0 {
		return text, 0
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	end := 0
	for _, s := range found {
		if s.from < end {
			// Two rules know it, or one secret holds the next: nothing of either stays.
			end = max(end, s.to)
			continue
		}
		out.WriteString(text[end:s.from])
		out.WriteString("[redacted: " + s.rule + "]")
		end = s.to
		n++
	}
	out.WriteString(text[end:])
	return out.String(), n
}

// span is where a secret is.
type span struct {
	from, to int
	rule     string
}

func (r rule) named(lower string) bool {
	return len(r.Keywords) == 0 || slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.Contains(lower, k) })
}

func (f *Finder) find(r rule, text string) (out []span) {
	for _, m := range f.exp(r.Regex).FindAllStringSubmatchIndex(text, -1) {
		g := r.Group
		for i := 2; g == 0 && i < len(m); i += 2 {
			if m[i] >= 0 && m[i] < m[i+1] {
				g = i / 2
			}
		}
		if 2*g >= len(m) || m[2*g] < 0 {
			g = 0
		}
		s := span{m[2*g], m[2*g+1], r.ID}
		switch {
		case s.from == s.to, r.Entropy > 0 && entropy(text[s.from:s.to]) <= r.Entropy:
		case f.allowed(r, text, m[0], m[1], s):
		default:
			out = append(out, s)
		}
	}
	return out
}

// allowed reports whether an exception of the rule set holds.
func (f *Finder) allowed(r rule, text string, from, to int, s span) bool {
	value := text[s.from:s.to]
	for _, a := range append([]allowlist{f.global}, r.Allowlists...) {
		if len(a.Paths) > 0 && strings.EqualFold(a.Condition, "AND") {
			continue // only true of some files, and nobody knows the file here
		}
		looked := value
		switch a.Target {
		case "match":
			looked = text[from:to]
		case "line":
			looked = line(text, from, to)
		}
		if slices.ContainsFunc(a.Regexes, func(e string) bool { return f.exp(e).MatchString(looked) }) {
			return true
		}
		lower := strings.ToLower(value)
		if slices.ContainsFunc(a.Stopwords, func(w string) bool { return strings.Contains(lower, strings.ToLower(w)) }) {
			return true
		}
	}
	return false
}

// exp compiles an expression when it is first needed: most rules' keywords
// never occur.
func (f *Finder) exp(e string) *regexp.Regexp {
	re, ok := f.exps[e]
	if !ok {
		re = regexp.MustCompile(e) // a test compiles every one
		f.exps[e] = re
	}
	return re
}

func line(text string, from, to int) string {
	from = strings.LastIndexByte(text[:from], '\n') + 1
	if end := strings.IndexByte(text[to:], '\n'); end >= 0 {
		return text[from : to+end]
	}
	return text[from:]
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) (bits float64) {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
