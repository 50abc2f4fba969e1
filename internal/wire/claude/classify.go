package claude

import (
	"fmt"
	"strings"
	"time"

	"github.com/paceline/paceline"
)

// fault is what the program says of a failed call, in its typed fields. The
// assistant frame and the result of a turn hold parts of it each.
type fault struct {
	Error    string `json:"error"` // only the assistant frame has it
	API      string `json:"api_error"`
	Status   int    `json:"api_error_status"` // 0: there was no answer
	Type     string `json:"api_error_type"`
	Terminal string `json:"terminal_reason"` // only the result has it
	Params   struct {
		Window *window `json:"rate_limit_info"`
	} `json:"api_error_params"`
}

// over is f with what it does not say taken from below.
func (f fault) over(below fault) fault {
	if f.Error == "" {
		f.Error = below.Error
	}
	if f.API == "" {
		f.API = below.API
	}
	if f.Status == 0 {
		f.Status = below.Status
	}
	if f.Type == "" {
		f.Type = below.Type
	}
	if f.Terminal == "" {
		f.Terminal = below.Terminal
	}
	if f.Params.Window == nil {
		f.Params.Window = below.Params.Window
	}
	return f
}

var (
	authErrors = map[string]bool{
		"authentication_failed": true, "oauth_org_not_allowed": true, "account_on_hold": true, "verification_required": true,
	}
	authAPI = map[string]bool{
		"org_disabled_credential": true, "api_key_auth_disabled": true, "stored_login_refused": true, "invalid_credential_header": true,
	}
	routeAPI = map[string]bool{
		"connection_failed": true, "no_response": true, "stream_idle_timeout": true, "computer_slept": true, "network_edge_blocked": true,
	}
)

// spendCap is how the vendor words an account's own spend limit. It comes as an
// invalid request without any typed field of its own, so that its text is read,
// and only in a notice that the program made of a refused call.
const spendCap = "reached your specified API usage limits"

// cause tells why a call failed. The order is the rule: the narrower word
// decides first. A 429 whose cause the vendor did not tell is a throttle and a
// 529 the server's trouble, neither the account's fault (F9, as corrected by
// measurement).
func (f fault) cause(notice string) paceline.Cause {
	switch {
	case strings.HasPrefix(f.Terminal, "aborted_"):
		return paceline.CauseStopped
	case f.API == "usage_limit_reached", f.API == "model_requires_usage_credits":
		return paceline.CauseUsageLimit
	case f.Error == "billing_error", f.Status == 402, f.Type == "billing_error":
		return paceline.CauseBilling
	case authErrors[f.Error], authAPI[f.API], f.Status == 401, f.Type == "authentication_error":
		return paceline.CauseAuth
	case f.Terminal == "prompt_too_long", f.Terminal == "image_error", f.API == "message_over_context_limit", f.Type == "request_too_large":
		return paceline.CauseContext
	case f.Error == "model_not_found":
		return paceline.CauseModel
	case f.Error == "rate_limit", f.Status == 429, f.Type == "rate_limit_error":
		return paceline.CauseThrottle
	case f.Status >= 500, f.Error == "overloaded", f.Type == "overloaded_error":
		return paceline.CauseServer
	case routeAPI[f.API], strings.HasPrefix(f.API, "tls_"), f.Error == "server_error" && f.Status == 0:
		return paceline.CauseTransport
	case f.Status == 400 && f.Type == "invalid_request_error" && f.API == "" && strings.Contains(notice, spendCap):
		return paceline.CauseBilling
	}
	return paceline.CauseOther
}

// code is the vendor's most telling word for the failure.
func (f fault) code(subtype string) string {
	switch {
	case f.API != "":
		return word(f.API)
	case f.Terminal != "" && f.Terminal != "api_error" && f.Terminal != "completed":
		return word(f.Terminal)
	case f.Type == "overloaded_error": // its error is a mere server_error
		return f.Type
	case f.Error != "" && f.Error != "unknown":
		return word(f.Error)
	case f.Type != "":
		return word(f.Type)
	case f.Status != 0:
		return fmt.Sprint(f.Status)
	case subtype != "success":
		return word(subtype)
	}
	return ""
}

// says names the fields that counted.
func (f fault) says(more ...string) string {
	parts := more
	for _, p := range []struct{ name, value string }{
		{"terminal_reason", f.Terminal}, {"error", f.Error}, {"api_error", f.API}, {"api_error_type", f.Type},
	} {
		if p.value != "" {
			parts = append(parts, p.name+"="+word(p.value))
		}
	}
	if f.Status != 0 {
		parts = append(parts, fmt.Sprintf("api_error_status=%d", f.Status))
	}
	return strings.Join(parts, " ")
}

// read makes a Failure of the fault. Work and evidence are the turn's to add.
func (f fault) read(notice, subtype string, last window) paceline.Failure {
	out := paceline.Failure{Cause: f.cause(notice), Code: f.code(subtype), Status: f.Status, Notice: short(notice)}
	switch out.Cause {
	case paceline.CauseUsageLimit:
		out.Retryable = true
		if w := f.Params.Window; w != nil && w.reset().Known() {
			last = *w
		}
		if last.Status == "rejected" { // another window's state is not this limit's
			out.Reset, out.Scope = last.reset(), word(last.Type)
		}
	case paceline.CauseThrottle, paceline.CauseServer, paceline.CauseTransport:
		out.Retryable = true
	default: // the same message would fail in the same way
	}
	return out
}

// means is what the failure was taken for, in words for people.
func means(c paceline.Cause) string { return strings.ReplaceAll(c.String(), "_", " ") }

// window is a usage window's state, as a rate_limit_event or a failed call
// tells it. It is only ever a witness to a limit, never the limit itself: a
// rejected window also comes with a 429 that is no limit, and with paid overage
// on a turn that succeeds.
type window struct {
	Status   string  `json:"status"`
	ResetsAt float64 `json:"resetsAt"` // epoch seconds
	Type     string  `json:"rateLimitType"`
	Overage  bool    `json:"isUsingOverage"`
}

func (w window) reset() paceline.Reset {
	if w.ResetsAt < 1 || w.ResetsAt > 1e11 { // no time, or no epoch seconds
		return paceline.Reset{}
	}
	return paceline.Reset{At: time.Unix(int64(w.ResetsAt), 0).UTC(), Source: paceline.ResetStated}
}

func (w window) says() string {
	s := "status=" + word(w.Status)
	if w.Type != "" {
		s += " rateLimitType=" + word(w.Type)
	}
	if r := w.reset(); r.Known() {
		s += " resetsAt=" + r.At.Format(time.RFC3339)
	}
	return s
}

// retryCause reads what the program retries by itself. It says `unknown` with
// no status when there was no answer at all.
func (r retryFrame) cause() paceline.Cause {
	if r.NoResponse != nil || r.Status == 0 && (r.Error == "unknown" || r.Error == "") {
		return paceline.CauseTransport
	}
	return fault{Error: r.Error, Status: r.Status}.cause("")
}

func (r retryFrame) code() string {
	if r.Error == "unknown" && r.Status == 0 {
		return "no_response"
	}
	return fault{Error: r.Error, Status: r.Status}.code("")
}

// short cuts a notice to a line that fits a screen. Notices are the program's
// own text about the failed call, kept for people and never read, but for
// spendCap.
func short(notice string) string {
	notice, _, _ = strings.Cut(strings.TrimSpace(notice), "\n")
	if r := []rune(notice); len(r) > 240 {
		return string(r[:240]) + "…"
	}
	return strings.ToValidUTF8(notice, "?")
}
