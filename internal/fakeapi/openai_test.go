package fakeapi

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestResponsesRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer Answer
		status int
		code   string
	}{
		{"a throttle", Throttle{}, 429, "rate_limit_exceeded"},
		{"overload", Overloaded{}, 503, "server_is_overloaded"},
		{"a broken server", ServerError{}, 500, "server_error"},
		{"signed out", SignedOut{}, 401, "token_expired"},
		{"not let in", Forbidden{}, 403, "subscription_sharing_user_not_eligible"},
		{"no payment", Billing{}, 402, "payment_required"},
		{"no credit", Billing{Kind: "credit"}, 429, "insufficient_quota"},
		{"a spend cap", Billing{Kind: "spend_limit"}, 429, "organization_spend_limit_exceeded"},
		{"no such model", ModelNotFound{}, 404, "model_not_found"},
		{"too long", ContextTooLong{}, 400, "context_length_exceeded"},
		{"nothing scripted", nil, 400, "unscripted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, Script{OpenAI: Steps(c.answer)})
			r := must(t)(askCodex(t, s, "", typed("go")))
			if r.status != c.status || r.body.Get("error.code").String() != c.code {
				t.Errorf("answered %d %s, want %d %s", r.status, r.body.Raw, c.status, c.code)
			}
		})
	}
}

func TestResponsesLimit(t *testing.T) {
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	at := strconv.FormatInt(reset.Unix(), 10)
	for _, c := range []struct {
		name  string
		limit UsageLimit
		want  map[string]string
	}{
		{"the short window", UsageLimit{Reset: reset}, map[string]string{
			"Primary-Used-Percent": "100.0", "Primary-Reset-At": at, "Primary-Window-Minutes": "300", "Secondary-Used-Percent": "31.0", "Plan-Type": "plus",
		}},
		{"the week", UsageLimit{Reset: reset, Window: "seven_day", Plan: "pro"}, map[string]string{
			"Primary-Used-Percent": "20.0", "Secondary-Used-Percent": "100.0", "Secondary-Reset-At": at, "Plan-Type": "pro",
		}},
		{"no time", UsageLimit{Reset: reset, NoReset: true}, map[string]string{"Primary-Used-Percent": "100.0", "Primary-Reset-At": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, Script{OpenAI: Steps(c.limit)})
			r := must(t)(askCodex(t, s, "", typed("go")))
			if r.status != 429 || r.body.Get("error.type").String() != "usage_limit_reached" {
				t.Errorf("answered %d %s", r.status, r.body.Raw)
			}
			if told := r.body.Get("error.resets_at").Int() == reset.Unix(); told == c.limit.NoReset {
				t.Errorf("resets_at in %s", r.body.Raw)
			}
			for name, want := range c.want {
				if got := r.header.Get(codexHeader + name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestResponsesStream(t *testing.T) {
	s := start(t, Script{OpenAI: Steps(
		Text{Text: "hello there", Chunks: 2}, Reasoning{Summary: "hm", Text: "so"}, Shell("ls"), Write("a.txt", "one\ntwo\n"),
		UsageLimit{After: "I will"},
	)})
	r := must(t)(askCodex(t, s, "", typed("go")))
	want := []string{
		"response.created", "response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}
	if !slices.Equal(r.kinds, want) {
		t.Errorf("events %q, want %q", r.kinds, want)
	}
	if got := r.text("response.output_text.delta", "delta"); got != "hello there" {
		t.Errorf("text %q", got)
	}
	if r.events[len(r.events)-1].Get("response.usage.total_tokens").Int() == 0 {
		t.Error("no usage at the end")
	}

	r = must(t)(askCodex(t, s, "", typed("go")))
	if got := r.text("response.reasoning_summary_text.delta", "delta"); got != "hm" {
		t.Errorf("reasoning %q", got)
	}

	r = must(t)(askCodex(t, s, "", typed("go")))
	done := "response.output_item.done"
	if name, args := r.text(done, "item.name"), r.text(done, "item.arguments"); name != "exec_command" || args != `{"cmd":"ls"}` {
		t.Errorf("call %s %s", name, args)
	}

	r = must(t)(askCodex(t, s, "", typed("go")))
	patch := "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch"
	if kind, input := r.text(done, "item.type"), r.text(done, "item.input"); kind != "custom_tool_call" || input != patch {
		t.Errorf("call %s %q", kind, input)
	}

	r = must(t)(askCodex(t, s, "", typed("go")))
	if got := r.text("response.failed", "response.error.code"); got != "usage_limit_reached" {
		t.Errorf("failed with %q after %q", got, r.kinds)
	}
}

func TestShellInTheWordsOfTheToolAtHand(t *testing.T) {
	for _, c := range []struct{ tools, name, input string }{
		{"exec_command", "exec_command", `{"cmd":"ls"}`},
		{"shell_command", "shell_command", `{"command":"ls"}`},
		{"shell", "shell", `{"command":["bash","-lc","ls"]}`},
	} {
		x := &exchange{s: &Server{}, req: Request{Tools: []string{c.tools}}}
		if name, input := x.shell("ls"); name != c.name || string(input) != c.input {
			t.Errorf("with %s: %s %s", c.tools, name, input)
		}
	}
}

// A 429 that hides its cause is settled by the allowance, which is therefore
// what the script says that it hides.
func TestWhamUsage(t *testing.T) {
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	for _, c := range []struct {
		name    string
		script  Script
		limited bool
		used    int64
	}{
		{"a throttle and nothing else", Script{OpenAI: Steps(Throttle{})}, false, 20},
		{"a throttle that hides a limit", Script{OpenAI: Steps(Throttle{Hides: &UsageLimit{Reset: reset}})}, true, 100},
		{"a limit", Script{OpenAI: Steps(UsageLimit{Reset: reset})}, true, 100},
		{"pinned", Script{OpenAI: Steps(Text{Text: "fine"}), Usage: &UsageLimit{Reset: reset}}, true, 100},
		{"a success", Script{OpenAI: Steps(Text{Text: "fine"})}, false, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, c.script)
			must(t)(askCodex(t, s, "", typed("go")))
			r := must(t)(send(t, s, "GET", "/backend-api/wham/usage", nil, nil))
			limit := r.body.Get("rate_limit")
			if limit.Get("limit_reached").Bool() != c.limited || limit.Get("allowed").Bool() == c.limited || limit.Get("primary_window.used_percent").Int() != c.used {
				t.Errorf("answered %s", r.body.Raw)
			}
			if c.limited && limit.Get("primary_window.reset_at").Int() != reset.Unix() {
				t.Errorf("reset at %s, want %d", limit.Get("primary_window.reset_at").Raw, reset.Unix())
			}
		})
	}
}

func TestRefreshHelpsOnlyWhoIsSignedIn(t *testing.T) {
	s := start(t, Script{OpenAI: Steps(Text{Text: "fine"}, SignedOut{})})
	refresh := func() reply { return must(t)(send(t, s, "POST", "/oauth/token", nil, []byte(`{}`))) }
	must(t)(askCodex(t, s, "", typed("go")))
	if r := refresh(); r.status != 200 || r.body.Get("access_token").String() == "" {
		t.Errorf("signed in: %d %s", r.status, r.body.Raw)
	}
	must(t)(askCodex(t, s, "", typed("go")))
	if r := refresh(); r.status != 401 || r.body.Get("error.code").String() != "refresh_token_expired" {
		t.Errorf("signed out: %d %s", r.status, r.body.Raw)
	}
}

func TestResponsesOnTheWay(t *testing.T) {
	s := start(t, Script{OpenAI: Steps(Text{Text: "fine"})})
	for path, want := range map[string]int{
		"/backend-api/wham/usage": 200, "/backend-api/wham/accounts/check": 200, "/v1/models": 200,
		"/v1/responses": 426, "/backend-api/ps/plugins/installed": 404,
	} {
		if r := must(t)(send(t, s, "GET", path, nil, nil)); r.status != want {
			t.Errorf("%s: %d, want %d", path, r.status, want)
		}
	}
	r := must(t)(send(t, s, "POST", "/v1/responses", map[string]string{"X-Codex-Turn-Metadata": `{"request_kind":"compaction"}`}, []byte(`{"input":"sum up"}`)))
	if r.status != 200 || s.Requests()[len(s.Requests())-1].Main {
		t.Errorf("a summary: %d, or it was taken for work", r.status)
	}
}
