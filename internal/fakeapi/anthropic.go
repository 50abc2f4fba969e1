package fakeapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// anthropic answers whatever Claude Code asks.
func (x *exchange) anthropic() {
	path := x.r.URL.Path
	x.w.Header().Set("Request-Id", x.s.id("req"))
	if path == "/v1/messages" && x.r.Method == http.MethodPost {
		x.readMessages()
		x.begin()
		switch {
		case x.req.Main:
			x.answerMessages(x.answer())
		case strings.Contains(x.req.Prompt, summing):
			x.message("end_turn", textBlock("<summary>What was done so far.</summary>", 1))
		default:
			x.message("end_turn", textBlock("ok", 1))
		}
		return
	}
	x.req.Model = gjson.GetBytes(x.body, "model").String()
	x.begin()
	switch {
	case path == "/v1/messages/count_tokens":
		x.status(http.StatusOK, map[string]any{"input_tokens": len(x.body)/4 + 1})
	case path == "/v1/models":
		x.status(http.StatusOK, map[string]any{
			"data":     []any{map[string]any{"type": "model", "id": "claude-opus-5-5", "display_name": "Claude Opus 5.5", "created_at": "2026-06-01T00:00:00Z"}},
			"has_more": false, "first_id": "claude-opus-5-5", "last_id": "claude-opus-5-5",
		})
	case path == "/api/oauth/usage":
		x.status(http.StatusOK, x.oauthUsage())
	case path == "/api/oauth/profile":
		x.status(http.StatusOK, map[string]any{
			"account":      map[string]any{"uuid": fakeAccount, "email": fakeEmail, "display_name": "Fake", "has_claude_max": true, "has_claude_pro": false},
			"organization": map[string]any{"uuid": fakeAccount, "organization_type": "claude_max", "rate_limit_tier": "default_claude_max_5x"},
		})
	default: // telemetry, feature flags, probes
		x.status(http.StatusOK, map[string]any{})
	}
}

// summing is in the program's own request for a summary of a conversation,
// which is not anybody's prompt.
const summing = "\nYour task is to create a detailed summary of the conversation so far"

// readMessages fills in the request. Work is asked for with tools; what comes
// without them is a title, a quota probe or the like.
func (x *exchange) readMessages() {
	body := gjson.ParseBytes(x.body)
	r := &x.req
	r.Model = body.Get("model").String()
	r.Conversation = x.r.Header.Get("X-Claude-Code-Session-Id")
	for _, t := range body.Get("tools").Array() {
		r.Tools = append(r.Tools, t.Get("name").String())
	}
	var history []entry
	messages := body.Get("messages").Array()
	for _, m := range messages {
		role := m.Get("role").String()
		if role == "system" {
			continue // the program's notes between the turns
		}
		content := m.Get("content")
		if content.Type == gjson.String {
			history = append(history, entry{user: role == "user", text: content.String()})
			continue
		}
		for _, block := range content.Array() {
			isText := block.Get("type").String() == "text"
			history = append(history, entry{user: role == "user" && isText, text: block.Get("text").String()})
		}
	}
	r.note(history)
	r.Main = len(r.Tools) > 0 && !strings.Contains(r.Prompt, summing)
	if r.Conversation != "" {
		r.key = strings.Join([]string{r.Conversation, strconv.Itoa(len(messages)), strconv.Itoa(len(r.Prompts)), r.Prompt}, "\x00")
	}
}

// answerMessages plays one answer to a main request.
func (x *exchange) answerMessages(a Answer) {
	switch a := a.(type) {
	case Text:
		x.unified(nil, a.Used)
		x.paced("end_turn", a.Delay, textBlock(a.Text, a.Chunks))
	case Reasoning:
		x.unified(nil, 0)
		x.message("end_turn", thinkingBlock(a.Summary), textBlock(a.Text, 1))
	case ToolCall:
		x.unified(nil, 0)
		blocks := []block{toolBlock(x.s.id("toolu"), a)}
		if a.Say != "" {
			blocks = append([]block{textBlock(a.Say, 1)}, blocks...)
		}
		x.message("tool_use", blocks...)
	case Overage:
		x.unified(&UsageLimit{Reset: UsageLimit{Reset: a.Reset}.at()}, 0)
		x.w.Header().Set(unifiedHeader+"overage-status", "allowed")
		x.w.Header().Set(unifiedHeader+"overage-in-use", "true")
		x.w.Header().Del(unifiedHeader + "overage-disabled-reason")
		x.message("end_turn", textBlock(a.Text, 1))
	case CutMidStream:
		x.begun(a.After)
		x.drop()
	case Hang:
		if a.After != "" {
			x.begun(a.After)
		}
		x.hang()
	case Refuse:
		x.drop()
	case Malformed:
		x.stream()
		x.raw("message_start", `{"type":"message_start","message":{"id":`)
	default:
		x.failMessages(a)
	}
}

// failMessages plays the answers that are refusals.
func (x *exchange) failMessages(a Answer) {
	switch a := a.(type) {
	case UsageLimit:
		if a.After != "" && x.streamed() {
			// No headers can tell it any more: the program asks again, without
			// a stream, and is then told properly.
			x.begun(a.After)
			x.event("error", anthropicError("rate_limit_error", overLimit))
			return
		}
		x.unified(&a, 0)
		if !a.NoReset {
			x.retryAfter(time.Until(a.Reset))
		}
		x.status(http.StatusTooManyRequests, anthropicFailure("rate_limit_error", overLimit))
	case Throttle:
		x.retryAfter(a.RetryAfter)
		x.status(http.StatusTooManyRequests, anthropicFailure("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit"))
	case Overloaded:
		x.status(529, anthropicFailure("overloaded_error", "Overloaded"))
	case ServerError:
		x.retryAfter(a.RetryAfter)
		x.status(a.code(), anthropicFailure("api_error", "Internal server error"))
	case SignedOut:
		x.status(http.StatusUnauthorized, anthropicFailure("authentication_error", "OAuth token has expired. Please obtain a new token or refresh your existing token."))
	case Forbidden:
		x.status(http.StatusForbidden, anthropicFailure("permission_error", "Your account does not have permission to use the specified resource."))
	case Billing:
		x.billMessages(a)
	case ModelNotFound:
		x.status(http.StatusNotFound, anthropicFailure("not_found_error", "model: "+x.req.Model))
	case ContextTooLong:
		x.status(http.StatusBadRequest, anthropicFailure("invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum"))
	default:
		x.status(http.StatusBadRequest, anthropicFailure("invalid_request_error", unscripted))
	}
}

func (x *exchange) billMessages(b Billing) {
	switch b.Kind {
	case billCredit:
		x.status(http.StatusBadRequest, anthropicFailure("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."))
	case billSpendLimit:
		x.status(http.StatusBadRequest, anthropicFailure("invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC."))
	default:
		x.status(http.StatusPaymentRequired, anthropicFailure("billing_error", "There is an issue with your billing or payment information."))
	}
}

const (
	overLimit  = "This request would exceed your account's rate limit. Please try again later."
	unscripted = "the script has no answer for this request"

	billCredit     = "credit"
	billSpendLimit = "spend_limit"
)

func (e ServerError) code() int {
	if e.Status == 0 {
		return http.StatusInternalServerError
	}
	return e.Status
}

func anthropicError(kind, message string) map[string]any {
	return map[string]any{"error": map[string]any{"type": kind, "message": message}}
}

func anthropicFailure(kind, message string) map[string]any {
	body := anthropicError(kind, message)
	body["type"] = "error"
	return body
}

const unifiedHeader = "Anthropic-Ratelimit-Unified-"

// claims are the header families of the windows, by the claim that names them.
var claims = map[string]string{"five_hour": "5h", "seven_day": "7d", "seven_day_opus": "7d_opus", "seven_day_sonnet": "7d_sonnet"}

// unified sets the subscription's headers: a limit that was reached, or how
// much of the short window is used. Keys have no subscription, and get them
// only with a limit, as a test of what they then make of it.
func (x *exchange) unified(limit *UsageLimit, used float64) {
	if limit == nil && x.req.Auth != "oauth" {
		return
	}
	if used == 0 {
		used = 0.2
	}
	status, claim, reset := "allowed", "five_hour", time.Now().Add(2*time.Hour)
	week := time.Now().Add(96 * time.Hour)
	set := func(name, value string) { x.w.Header().Set(unifiedHeader+name, value) }
	family := func(name, status string, used float64, reset time.Time) {
		set(name+"-Status", status)
		set(name+"-Utilization", strconv.FormatFloat(used, 'f', -1, 64))
		set(name+"-Reset", strconv.FormatInt(reset.Unix(), 10))
	}
	if used >= 0.9 {
		status = "allowed_warning"
		set("5h-Surpassed-Threshold", "0.9")
	}
	family("5h", status, used, reset)
	family("7d", "allowed", 0.33, week)
	if limit != nil {
		status, claim, reset = "rejected", limit.window(), limit.Reset
		if claim != "five_hour" {
			family("5h", "allowed", used, time.Now().Add(2*time.Hour))
		}
		name := claims[claim]
		if name == "" {
			name = "5h"
		}
		family(name, status, 1, reset)
		if limit.NoReset {
			x.w.Header().Del(unifiedHeader + name + "-Reset")
		}
	}
	set("Status", status)
	set("Representative-Claim", claim)
	set("Fallback-Percentage", "0.5")
	set("Overage-Status", "rejected")
	set("Overage-Disabled-Reason", "org_level_disabled")
	if limit == nil || !limit.NoReset {
		set("Reset", strconv.FormatInt(reset.Unix(), 10))
	}
}

// oauthUsage is the allowance as the subscription's own endpoint tells it:
// percents, and times in words.
func (x *exchange) oauthUsage() map[string]any {
	window := func(used float64, reset time.Time) map[string]any {
		return map[string]any{"utilization": used, "resets_at": reset.UTC().Format(time.RFC3339)}
	}
	body := map[string]any{
		"five_hour":        window(20, time.Now().Add(2*time.Hour)),
		"seven_day":        window(33, time.Now().Add(96*time.Hour)),
		"seven_day_opus":   nil,
		"seven_day_sonnet": nil,
		"extra_usage":      map[string]any{"is_enabled": false, "monthly_limit": nil, "used_credits": nil, "utilization": nil},
	}
	if limit := x.s.allowance(Anthropic); limit != nil {
		body[limit.window()] = window(100, limit.at())
	}
	return body
}

// inputOf encodes a tool's input; nothing is an empty object.
func inputOf(input any) json.RawMessage {
	if input == nil {
		return json.RawMessage("{}")
	}
	b, err := json.Marshal(input)
	if err != nil || string(b) == "null" {
		return json.RawMessage("{}")
	}
	return b
}
