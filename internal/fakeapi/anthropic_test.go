package fakeapi

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestMessagesRefusals(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  Answer
		status  int
		kind    string
		message string
	}{
		{"a throttle", Throttle{}, 429, "rate_limit_error", "per-minute"},
		{"overload", Overloaded{}, 529, "overloaded_error", "Overloaded"},
		{"a broken server", ServerError{}, 500, "api_error", ""},
		{"another broken server", ServerError{Status: 503}, 503, "api_error", ""},
		{"signed out", SignedOut{}, 401, "authentication_error", "expired"},
		{"not let in", Forbidden{}, 403, "permission_error", ""},
		{"no payment", Billing{}, 402, "billing_error", ""},
		{"no credit", Billing{Kind: "credit"}, 400, "invalid_request_error", "credit balance is too low"},
		{"a spend cap", Billing{Kind: "spend_limit"}, 400, "invalid_request_error", "specified API usage limits"},
		{"no such model", ModelNotFound{}, 404, "not_found_error", "model: claude-test"},
		{"too long", ContextTooLong{}, 400, "invalid_request_error", "prompt is too long"},
		{"a limit", UsageLimit{}, 429, "rate_limit_error", "exceed your account's rate limit"},
		{"nothing scripted", nil, 400, "invalid_request_error", "no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, Script{Anthropic: Steps(c.answer)})
			r := must(t)(askClaude(t, s, "", said("user", "go")))
			if r.status != c.status || r.body.Get("type").String() != "error" || r.body.Get("error.type").String() != c.kind {
				t.Errorf("answered %d %s, want %d %s", r.status, r.body.Raw, c.status, c.kind)
			}
			contains(t, r.body.Get("error.message").String(), c.message)
			if limited := r.header.Get("Anthropic-Ratelimit-Unified-Status") != ""; limited != (c.name == "a limit") {
				t.Errorf("tells of a limit: %v", limited)
			}
		})
	}
}

func TestMessagesLimitHeaders(t *testing.T) {
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	at := strconv.FormatInt(reset.Unix(), 10)
	for _, c := range []struct {
		name  string
		limit UsageLimit
		want  map[string]string
	}{
		{"the short window", UsageLimit{Reset: reset}, map[string]string{
			"Status": "rejected", "Reset": at, "Representative-Claim": "five_hour", "5h-Status": "rejected", "5h-Reset": at, "5h-Utilization": "1",
			"7d-Status": "allowed", "Overage-Status": "rejected",
		}},
		{"the week", UsageLimit{Reset: reset, Window: "seven_day"}, map[string]string{
			"Status": "rejected", "Reset": at, "Representative-Claim": "seven_day", "7d-Status": "rejected", "7d-Reset": at, "5h-Status": "allowed",
		}},
		{"one model's week", UsageLimit{Reset: reset, Window: "seven_day_opus"}, map[string]string{
			"Status": "rejected", "Representative-Claim": "seven_day_opus", "7d_opus-Status": "rejected", "7d-Status": "allowed",
		}},
		{"no time", UsageLimit{Reset: reset, NoReset: true}, map[string]string{
			"Status": "rejected", "Reset": "", "5h-Reset": "", "5h-Status": "rejected",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, Script{Anthropic: Steps(c.limit)})
			r := must(t)(askClaude(t, s, "", said("user", "go")))
			for name, want := range c.want {
				if got := r.header.Get(unifiedHeader + name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
			if waits := r.header.Get("Retry-After") != ""; waits == c.limit.NoReset {
				t.Errorf("tells when to retry: %v", waits)
			}
		})
	}
}

func TestMessagesStream(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(
		Text{Text: "grüß dich, Welt", Chunks: 4, Used: 0.95}, Reasoning{Summary: "hm", Text: "so"}, Shell("ls"),
	)})
	r := must(t)(askClaude(t, s, "", said("user", "go")))
	want := []string{
		"message_start", "content_block_start", "content_block_delta", "content_block_delta", "content_block_delta", "content_block_delta",
		"content_block_stop", "message_delta", "message_stop",
	}
	if !slices.Equal(r.kinds, want) {
		t.Errorf("events %q, want %q", r.kinds, want)
	}
	if got := r.text("content_block_delta", "delta.text"); got != "grüß dich, Welt" {
		t.Errorf("text %q", got)
	}
	if got := r.header.Get("Anthropic-Ratelimit-Unified-Status"); got != "allowed_warning" {
		t.Errorf("status %q at 95 percent", got)
	}
	if r.events[0].Get("message.usage.input_tokens").Int() == 0 || r.text("message_delta", "delta.stop_reason") != "end_turn" {
		t.Errorf("no usage or no end in %v", r.events)
	}

	r = must(t)(askClaude(t, s, "", said("user", "go")))
	if got := r.text("content_block_delta", "delta.thinking"); got != "hm" {
		t.Errorf("thinking %q", got)
	}

	r = must(t)(askClaude(t, s, "", said("user", "go")))
	if got := r.text("content_block_start", "content_block.name"); got != "Bash" {
		t.Errorf("tool %q", got)
	}
	if got := r.text("content_block_delta", "delta.partial_json"); got != `{"command":"ls","description":"as scripted"}` {
		t.Errorf("input %s", got)
	}
	if got := r.text("message_delta", "delta.stop_reason"); got != "tool_use" {
		t.Errorf("stop reason %q", got)
	}
}

func TestMessagesLimitInTheMiddle(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(UsageLimit{After: "I will"})})
	r := must(t)(askClaude(t, s, "", said("user", "go")))
	if r.status != 200 || r.kinds[len(r.kinds)-1] != "error" || r.text("error", "error.type") != "rate_limit_error" {
		t.Errorf("answered %d %q", r.status, r.kinds)
	}
	r = must(t)(send(t, s, "POST", "/v1/messages", nil, []byte(`{"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"go"}]}`)))
	if r.status != 429 || r.header.Get(unifiedHeader+"Status") != "rejected" {
		t.Errorf("asked again without a stream: %d %v", r.status, r.header)
	}
}

func TestMessagesOnTheWay(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(UsageLimit{}, Text{Text: "fine"})})
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/v1/messages/count_tokens", `{"messages":[]}`, "input_tokens"},
		{"GET", "/v1/models", "", "data.0.id"},
		{"GET", "/api/oauth/usage", "", "five_hour.utilization"},
		{"GET", "/api/oauth/profile", "", "account.email"},
		{"POST", "/v1/messages", `{"model":"claude-haiku","max_tokens":1,"messages":[{"role":"user","content":"quota"}]}`, "content.0.text"},
		{"POST", "/api/event_logging/batch", `{}`, "@this"},
		{"HEAD", "/", "", ""},
	} {
		r := must(t)(send(t, s, c.method, c.path, map[string]string{"Anthropic-Version": "2023-06-01"}, []byte(c.body)))
		if r.status != 200 || c.want != "" && !r.body.Get(c.want).Exists() {
			t.Errorf("%s %s: %d %s, want %s in it", c.method, c.path, r.status, r.body.Raw, c.want)
		}
	}
	for _, r := range s.Requests() {
		if r.Main {
			t.Errorf("%s %s was taken for work", r.Method, r.Path)
		}
	}
	if r := must(t)(askClaude(t, s, "", said("user", "go"))); r.status != 429 {
		t.Errorf("they used up the script: %d", r.status)
	}
	r := must(t)(send(t, s, "GET", "/api/oauth/usage", nil, nil))
	if got := r.body.Get("five_hour.utilization").Float(); got != 100 {
		t.Errorf("allowance used %v percent after a limit", got)
	}
}

func TestMessagesOverage(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(Overage{Text: "paid"})})
	r := must(t)(askClaude(t, s, "", said("user", "go")))
	h := func(name string) string { return r.header.Get(unifiedHeader + name) }
	if r.status != http.StatusOK || h("Status") != "rejected" || h("Overage-Status") != "allowed" || h("Overage-In-Use") != "true" || h("Overage-Disabled-Reason") != "" {
		t.Errorf("answered %d %v", r.status, r.header)
	}
}
