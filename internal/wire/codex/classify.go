package codex

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
)

// classify reads a TurnError. The typed field decides; the message decides only
// between two readings of one code, and where the code is "other".
func (r *Reader) classify(e gjson.Result, at time.Time) paceline.Failure {
	text := strings.ReplaceAll(e.Get("message").String(), "’", "'")
	code, status := info(e.Get("codexErrorInfo"))
	f := paceline.Failure{Code: code, Status: int(status), Notice: text}
	f.Cause = cause(code, status, text+" "+e.Get("additionalDetails").String())
	switch f.Cause {
	case paceline.CauseUsageLimit:
		f.Reset, f.Scope = r.reset(text, at)
		f.Retryable = true
	case paceline.CauseThrottle, paceline.CauseServer, paceline.CauseTransport, paceline.CauseAuth:
		f.Retryable = true
	default:
	}
	return f
}

// info reads codexErrorInfo: a word, or an object of one key that may hold the
// HTTP status.
func info(v gjson.Result) (code string, status int64) {
	if !v.IsObject() {
		return v.String(), 0
	}
	v.ForEach(func(k, body gjson.Result) bool {
		code, status = k.String(), body.Get("httpStatusCode").Int()
		return false
	})
	if status != 0 {
		code += "{" + strconv.FormatInt(status, 10) + "}"
	}
	return code, status
}

func cause(code string, status int64, text string) paceline.Cause {
	word, _, _ := strings.Cut(code, "{")
	switch word {
	case "usageLimitExceeded", "usage_limit_exceeded":
		// The same code tells of a spent window and of an empty purse.
		if strings.Contains(text, "Quota exceeded") || strings.Contains(text, "upgrade to Plus:") {
			return paceline.CauseBilling
		}
		return paceline.CauseUsageLimit
	case "rateLimitExceeded", "rate_limit_exceeded":
		return paceline.CauseThrottle
	case "unauthorized":
		return paceline.CauseAuth
	case "modelNotFound", "model_not_found":
		return paceline.CauseModel
	case "contextWindowExceeded", "context_window_exceeded", "sessionBudgetExceeded":
		return paceline.CauseContext
	case "internalServerError", "internal_server_error", "serverOverloaded", "server_overloaded", "flexUnavailable":
		return paceline.CauseServer
	}
	if status != 0 { // a status that was sent outweighs every text (R11)
		return byStatus(status)
	}
	switch word {
	case "httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected", "responseTooManyFailedAttempts",
		"http_connection_failed", "response_stream_disconnected":
		if strings.Contains(text, "429 Too Many Requests") || strings.Contains(text, "rate limit exceeded: ") {
			return paceline.CauseThrottle
		}
		return paceline.CauseTransport
	}
	return worded(text)
}

func byStatus(status int64) paceline.Cause {
	switch {
	case status == 429:
		return paceline.CauseThrottle
	case status == 401, status == 403:
		return paceline.CauseAuth
	case status == 402:
		return paceline.CauseBilling
	case status >= 500:
		return paceline.CauseServer
	case status == 404, status == 408, status == 409, status == 422:
		return paceline.CauseTransport
	}
	return paceline.CauseOther
}

// worded reads a failed call's own message where no code came with it.
func worded(text string) paceline.Cause {
	return notice.Read(notice.Call{Text: text}, time.Time{}).Class.Cause()
}

// delay is how long the program waits before a retry, where the vendor's words
// tell: it obeys them without a bound, two hours too. A Retry-After is told to
// nobody.
func delay(e gjson.Result, at time.Time) time.Duration {
	return notice.Delay(e.Get("message").String()+" "+e.Get("additionalDetails").String(), at)
}
