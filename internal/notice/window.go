package notice

import (
	"regexp"
	"strings"
)

// windowNames are the typed names of usage windows. Any that is not here keeps
// its own.
var windowNames = map[string]string{
	"five_hour": "5h", "seven_day": "weekly", "seven_day_opus": "weekly", "seven_day_sonnet": "weekly",
	"5h": "5h", "7d": "weekly", "weekly": "weekly", "daily": "daily", "monthly": "monthly",
}

var windowWords = []struct {
	in   *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`\b(?:5|five)[- ]?h(?:ou)?rs?\b`), "5h"},
	{regexp.MustCompile(`\bsession\b`), "session"},
	{regexp.MustCompile(`\b(?:week|weekly|7[- ]day|seven[- ]day)\b`), "weekly"},
	{regexp.MustCompile(`\b(?:daily|per[ _-]?day|perday|a day|tpd|rpd)\b|free usage exceeded`), "daily"},
	{regexp.MustCompile(`\b(?:month|monthly|billing cycle|premium request)s?\b`), "monthly"},
	{regexp.MustCompile(`\b(?:hourly|per[ _-]?hour)\b`), "1h"},
}

// otherWindow is a window of any other length.
var otherWindow = regexp.MustCompile(`\b(\d{1,3})[- ](hour|day)s? (?:usage |rate )?(?:limit|window|quota)`)

// windowed is the stretch of a notice that may name its window: what it says of
// its time and of other plans names others ("refresh weekly", "Upgrade to …").
var windowed = regexp.MustCompile(`[^.]*?(?:limit|quota|usage|allowance|capacity|spend|tokens|requests?|used|free)[^.]*`)

// window names the usage window that a notice is about: the typed one, else
// the one in its first clause that names one. "a monthly spend limit · your
// session limit resets 2pm" is about the session, for whose end it waits.
func window(words, typed string) string {
	if typed != "" {
		if name, ok := windowNames[typed]; ok {
			return name
		}
		return typed
	}
	if _, after, ok := strings.Cut(words, "spend limit · your "); ok {
		words = after
	}
	for _, clause := range windowed.FindAllString(words, 8) {
		if m := otherWindow.FindStringSubmatch(clause); m != nil && m[1] != "5" && !(m[1] == "7" && m[2] == "day") {
			return m[1] + m[2][:1]
		}
		at, name := len(clause), ""
		for _, w := range windowWords {
			if i := w.in.FindStringIndex(clause); i != nil && i[0] < at {
				at, name = i[0], w.name
			}
		}
		if name != "" {
			return name
		}
	}
	return ""
}

var (
	forModel = regexp.MustCompile(`limit (?:reached )?for ([a-z][\w.-]*(?: \d[\w.-]*)?)|quota limit for ([a-z][\w .-]*?)(?: \(|\.|$)`)
	thisOne  = regexp.MustCompile(`(?:on|for|using) this model|this model's`)
	yourName = regexp.MustCompile(`(?:hit|reached|exceeded) your ([a-z0-9.' -]{1,40}?) limit|^([a-z]+) (?:weekly |usage )?limit reached`)
	notModel = regexp.MustCompile(`^(?:(?:claude|codex|specified|usage|rate|session|weekly|daily|monthly|hourly|account|plan|api|free|fast|spend|premium|requests?|messages?|message|channel's|org's|organization's|workspace|5|hour|(?:\d+|five)[- ]?(?:hour|day|h)s?|limit|code|image|your|ai|pro|max)[ -]?)+$`)
)

// model is the model that a limit is about, "this" where it goes unnamed, ""
// where it is the whole account's: the two close different engines.
func model(words string) string {
	for _, in := range []*regexp.Regexp{forModel, yourName} {
		for _, name := range in.FindStringSubmatch(words)[min(1, len(in.FindStringSubmatch(words))):] {
			name = strings.TrimSpace(windowless.ReplaceAllString(strings.TrimRight(name, "."), " "))
			if name != "" && !notModel.MatchString(name) {
				return name
			}
		}
	}
	if thisOne.MatchString(words) {
		return "this"
	}
	return ""
}

var windowless = regexp.MustCompile(`\b(?:weekly|daily|monthly|session|usage|\d+-hour)\b`)
