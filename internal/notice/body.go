package notice

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// opened is a call whose text was opened: its heads and bodies are taken apart.
type opened struct {
	code   string
	status int64
	text   string // the notice's own words, with what stood around its body
	window string // typed
	// verdict is a class that a typed state gives; None where there is none.
	verdict Class
	capped  bool // an app's share of a subscription, which names no reset
	times   []stamp
}

// stamp is a typed time, as it was sent: what it means depends on its name.
type stamp struct {
	origin Origin
	name   string
	value  string
}

var (
	httpHead = regexp.MustCompile(`^HTTP/\d(?:\.\d)? (\d{3})[^\n]*\n`)
	// statusIn is a status where programs print it: before a body, in brackets,
	// after the word. "429" in prose is none.
	statusIn = regexp.MustCompile(`(?i)^\W*([45]\d\d) (?:\{|[A-Z])|(?:status(?: code)?|error code|http|api error|statuscode)[:=]? ?\(?([45]\d\d)\b|\((?:status )?([45]\d\d)\b`)
)

func open(c Call) opened {
	o := opened{code: c.Code, status: c.Status}
	text := c.Text
	if len(text) > maxBody {
		text = text[:maxBody/2] + "\n" + text[len(text)-maxBody/2:]
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if m := httpHead.FindStringSubmatch(text); m != nil {
		head, body, _ := strings.Cut(text[len(m[0]):], "\n\n")
		o.status = known(o.status, m[1])
		o.headers(head)
		text = body
	}
	o.text = o.unfold(text, 0)
	if o.status == 0 {
		if m := statusIn.FindStringSubmatch(cut(o.text)); m != nil {
			o.status = known(0, m[1]+m[2]+m[3])
		}
	}
	o.capped = strings.Contains(o.code, "subscription_sharing_usage_limit_exceeded") || strings.Contains(o.text, "subscription_sharing_usage_limit_exceeded")
	return o
}

func known(status int64, told string) int64 {
	if status == 0 {
		status, _ = strconv.ParseInt(told, 10, 64)
	}
	return status
}

// unfold puts a body's own message in its place in the text around it, and
// notes what else the body says. Proxies wrap a vendor's body in their own.
func (o *opened) unfold(text string, depth int) string {
	i := strings.IndexByte(text, '{')
	if i < 0 || depth > 3 {
		return text
	}
	var raw json.RawMessage
	d := json.NewDecoder(strings.NewReader(text[i:]))
	if d.Decode(&raw) != nil {
		return text
	}
	rest := text[i+int(d.InputOffset()):]
	body := gjson.ParseBytes(raw)
	inner := o.body(body, depth)
	if inner == "" && i == 0 {
		return strings.TrimSpace(rest)
	}
	return strings.TrimSpace(text[:i] + inner + rest)
}

// places are where vendors and programs put the object that tells of a failure.
var places = []string{"params.turn.error", "params.error", "response.error", "body.error", "turn.error", "error.error", "error", "data", "@this"}

// said are where its message is.
var said = []string{"metadata.raw", "message.content.0.text", "message", "short_error", "detail", "result", "text", "msg"}

// named are where its code is, the most telling first.
var named = []string{"details.#.reason|0", "data.errorKind", "data.codexErrorInfo", "errorKind", "codexErrorInfo", "api_error", "apiError", "apiErrorType", "code", "type", "status", "error"}

func (o *opened) body(body gjson.Result, depth int) (message string) {
	seen := map[string]bool{}
	var words []string
	for _, place := range places {
		e := body
		if place != "@this" {
			e = body.Get(place)
		}
		if e.Type == gjson.String && place == "error" {
			o.named(e.String())
		}
		if !e.IsObject() || seen[e.Raw] {
			continue
		}
		seen[e.Raw] = true
		for _, path := range []string{"status", "code", "statusCode", "status_code", "error_code", "httpStatusCode", "api_error_status", "apiErrorStatus", "error_status", "error"} {
			if v := e.Get(path); v.Type == gjson.Number && v.Int() >= 400 && v.Int() < 600 || v.Type == gjson.String && len(v.Str) == 3 && v.Int() >= 400 {
				o.status = known(o.status, v.String())
			}
		}
		for _, path := range named {
			v := e.Get(path)
			if v.IsObject() && strings.HasSuffix(path, "codexErrorInfo") {
				v.ForEach(func(k, in gjson.Result) bool {
					o.status = known(o.status, in.Get("httpStatusCode").String())
					o.named(k.String())
					return false
				})
			} else if v.Type == gjson.String {
				o.named(v.String())
			} else if v.Type == gjson.Number && path == "code" {
				o.named(v.String())
			}
		}
		o.stamps(e)
		if strings.Contains(e.Get("details.#.violations.#.quotaId|@flatten").Raw, "PerDay") && o.code != "MODEL_CAPACITY_EXHAUSTED" {
			o.code, o.window = "QUOTA_EXHAUSTED", "daily" // a day's quota goes by the same status as a minute's
		}
		for _, path := range said {
			if v := e.Get(path); v.Type == gjson.String && v.Str != "" && len(words) == 0 {
				words = append(words, o.unfold(v.Str, depth+1))
			}
		}
		if v := e.Get("additionalDetails"); v.Type == gjson.String {
			words = append(words, o.unfold(v.Str, depth+1))
		}
	}
	return strings.Join(words, " ")
}

// named notes a code; one that decides is never displaced by one that does not.
func (o *opened) named(code string) {
	rank := func(c string) int {
		if _, ok := codes[c]; ok {
			return 3
		}
		if _, ok := leanings[c]; ok {
			return 2
		}
		if _, err := strconv.Atoi(c); err == nil || empty[c] || strings.ContainsAny(c, " {") {
			return 0
		}
		return 1
	}
	if rank(code) > rank(o.code) {
		o.code = code
	}
}

// fields are the typed times of a body.
var fields = []struct {
	origin Origin
	paths  []string
}{
	{Field, []string{"resetsAt", "resets_at", "resetAt", "reset_at", "quotaResetTimeStamp", "details.#.metadata.quotaResetTimeStamp", "metadata.quotaResetTimeStamp", "metadata.headers.X-RateLimit-Reset"}},
	{Relative, []string{"resets_in_seconds", "resetsInSeconds", "reset_seconds", "details.#.metadata.quotaResetDelay", "details.#.retryDelay", "retry_after", "retryAfter", "retry_after_seconds"}},
}

func (o *opened) stamps(e gjson.Result) {
	for _, f := range fields {
		for _, path := range f.paths {
			v := e.Get(path)
			vs := []gjson.Result{v}
			if v.IsArray() {
				vs = v.Array()
			}
			for _, v := range vs {
				if v.Type == gjson.String || v.Type == gjson.Number {
					o.times = append(o.times, stamp{f.origin, path, v.String()})
				}
			}
		}
	}
}

// headers reads the heads of an answer: what Claude and Codex say of each usage
// window, and what everybody says of the next try.
func (o *opened) headers(head string) {
	h := map[string]string{}
	for line := range strings.SplitSeq(head, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			h[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	const unified = "anthropic-ratelimit-unified-"
	for _, w := range []struct{ header, name string }{{"5h", "5h"}, {"7d", "weekly"}, {"7d_opus", "weekly"}, {"7d_sonnet", "weekly"}} {
		if h[unified+w.header+"-status"] == "rejected" && o.status == 429 {
			o.closed(w.name, h[unified+w.header+"-reset"])
		}
	}
	if o.verdict == None && o.status == 429 && (h[unified+"status"] == "rejected" || h[unified+"overage-disabled-reason"] == "out_of_credits") {
		o.closed("", h[unified+"reset"])
	}
	for _, w := range []string{"primary", "secondary"} {
		used, _ := strconv.ParseFloat(h["x-codex-"+w+"-used-percent"], 64)
		if used >= 100 && o.status == 429 {
			o.closed(lasting(h["x-codex-"+w+"-window-minutes"]), h["x-codex-"+w+"-reset-at"])
		}
	}
	if o.verdict == Limit {
		return // the next try is another question
	}
	for _, name := range []string{"retry-after-ms", "retry-after", "x-ratelimit-reset", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"} {
		if v := h[name]; v != "" {
			o.times = append(o.times, stamp{Header, name, v})
		}
	}
}

// closed notes a usage window that is rejected. Where several are, the one that
// ends last is the wall.
func (o *opened) closed(window, reset string) {
	o.verdict = Limit
	i := slices.IndexFunc(o.times, func(s stamp) bool { return s.name == "closed" })
	switch {
	case i < 0:
		o.times = append(o.times, stamp{Header, "closed", reset})
	case atoi(reset) <= atoi(o.times[i].value):
		return
	default:
		o.times[i].value = reset
	}
	o.window = window
}

func atoi(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// lasting names a window by its length in minutes: which of them is called
// primary depends on the plan.
func lasting(minutes string) string {
	switch m := atoi(minutes); {
	case m == 300:
		return "5h"
	case m == 1440:
		return "daily"
	case m == 10080:
		return "weekly"
	case m >= 40000 && m <= 45000:
		return "monthly"
	case m > 0 && m%60 == 0:
		return strconv.FormatInt(m/60, 10) + "h"
	}
	return ""
}
