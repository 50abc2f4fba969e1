package notice

import (
	"github.com/tidwall/gjson"
)

// frame reads one typed frame that stands alone: a line of a program's stream
// or of its transcript. ok is false where it is no such frame. What a user, a
// model or a tool said in one is nobody's notice (P7).
func frame(line string) (c Call, typed opened, ok bool) {
	if !gjson.Valid(line) {
		return Call{}, opened{}, false
	}
	f := gjson.Parse(line)
	if info := f.Get("rate_limit_info"); info.Exists() || f.Get("type").String() == "rate_limit_event" {
		return Call{}, ratelimit(info), true
	}
	if info := f.Get("apiErrorParams.rate_limit_info"); info.Exists() {
		typed = ratelimit(info)
	}
	switch kind := f.Get("type").String() + f.Get("method").String(); kind {
	case "result":
		if !f.Get("is_error").Bool() || f.Get("subtype").String() != "success" {
			return Call{}, typed, true // how it was told to end is no notice
		}
	case "assistant":
		if !f.Get("isApiErrorMessage").Bool() && !f.Get("error").Exists() {
			return Call{}, typed, true
		}
	case "system":
		if f.Get("subtype").String() != "api_retry" {
			return Call{}, typed, true
		}
	case "error", "turn.failed", "response.failed", "turn/completed":
	default:
		if !f.Get("error").Exists() && !f.Get("params.error").Exists() && !f.Get("detail").Exists() {
			return Call{}, typed, true
		}
	}
	return Call{Text: line}, typed, true
}

// ratelimit reads Claude's state of its windows. A rejected window that is paid
// beyond stops nothing, and one whose overage is rejected is still allowed.
func ratelimit(info gjson.Result) opened {
	o := opened{window: info.Get("rateLimitType").String()}
	switch status := info.Get("status").String(); {
	case status == "allowed_warning":
		o.verdict = Warning
	case status == "rejected" && info.Get("isUsingOverage").Bool():
		o.verdict = Warning
	case status == "rejected", status == "blocked":
		o.verdict = Limit
		o.times = append(o.times, stamp{Epoch, "resetsAt", info.Get("resetsAt").String()})
		var last int64
		info.Get("unifiedWindows").ForEach(func(name, w gjson.Result) bool {
			if s := w.Get("status").String(); (s == "rejected" || s == "blocked") && w.Get("resetsAt").Int() > last {
				last = w.Get("resetsAt").Int()
				o.window = name.String()
				o.times = []stamp{{Epoch, "resetsAt", w.Get("resetsAt").String()}}
			}
			return true
		})
	}
	return o
}

// retries reports whether a frame says that the program goes on by itself.
func retries(line string) bool {
	return gjson.Get(line, "params.willRetry").Bool() || gjson.Get(line, "willRetry").Bool() || gjson.Get(line, "subtype").String() == "api_retry"
}
