package claude

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

func TestSentLines(t *testing.T) {
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"a prompt", UserMessage("u1", "line one\n<b> & \"quotes\""), `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"line one\n<b> & \"quotes\""}]},"parent_tool_use_id":null,"uuid":"u1"}`},
		{"a prompt without a name", UserMessage("", "x"), `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"x"}]},"parent_tool_use_id":null}`},
		{"the opening", Initialize("i"), `{"type":"control_request","request_id":"i","request":{"subtype":"initialize"}}`},
		{"an interruption", ControlRequest("r", "interrupt"), `{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}`},
		{"a call allowed", AnswerTool("q", true, json.RawMessage(`{"a":1}`), ""), `{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"allow","updatedInput":{"a":1}}}}`},
		{"a call denied", AnswerTool("q", false, json.RawMessage(`{"a":1}`), "no"), `{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"deny","message":"no"}}}`},
		{"a call denied without a reason", AnswerTool("q", false, nil, ""), `{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"deny","message":"Denied."}}}`},
		{"a call whose input was lost is not allowed", AnswerTool("q", true, nil, ""), `{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"deny","message":"The input of this call could not be read."}}}`},
		{"a call whose input is broken is not allowed", AnswerTool("q", true, json.RawMessage(`{"a":`), ""), `{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"deny","message":"The input of this call could not be read."}}}`},
	} {
		if diff := cmp.Diff(c.want+"\n", string(c.got)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestParseControl(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       Control
		ok         bool
	}{
		{
			"a permission", `{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"a"},"description":"a.txt","tool_use_id":"t"}}`,
			Control{RequestID: "q", Subtype: "can_use_tool", Tool: "Write", Input: json.RawMessage(`{"file_path":"a"}`), ToolUseID: "t", About: "a.txt"},
			true,
		},
		{
			"a question", `{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{},"requires_user_interaction":true}}`,
			Control{RequestID: "q", Subtype: "can_use_tool", Tool: "AskUserQuestion", Input: json.RawMessage(`{}`), Interactive: true},
			true,
		},
		{
			"an elicitation", `{"type":"control_request","request_id":"q","request":{"subtype":"elicitation","mcp_server_name":"db","message":"which?"}}`,
			Control{RequestID: "q", Subtype: "elicitation", Tool: "db", About: "which?", Interactive: true},
			true,
		},
		{
			"a hook", `{"type":"control_request","request_id":"q","request":{"subtype":"hook_callback","callback_id":"cb_0","input":{"hook_event_name":"Stop"}}}`,
			Control{RequestID: "q", Subtype: "hook_callback", Hook: "Stop"},
			true,
		},
		{"another request", `{"type":"control_request","request_id":"q","request":{"subtype":"mcp_message"}}`, Control{RequestID: "q", Subtype: "mcp_message"}, true},
		{
			"an answer", `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"a":[1]}}}`,
			Control{RequestID: "r", Subtype: "success", Response: true, Success: true, Body: []byte(`{"a":[1]}`)},
			true,
		},
		{"an answer without a body", `{"type":"control_response","response":{"subtype":"success","request_id":"r"}}`, Control{RequestID: "r", Subtype: "success", Response: true, Success: true}, true},
		{
			"a refusal", `{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"Unsupported control request subtype: x","error_code":"unsupported_request"}}`,
			Control{RequestID: "r", Subtype: "error", Response: true, Error: "Unsupported control request subtype: x"},
			true,
		},
		{"a request taken back", `{"type":"control_cancel_request","request_id":"q"}`, Control{RequestID: "q", Cancel: true}, true},
		{"a request that cannot be answered", `{"type":"control_request","request":{"subtype":"can_use_tool"}}`, Control{Subtype: "can_use_tool"}, false},
		{"another frame", textDelta, Control{}, false},
		{"half a frame", `{"type":"control_request","request_id":"q","request":{"subtype":"can_use`, Control{}, false},
		{"garbage", "control_request", Control{}, false},
	} {
		got, ok := ParseControl([]byte(c.line))
		if ok != c.ok {
			t.Errorf("%s: read: %t", c.name, ok)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestAccountFrom(t *testing.T) {
	at := time.Date(2026, 12, 1, 5, 0, 0, 0, time.UTC)
	stated := func(day, hour int) paceline.Reset {
		return paceline.Reset{At: time.Date(2026, 12, day, hour, 0, 0, 0, time.UTC), Source: paceline.ResetStated}
	}
	plan := `{"subscription_type":"max","rate_limits_available":true,"rate_limits":`
	for _, c := range []struct {
		name, body string
		want       wire.Account
	}{
		{"room left", plan + `{"five_hour":{"utilization":20,"resets_at":"2026-12-01T06:00:00Z"}}}`, wire.Account{Posture: paceline.PostureSubscription}},
		{
			"a window used up", plan + `{"five_hour":{"utilization":100,"resets_at":"2026-12-01T06:00:00.000Z"},"seven_day":{"utilization":61}}}`,
			wire.Account{Limited: true, Reset: stated(1, 6), Scope: "five_hour", Posture: paceline.PostureSubscription},
		},
		{
			"two used up: the last to lift decides", plan + `{"five_hour":{"utilization":100,"resets_at":"2026-12-01T06:00:00Z"},"seven_day":{"utilization":100,"resets_at":"2026-12-05T03:00:00Z"}}}`,
			wire.Account{Limited: true, Reset: stated(5, 3), Scope: "seven_day", Posture: paceline.PostureSubscription},
		},
		{"used up, but lifted since", plan + `{"five_hour":{"utilization":100,"resets_at":"2026-12-01T04:00:00Z"}}}`, wire.Account{Posture: paceline.PostureSubscription}},
		{"used up, nobody says until when", plan + `{"five_hour":{"utilization":100}}}`, wire.Account{Limited: true, Scope: "five_hour", Posture: paceline.PostureSubscription}},
		{"one model's window says nothing of the others", plan + `{"seven_day_opus":{"utilization":100,"resets_at":"2026-12-05T03:00:00Z"}}}`, wire.Account{Posture: paceline.PostureSubscription}},
		{"not known yet", plan + `null}`, wire.Account{Posture: paceline.PostureSubscription}},
		{"a key, or nobody signed in", `{"subscription_type":null,"rate_limits_available":false,"rate_limits":null}`, wire.Account{}},
		{"nothing", ``, wire.Account{}},
		{"garbage", `{"rate_limits":{"five_hour":{"utilization":100`, wire.Account{}},
	} {
		if diff := cmp.Diff(c.want, AccountFrom([]byte(c.body), at)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	// As recorded: before a turn, nothing; after it, two windows with room.
	lines := recorded(t, "testdata/usage-control.jsonl")
	for i, line := range []string{lines[0], lines[len(lines)-1]} {
		c, ok := ParseControl([]byte(line))
		if !ok || !c.Success {
			t.Fatalf("recorded answer %d is not read: %+v", i, c)
		}
		if diff := cmp.Diff(wire.Account{Posture: paceline.PostureSubscription}, AccountFrom(c.Body, at)); diff != "" {
			t.Errorf("recorded answer %d: %s", i, diff)
		}
	}
}
