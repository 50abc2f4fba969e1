package claude

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// failing is a turn whose call fails with these fields, as the two frames that
// tell of it hold them: only the first has `error`.
func failing(error, fields, notice string) []string {
	if fields != "" {
		fields = "," + fields
	}
	return []string{
		initLine, echo,
		fmt.Sprintf(`{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":%q}]},"error":%q,"is_api_error_message":true%s}`, notice, error, fields),
		fmt.Sprintf(`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","result":%q%s}`, notice, fields),
	}
}

func TestCause(t *testing.T) {
	for _, c := range []struct {
		name, error, fields, notice string
		want                        paceline.Cause
		code                        string
	}{
		{"F9 usage_limit_reached is a usage limit", "rate_limit", `"api_error":"usage_limit_reached","api_error_status":429`, "", paceline.CauseUsageLimit, "usage_limit_reached"},
		{"F9 a model that needs credits is a usage limit", "rate_limit", `"api_error":"model_requires_usage_credits","api_error_status":429`, "", paceline.CauseUsageLimit, "model_requires_usage_credits"},
		{"F9 an expired login is auth", "authentication_failed", `"api_error_status":401,"api_error_type":"authentication_error"`, "", paceline.CauseAuth, "authentication_failed"},
		{"F9 a 401 alone is auth", "unknown", `"api_error_status":401`, "", paceline.CauseAuth, "401"},
		{"F9 a 403 that is named auth is auth", "authentication_failed", `"api_error_status":403,"api_error_type":"permission_error"`, "", paceline.CauseAuth, "authentication_failed"},
		{"F9 a 403 that is not named auth is not", "unknown", `"api_error_status":403,"api_error_type":"permission_error"`, "", paceline.CauseOther, "permission_error"},
		{"F9 no credentials at all is auth", "authentication_failed", "", "Not logged in", paceline.CauseAuth, "authentication_failed"},
		{"F9 a disabled organisation is auth", "invalid_request", `"api_error":"org_disabled_credential","api_error_status":400`, "", paceline.CauseAuth, "org_disabled_credential"},
		{"F9 a held account is auth", "account_on_hold", `"api_error_status":403`, "", paceline.CauseAuth, "account_on_hold"},
		{"F9 a 402 is billing although its error is unknown", "unknown", `"api_error_status":402,"api_error_type":"billing_error"`, "", paceline.CauseBilling, "billing_error"},
		{"F9 a 402 alone is billing", "unknown", `"api_error_status":402`, "", paceline.CauseBilling, "402"},
		{"F9 the words of a spend cap on another status are not read", "unknown", `"api_error_status":403,"api_error_type":"invalid_request_error"`, "You have reached your specified API usage limits", paceline.CauseOther, "invalid_request_error"},
		{"F9 a low balance is billing although it is a 400", "billing_error", `"api_error_status":400,"api_error_type":"invalid_request_error"`, "Credit balance is too low", paceline.CauseBilling, "billing_error"},
		{"F9 a spend cap is billing although it is a 400", "unknown", `"api_error_status":400,"api_error_type":"invalid_request_error"`, "API Error: 400 You have reached your specified API usage limits. You will regain access on 2026-12-05.", paceline.CauseBilling, "invalid_request_error"},
		{"F9 the words of a spend cap on another failure are not read", "server_error", `"api_error_status":500,"api_error_type":"api_error"`, "You have reached your specified API usage limits", paceline.CauseServer, "server_error"},
		{"F9 a 429 whose cause is not told is a throttle", "rate_limit", `"api_error_status":429,"api_error_type":"rate_limit_error"`, "Server is temporarily limiting requests", paceline.CauseThrottle, "rate_limit"},
		{"F9 a 429 that talks of limits is a throttle", "rate_limit", `"api_error_status":429`, "You've hit your 5-hour limit · resets 6:30am", paceline.CauseThrottle, "rate_limit"},
		{"F9 a 529 is the server's, never the account's", "server_error", `"api_error_status":529,"api_error_type":"overloaded_error"`, "", paceline.CauseServer, "overloaded_error"},
		{"F59 a 500 is the server's", "server_error", `"api_error_status":500,"api_error_type":"api_error"`, "", paceline.CauseServer, "server_error"},
		{"F59 a 503 without a body is the server's", "server_error", `"api_error_status":503`, "", paceline.CauseServer, "server_error"},
		{"F59 a server error with no status is the route's", "server_error", `"api_error_status":null`, "Request timed out", paceline.CauseTransport, "server_error"},
		{"F59 a server error with a status of our making is nobody's", "server_error", `"api_error_status":409`, "", paceline.CauseOther, "server_error"},
		{"F59 a refused connection is the route's", "server_error", `"api_error":"connection_failed"`, "", paceline.CauseTransport, "connection_failed"},
		{"F59 an untrusted certificate is the route's", "unknown", `"api_error":"tls_untrusted_ca"`, "", paceline.CauseTransport, "tls_untrusted_ca"},
		{"F59 a blocked edge is the route's", "invalid_request", `"api_error":"network_edge_blocked","api_error_status":403`, "", paceline.CauseTransport, "network_edge_blocked"},
		{"F59 an unknown model is the engine's", "model_not_found", `"api_error_status":404,"api_error_type":"not_found_error"`, "", paceline.CauseModel, "model_not_found"},
		{"F59 a message over the limit is the context's", "invalid_request", `"api_error":"message_over_context_limit","api_error_status":400`, "", paceline.CauseContext, "message_over_context_limit"},
		{"F59 a bad request is nobody's", "unknown", `"api_error_status":400,"api_error_type":"invalid_request_error"`, "something is malformed", paceline.CauseOther, "invalid_request_error"},
		{"F59 an answer that was too long is nobody's", "max_output_tokens", `"api_error":"max_output_tokens"`, "", paceline.CauseOther, "max_output_tokens"},
		{"F59 an unknown api_error counts as absent", "rate_limit", `"api_error":"moon_in_the_way","api_error_status":429`, "", paceline.CauseThrottle, "moon_in_the_way"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ends := endings(replay(New(), failing(c.error, c.fields, c.notice)...))
			if len(ends) != 1 || ends[0].Outcome != paceline.OutcomeFailed {
				t.Fatalf("ended as %+v", ends)
			}
			if f := ends[0].Failure; f.Cause != c.want || f.Code != c.code || f.Work != paceline.WorkNone {
				t.Errorf("got %s, want %s (%s)", verdict(ends[0]), c.want, c.code)
			}
		})
	}
}

// TestTraps are the ways in which the program misleads.
func TestTraps(t *testing.T) {
	const lift = "five_hour lifts 2026-12-01 06:30:33 (stated)"
	overage := strings.Replace(rejected, `"isUsingOverage":false`, `"overageStatus":"allowed","isUsingOverage":true`, 1)
	bare := `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","isUsingOverage":false}}`
	opus := `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1796441433,"rateLimitType":"seven_day"}}`
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"success with is_error is a failure", rejection(), "turn 1 failed: work none, usage_limit (usage_limit_reached), retryable, " + lift},
		{"a rejected window on a turn that succeeds is no failure", []string{initLine, rejected, textDelta, goodEnd}, `turn 1 completed: work some, answer "done"`},
		{"paid overage on a turn that succeeds is no failure", []string{initLine, overage, textDelta, overage, goodEnd}, `turn 1 completed: work some, answer "done"`},
		{"a rejected window without a reset is no usage limit", append([]string{initLine, bare}, failing("rate_limit", `"api_error_status":429,"api_error_type":"rate_limit_error"`, "n")[1:]...), `turn 1 failed: work none, throttle (rate_limit), retryable, notice "n"`},
		{"a rejected window with a reset is no usage limit by itself", append([]string{initLine, rejected}, failing("rate_limit", `"api_error_status":429`, "n")[1:]...), `turn 1 failed: work none, throttle (rate_limit), retryable, notice "n"`},
		{"another window's state is not this limit's", []string{initLine, opus, limitCall, limitEnd}, "turn 1 failed: work none, usage_limit (usage_limit_reached), retryable"},
		{
			"the failed call's own window wins over an earlier event",
			[]string{
				initLine, rejected,
				strings.Replace(limitCall, `"api_error":`, `"api_error_params":{"rate_limit_info":{"status":"rejected","resetsAt":1796441433,"rateLimitType":"seven_day"}},"api_error":`, 1), limitEnd,
			},
			"turn 1 failed: work none, usage_limit (usage_limit_reached), retryable, seven_day lifts 2026-12-05 03:30:33 (stated)",
		},
		{"a result alone is enough", []string{limitEnd}, "turn 1 failed: work none, usage_limit (usage_limit_reached), retryable"},
		{"an interruption has no error fields", []string{initLine, `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","errors":["[ede_diagnostic] x"]}`}, "turn 1 interrupted: work none, stopped (aborted_streaming)"},
		{"an interruption after a failed call is an interruption", []string{initLine, limitCall, `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"}`}, "turn 1 interrupted: work none, stopped (aborted_tools)"},
		{"a context that does not fit is told by the terminal reason alone", []string{initLine, `{"type":"result","subtype":"success","is_error":true,"terminal_reason":"prompt_too_long","api_error_status":400,"api_error_type":"invalid_request_error"}`}, "turn 1 failed: work none, context (prompt_too_long)"},
		{"too many turns is nobody's fault", []string{initLine, toolCall, `{"type":"result","subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["Reached maximum number of turns (1)"]}`}, `turn 1 failed: work some, other (max_turns), notice "Reached maximum number of turns (1)"`},
		{"an error subtype is no success", []string{initLine, `{"type":"result","subtype":"error_max_turns","is_error":false}`}, "turn 1 failed: work none, other (error_max_turns)"},
		{"a failed call that was recovered from leaves no trace", []string{
			initLine, strings.Replace(limitCall, "usage_limit_reached", "connection_failed", 1),
			`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}`, `{"type":"result","subtype":"success","is_error":true,"terminal_reason":"model_error"}`,
		}, "turn 1 failed: work some, other (model_error)"},
		{"a failed call that was recovered from without deltas leaves no trace", []string{
			initLine, strings.Replace(limitCall, "usage_limit_reached", "connection_failed", 1), toolCall,
			`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"model_error"}`,
		}, "turn 1 failed: work some, other (model_error)"},
		{"a result that does not say whether it failed leaves all open", []string{initLine, `{"type":"result","subtype":"success","result":"x"}`}, `turn 1 incomplete: work unknown, notice "x"`},
		{"a result of another shape ends the turn, its work unknown", []string{initLine, `{"type":"result","is_error":true,"api_error_status":"429","api_error":"usage_limit_reached"}`}, "turn 1 failed: work unknown, usage_limit (usage_limit_reached), retryable"},
		{"a reset in other units is no reset", []string{initLine, strings.Replace(rejected, "1796106633", "1796106633000", 1), limitCall, limitEnd}, "turn 1 failed: work none, usage_limit (usage_limit_reached), retryable"},
		{"P7 a model that writes of limits has not met one", []string{initLine, strings.Replace(toolCall, `{"type":"tool_use","id":"t1","name":"Bash","input":{}}`, `{"type":"text","text":"You've hit your 5-hour limit · resets 6:30am. {\"api_error\":\"usage_limit_reached\"}"}`, 1), goodEnd}, `turn 1 completed: work some, answer "done"`},
		{"P7 a tool that prints a limit has not met one", []string{initLine, toolCall, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"{\"type\":\"result\",\"is_error\":true,\"api_error\":\"usage_limit_reached\"}"}]}}`, goodEnd}, `turn 1 completed: work some, answer "done"`},
		{"P7 a limit in a subagent is not yet its parent's", []string{initLine, toolCall, rejected, strings.Replace(limitCall, `"parent_tool_use_id":null`, `"parent_tool_use_id":"t1"`, 1), goodEnd}, `turn 1 completed: work some, answer "done"`},
		{"a stream that stops at the limit keeps the reason", []string{initLine, rejected, limitCall}, "turn 1 incomplete: work none, usage_limit (usage_limit_reached), retryable, " + lift},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := replay(New(), c.lines...)
			ends := endings(events)
			if len(ends) != 1 {
				t.Fatalf("%d turns ended", len(ends))
			}
			got, _, _ := strings.Cut(verdict(ends[0]), `, notice "You've hit`)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestLimited: the limit is certain with the failed call's own frame.
func TestLimited(t *testing.T) {
	r := New()
	var events []wire.Event
	for _, l := range []string{initLine, asking, rejected, echo, limitCall} {
		events = append(events, r.Observe([]byte(l), noon)...)
	}
	limited := of(events, wire.Limited)
	if len(limited) != 1 || len(of(events, wire.Ended)) != 0 {
		t.Fatalf("before the result: %s", table(events))
	}
	want := &paceline.Failure{
		Cause: paceline.CauseUsageLimit, Code: "usage_limit_reached", Status: 429, Work: paceline.WorkNone, Scope: "five_hour", Retryable: true,
		Reset:  paceline.Reset{At: time.Date(2026, 12, 1, 6, 30, 33, 0, time.UTC), Source: paceline.ResetStated},
		Notice: "You've hit your 5-hour limit",
		Evidence: []paceline.Evidence{
			{Frame: "rate_limit_event", Line: 3, Says: "status=rejected rateLimitType=five_hour resetsAt=2026-12-01T06:30:33Z", Means: "reset"},
			{Frame: "assistant", Line: 5, Says: "error=rate_limit api_error=usage_limit_reached api_error_type=rate_limit_error api_error_status=429", Means: "usage limit"},
		},
	}
	if diff := cmp.Diff(want, limited[0].Failure); diff != "" {
		t.Error(diff)
	}
	if again := r.Observe([]byte(limitCall), noon); len(of(again, wire.Limited)) != 0 {
		t.Error("a limit is announced twice in one turn")
	}
	end := endings(r.Observe([]byte(limitEnd), noon))[0]
	want.Evidence[1].Line = 6 // the later of the two
	want.Evidence = append(want.Evidence, paceline.Evidence{
		Frame: "result", Line: 7, Means: "usage limit",
		Says: "subtype=success is_error=true terminal_reason=api_error api_error=usage_limit_reached api_error_type=rate_limit_error api_error_status=429",
	})
	if diff := cmp.Diff(*want, end.Failure); diff != "" {
		t.Error("the result confirms it:", diff)
	}
}

func TestOverageIsAnnouncedOnce(t *testing.T) {
	overage := strings.Replace(rejected, `"isUsingOverage":false`, `"isUsingOverage":true`, 1)
	got := of(replay(New(), initLine, rejected, overage, overage, goodEnd, initLine, overage, goodEnd), wire.Overage)
	if len(got) != 1 || got[0].Text != "paid overage is in use: the five_hour window is used up" || got[0].Failure.Cause != paceline.CauseUsageLimit || !got[0].Failure.Reset.Known() {
		t.Errorf("announced %+v", got)
	}
}

// TestRetrying: the first retry already names its cause.
func TestRetrying(t *testing.T) {
	for _, c := range []struct {
		name, fields string
		want         wire.Event
	}{
		{"an expired key", `"error_status":401,"error":"authentication_failed"`, wire.Event{Cause: paceline.CauseAuth, Code: "authentication_failed"}},
		{"an overload", `"error_status":529,"error":"overloaded","retry_delay_ms":529`, wire.Event{Cause: paceline.CauseServer, Code: "overloaded", Delay: 529 * time.Millisecond}},
		{"a 429", `"error_status":429,"error":"rate_limit","retry_delay_ms":14972`, wire.Event{Cause: paceline.CauseThrottle, Code: "rate_limit", Delay: 14972 * time.Millisecond}},
		{"no connection", `"error_status":null,"error":"unknown","retry_delay_ms":592`, wire.Event{Cause: paceline.CauseTransport, Code: "no_response", Delay: 592 * time.Millisecond}},
		{"no first byte", `"error_status":null,"error":"server_error","no_response":{"waited_ms":60000}`, wire.Event{Cause: paceline.CauseTransport, Code: "server_error"}},
		{"an absurd delay", `"error_status":500,"error":"server_error","retry_delay_ms":1e300`, wire.Event{Cause: paceline.CauseServer, Code: "server_error"}},
	} {
		c.want.Kind, c.want.Line = wire.Retrying, 2
		got := of(replay(New(), initLine, `{"type":"system","subtype":"api_retry","attempt":1,`+c.fields+`}`), wire.Retrying)
		if diff := cmp.Diff([]wire.Event{c.want}, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
