package fakeapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// openai answers whatever Codex asks.
func (x *exchange) openai() {
	path := x.r.URL.Path
	if strings.HasSuffix(path, "/responses") && x.r.Method == http.MethodPost {
		x.readResponses()
		x.begin()
		if x.req.Main {
			x.answerResponses(x.answer())
			return
		}
		x.response(x.textItem("What was done so far.", 1))
		return
	}
	if path == "/oauth/token" { // holds a token, and nothing that is worth keeping
		x.begin()
		x.refresh()
		return
	}
	x.begin()
	switch {
	case strings.HasSuffix(path, "/responses"): // a websocket is asked for
		x.status(http.StatusUpgradeRequired, nil)
	case strings.HasSuffix(path, "/wham/usage"):
		x.status(http.StatusOK, x.whamUsage())
	case strings.HasSuffix(path, "/wham/accounts/check"):
		// Without a workspace of its account's, Codex takes itself for signed
		// out. The origin has to be one of TLS; a provider of its own ignores it.
		x.status(http.StatusOK, map[string]any{"accounts": []any{map[string]any{
			"id": fakeAccount, "name": "fake", "plan_type": "plus", "structure": "personal",
			"workspace_backend_origin": "https" + strings.TrimPrefix(x.s.url, "http"), "account_routing_override": "NO_CONSTRAINT",
		}}})
	case path == "/v1/models": // "models" is Codex's own list: empty, it keeps to the one that it was built with
		x.status(http.StatusOK, map[string]any{
			"object": "list", "models": []any{},
			"data": []any{map[string]any{"id": fakeModel, "object": "model", "created": 1780000000, "owned_by": "openai"}},
		})
	default: // plugins, settings, profiles: there are none
		x.status(http.StatusNotFound, map[string]any{"detail": "Not Found"})
	}
}

// readResponses fills in the request. Codex says itself what kind it is; only
// its turns are work.
func (x *exchange) readResponses() {
	body := gjson.ParseBytes(x.body)
	r := &x.req
	r.Model = body.Get("model").String()
	meta := gjson.Parse(x.r.Header.Get("X-Codex-Turn-Metadata"))
	r.Conversation = meta.Get("thread_id").String()
	for _, t := range body.Get("tools").Array() {
		name := t.Get("name").String()
		if name == "" {
			name = t.Get("type").String()
		}
		r.Tools = append(r.Tools, name)
	}
	var history []entry
	input := body.Get("input")
	items := input.Array()
	if input.Type == gjson.String {
		history = append(history, entry{user: true, text: input.String()})
		items = nil
	}
	for _, item := range items {
		switch role := item.Get("role").String(); {
		case role == "developer" || role == "system":
		case item.Get("content").Type == gjson.String:
			history = append(history, entry{user: role == "user", text: item.Get("content").String()})
		case role == "user":
			for _, c := range item.Get("content").Array() {
				history = append(history, entry{user: c.Get("type").String() == "input_text", text: c.Get("text").String()})
			}
		default:
			history = append(history, entry{})
		}
	}
	r.note(history)
	kind := meta.Get("request_kind").String()
	r.Main = kind == "" || kind == "turn" || kind == "review"
	if turn := meta.Get("turn_id").String(); turn != "" {
		r.key = strings.Join([]string{turn, strconv.Itoa(len(items)), r.Prompt}, "\x00")
	}
}

// answerResponses plays one answer to a main request.
func (x *exchange) answerResponses(a Answer) {
	switch a := a.(type) {
	case Text:
		x.windows(nil, a.Used)
		x.pacedResponse(a.Delay, x.textItem(a.Text, a.Chunks))
	case Reasoning:
		x.windows(nil, 0)
		x.response(x.reasoningItem(a.Summary), x.textItem(a.Text, 1))
	case ToolCall:
		x.windows(nil, 0)
		items := []item{x.callItem(a)}
		if a.Say != "" {
			items = append([]item{x.textItem(a.Say, 1)}, items...)
		}
		x.response(items...)
	case Overage:
		x.windows(&UsageLimit{Reset: UsageLimit{Reset: a.Reset}.at()}, 0)
		x.w.Header().Set(codexHeader+"Credits-Has-Credits", "true")
		x.w.Header().Set(codexHeader+"Credits-Unlimited", "false")
		x.w.Header().Set(codexHeader+"Credits-Balance", "12.50")
		x.response(x.textItem(a.Text, 1))
	case CutMidStream:
		x.begunResponse(a.After)
		x.drop()
	case Hang:
		if a.After != "" {
			x.begunResponse(a.After)
		}
		x.hang()
	case Refuse:
		x.drop()
	case Malformed:
		x.stream()
		x.raw("response.created", `{"type":"response.created","response":{"id":`)
	default:
		x.failResponses(a)
	}
}

// failResponses plays the answers that are refusals.
func (x *exchange) failResponses(a Answer) {
	switch a := a.(type) {
	case UsageLimit:
		x.limitResponses(a)
	case Throttle:
		x.retryAfter(a.RetryAfter)
		x.refuse(http.StatusTooManyRequests, "rate_limit_exceeded", "Too many requests.")
	case Overloaded:
		x.refuse(http.StatusServiceUnavailable, "server_is_overloaded", "Our servers are currently overloaded. Please try again later.")
	case ServerError:
		x.retryAfter(a.RetryAfter)
		x.refuse(a.code(), "server_error", "The server had an error while processing your request.")
	case SignedOut:
		x.refuse(http.StatusUnauthorized, "token_expired", "Provided authentication token is expired. Please try signing in again.")
	case Forbidden:
		x.refuse(http.StatusForbidden, "subscription_sharing_user_not_eligible", "This account may not use Codex.")
	case Billing:
		switch a.Kind {
		case billCredit:
			x.refuse(http.StatusTooManyRequests, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")
		case billSpendLimit:
			x.refuse(http.StatusTooManyRequests, "organization_spend_limit_exceeded", "Your organization has reached its spend limit.")
		default:
			x.refuse(http.StatusPaymentRequired, "payment_required", "There is an issue with your billing or payment information.")
		}
	case ModelNotFound:
		x.refuse(http.StatusNotFound, "model_not_found", "The model `"+x.req.Model+"` does not exist or you do not have access to it.")
	case ContextTooLong:
		x.refuse(http.StatusBadRequest, "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")
	default:
		x.refuse(http.StatusBadRequest, "unscripted", unscripted)
	}
}

// limitResponses tells that the allowance is spent: by the one body whose type
// Codex understands, or, once the answer has begun, by a failed response.
func (x *exchange) limitResponses(u UsageLimit) {
	body := map[string]any{"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": u.plan()}
	if !u.NoReset {
		body["resets_at"] = u.Reset.Unix()
		body["resets_in_seconds"] = max(0, int(time.Until(u.Reset)/time.Second))
	}
	if u.After != "" {
		x.begunResponse(u.After)
		x.event("response.failed", map[string]any{"response": map[string]any{
			"id": x.s.id("resp"), "object": "response", "status": "failed",
			"error": map[string]any{"code": body["type"], "message": body["message"]},
		}})
		return
	}
	x.windows(&u, 0)
	x.status(http.StatusTooManyRequests, map[string]any{"error": body})
}

func (x *exchange) refuse(status int, code, message string) {
	x.status(status, map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "code": code, "param": nil,
	}})
}

const codexHeader = "X-Codex-"

// windows sets the allowance's headers: percents, minutes and seconds.
func (x *exchange) windows(limit *UsageLimit, used float64) {
	if used == 0 {
		used = 0.2
	}
	short, long := used*100, 31.0
	shortReset, longReset := time.Now().Add(2*time.Hour), time.Now().Add(96*time.Hour)
	switch {
	case limit == nil:
	case limit.window() == "five_hour":
		short, shortReset = 100, limit.Reset
	default:
		long, longReset = 100, limit.Reset
	}
	set := func(name, value string) { x.w.Header().Set(codexHeader+name, value) }
	family := func(name string, used float64, minutes int, reset time.Time) {
		set(name+"-Used-Percent", strconv.FormatFloat(used, 'f', 1, 64))
		set(name+"-Window-Minutes", strconv.Itoa(minutes))
		if limit == nil || !limit.NoReset {
			set(name+"-Reset-At", strconv.FormatInt(reset.Unix(), 10))
		}
	}
	family("Primary", short, 300, shortReset)
	family("Secondary", long, 10080, longReset)
	set("Plan-Type", "plus")
	if limit != nil {
		set("Plan-Type", limit.plan())
	}
	set("Active-Limit", "codex")
}

// whamUsage is what settles a 429 that does not tell its cause.
func (x *exchange) whamUsage() map[string]any {
	window := func(used, seconds int, reset time.Time) map[string]any {
		return map[string]any{
			"used_percent": used, "limit_window_seconds": seconds,
			"reset_after_seconds": max(0, int(time.Until(reset)/time.Second)), "reset_at": reset.Unix(),
		}
	}
	limit := x.s.allowance(OpenAI)
	short, long := window(20, 18000, time.Now().Add(2*time.Hour)), window(31, 604800, time.Now().Add(96*time.Hour))
	body := map[string]any{
		"plan_type": "plus",
		"credits":   map[string]any{"has_credits": false, "unlimited": false, "balance": "0"},
	}
	if limit != nil {
		body["plan_type"] = limit.plan()
		body["rate_limit_reached_type"] = map[string]any{"type": "rate_limit_reached"}
		if limit.window() == "five_hour" {
			short = window(100, 18000, limit.at())
		} else {
			long = window(100, 604800, limit.at())
		}
	}
	body["rate_limit"] = map[string]any{
		"allowed": limit == nil, "limit_reached": limit != nil, "primary_window": short, "secondary_window": long,
	}
	return body
}

// refresh answers a refresh of the tokens, which is of no use to who was signed
// out.
func (x *exchange) refresh() {
	x.s.mu.Lock()
	out := x.s.out
	x.s.mu.Unlock()
	if out {
		x.status(http.StatusUnauthorized, map[string]any{"error": map[string]any{
			"message": "Your refresh token has expired.", "type": "invalid_request_error", "code": "refresh_token_expired",
		}})
		return
	}
	x.status(http.StatusOK, map[string]any{
		"id_token": fakeJWT(), "access_token": fakeJWT(), "refresh_token": "fake-refresh", "token_type": "Bearer", "expires_in": 864000,
	})
}

// offers reports whether the program has a tool of that name.
func (r Request) offers(tool string) bool { return slices.Contains(r.Tools, tool) }
