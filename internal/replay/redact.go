package replay

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// redactor makes a line of a recording fit to be shown to strangers. It keeps
// what a reader judges by: the frames, their keys, their numbers, their words of
// a kind, and a failed call's own notice. Of every other text the length is left.
//
// What may stay is listed, so that a field that nobody thought of is taken out.
type redactor struct {
	ids  map[string]string // the same id stays the same, under another name
	said []string          // what was asked: it is taken out of notices as well
	told []string          // the notices of failed calls, which some programs also print as the model's text
}

// kept are the keys whose words are part of the protocol. Their value stays
// where it looks like such a word.
var kept = map[string]bool{
	"type": true, "subtype": true, "event": true, "method": true, "jsonrpc": true, "dir": true, "role": true, "kind": true,
	"status": true, "state": true, "step_type": true, "sessionUpdate": true, "stopReason": true, "stop_reason": true,
	"reason": true, "outcome": true, "optionId": true, "code": true, "error_code": true, "code_kind": true, "error_status": true,
	"errorKind": true, "codexErrorInfo": true, "errorName": true, "api_error": true, "apiError": true, "@type": true,
	"rateLimitType": true, "overageStatus": true, "permission_mode": true, "permissionMode": true, "apiKeySource": true,
	"agent": true, "tool_name": true, "toolName": true, "model": true, "window": true, "domain": true, "version": true, "terminal_reason": true,
	"retryDelay": true, "quotaResetDelay": true, "service": true, "signal": true, "phase": true, "rateLimitReachedType": true,
}

// times are the keys whose value stays where it is a moment.
var times = regexp.MustCompile(`(?i)(^at$|^t$|time|stamp|resets?_?at|^date$)`)

var (
	word   = regexp.MustCompile(`^[A-Za-z@_$][A-Za-z0-9 @_./:>\[\]-]{0,79}$|^[0-9.]{1,12}s?$`)
	moment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$`)
	name   = regexp.MustCompile(`^[A-Za-z_$@][A-Za-z0-9_.@$-]{0,39}$`)
	idKey  = regexp.MustCompile(`(^|_)(id|uuid)$|I[dD]$|Uuid$`)

	links  = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s"'<>)\]]+`)
	emails = regexp.MustCompile(`[^\s"'<>(),;:=]+@[^\s"'<>(),;:=]+`)
	homes  = regexp.MustCompile(`(?:/home/|/Users/|/root\b|[A-Za-z]:\\+Users\\+|~/)[^\s"'<>():,]*`)
	tokens = regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+\S+` +
		`|\b(?:[a-z0-9]+[_-])*(?:api[_-]?key|token|secret|password|passwd|cookie|authorization)["']?\s*[=:]\s*["']?(?:(?:bearer|basic)\s+)?[^\s"',;]+` +
		`|\b(?:sk|pk|rk|gh[pousr]|github_pat|glpat|xox[a-z]|AIza|ya29|AKIA|eyJ)[A-Za-z0-9_.\-]{4,}` +
		`|[A-Za-z0-9+/_=-]{28,}`)
	wordy = regexp.MustCompile(`^[a-z]+(?:[A-Z]?[a-z]+|[/_-][A-Z]?[a-z]+)*$`)
	heads = regexp.MustCompile(`[\s:=]|^(sk|pk|rk|gh[pousr]|github_pat|glpat|xox[a-z]|AIza|ya29|AKIA|eyJ)`)
)

// line redacts one line of a stream.
func (r *redactor) line(line []byte) string {
	if !gjson.ValidBytes(line) {
		return fmt.Sprintf("[line: %d bytes]", len(line))
	}
	var b strings.Builder
	r.value(&b, gjson.ParseBytes(line), "", false)
	return b.String()
}

// value writes v. failed says that it belongs to a failure's own words.
func (r *redactor) value(b *strings.Builder, v gjson.Result, key string, failed bool) {
	switch {
	case v.IsObject():
		failed = failed || tells(v)
		b.WriteByte('{')
		first := true
		v.ForEach(func(k, inner gjson.Result) bool {
			if !first {
				b.WriteByte(',')
			}
			first = false
			shown := k.String()
			if !name.MatchString(shown) || r.scrub(shown) != shown {
				shown = blank("key", shown)
			}
			b.WriteString(quoted(shown) + ":")
			inside := k.String()
			if key == "agentInfo" && inside == "name" {
				inside = "agent" // which program it is, not who uses it
			}
			r.value(b, inner, inside, (failed || isFailure(inside)) && !asked(inside))
			return true
		})
		b.WriteByte('}')
	case v.IsArray():
		b.WriteByte('[')
		for i, inner := range v.Array() {
			if i > 0 {
				b.WriteByte(',')
			}
			r.value(b, inner, key, failed)
		}
		b.WriteByte(']')
	case v.Type == gjson.String:
		b.WriteString(quoted(r.text(key, v.String(), failed)))
	case v.Type == gjson.Number && idKey.MatchString(key) && len(v.Raw) > 9:
		b.WriteString("0") // an account's number is nobody's business; a request's stays
	default:
		b.WriteString(v.Raw)
	}
}

// tells says that a frame tells of a failure.
func tells(v gjson.Result) bool {
	return v.Get("is_error").Bool() || v.Get("isApiErrorMessage").Bool() || v.Get("type").String() == "error"
}

// isFailure says under which keys a failed call's own words are found.
func isFailure(key string) bool {
	return key == "error" || key == "errors" || key == "short_error"
}

// asked are the keys that hold a prompt or a call's arguments even where their
// frame tells of a failure.
func asked(key string) bool {
	switch key {
	case "prompt", "input", "parameters", "rawInput", "arguments", "rawOutput", "output":
		return true
	}
	return false
}

func (r *redactor) text(key, s string, failed bool) string {
	switch {
	case s == "":
		return s
	case idKey.MatchString(key):
		if r.ids[s] == "" {
			r.ids[s] = "id-" + strconv.Itoa(len(r.ids)+1)
		}
		return r.ids[s]
	case kept[key] && word.MatchString(s) && r.scrub(s) == s:
		return s
	case times.MatchString(key) && moment.MatchString(s):
		return s
	case failed, r.repeats(s):
		return r.scrub(s)
	}
	if rest, ok := strings.CutPrefix(s, warning); ok {
		return warning + blank("text", rest)
	}
	return blank("text", s)
}

// warning begins a text that one program prints as its model's.
const warning = "Warning: "

// repeats says that a text is a failed call's notice, or a part of it.
func (r *redactor) repeats(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) >= 8 && slices.ContainsFunc(r.told, func(told string) bool { return strings.Contains(told, s) })
}

// scrub takes out of a failure's words what they quote of their user.
func (r *redactor) scrub(s string) string {
	for _, said := range r.said {
		s = strings.ReplaceAll(s, said, "<prompt>")
	}
	s = links.ReplaceAllStringFunc(s, func(link string) string {
		u, err := url.Parse(link)
		if err != nil || u.Host == "" {
			return "<link>"
		}
		return u.Scheme + "://" + u.Host + "/…" // without user, path, query and fragment
	})
	s = homes.ReplaceAllString(s, "<path>")
	s = emails.ReplaceAllString(s, "<e-mail>")
	return tokens.ReplaceAllStringFunc(s, func(token string) string {
		if wordy.MatchString(token) && !heads.MatchString(token) {
			return token // a long word: a method, a kind
		}
		return "<token>"
	})
}

// quotes collects what was asked, so that a notice which repeats it does not
// show it, and the notices themselves.
func (r *redactor) quotes(v gjson.Result, mine, failed bool) {
	switch {
	case v.IsObject():
		mine, failed = mine || v.Get("role").String() == "user", failed || tells(v)
		v.ForEach(func(k, inner gjson.Result) bool {
			key := k.String()
			r.quotes(inner, (mine || asked(key)) && key != "type" && key != "role", (failed || isFailure(key)) && !asked(key))
			return true
		})
	case v.IsArray():
		for _, inner := range v.Array() {
			r.quotes(inner, mine, failed)
		}
	case v.Type != gjson.String || len(v.String()) < 4:
	case mine:
		r.said = append(r.said, v.String())
	case failed:
		r.told = append(r.told, v.String())
	}
}

// settle puts the longest first, so that none is cut up by a part of itself.
func (r *redactor) settle() {
	slices.SortFunc(r.said, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r.said = slices.Compact(r.said)
	slices.Sort(r.told)
	r.told = slices.Compact(r.told)
}

func blank(what, s string) string { return fmt.Sprintf("[%s: %d bytes]", what, len(s)) }

// quoted is s as JSON.
func quoted(s string) string { return string(gjson.AppendJSONString(nil, s)) }
