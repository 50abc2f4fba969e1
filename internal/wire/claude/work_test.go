package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// The frames of a turn that fails, as recorded, without what does not count.
const (
	initLine  = `{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-5-5","apiKeySource":"none"}`
	asking    = `{"type":"system","subtype":"status","status":"requesting"}`
	rejected  = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1796106633,"rateLimitType":"five_hour","isUsingOverage":false}}`
	echo      = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"do it"}]},"parent_tool_use_id":null,"uuid":"u1","isReplay":true}`
	limitCall = `{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"You've hit your 5-hour limit"}]},"parent_tool_use_id":null,"error":"rate_limit","is_api_error_message":true,"api_error_status":429,"api_error":"usage_limit_reached","api_error_type":"rate_limit_error"}`
	limitEnd  = `{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"api_error_type":"rate_limit_error","api_error":"usage_limit_reached","terminal_reason":"api_error","result":"You've hit your 5-hour limit","uuid":"r1"}`
	goodEnd   = `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"done","uuid":"r2"}`
	textDelta = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}},"parent_tool_use_id":null}`
	toolCall  = `{"type":"assistant","message":{"id":"m1","model":"claude-sonnet-5-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]},"parent_tool_use_id":null}`
)

// rejection is a turn that a usage limit ends, with the frames put before the
// failed call.
func rejection(between ...string) []string {
	return append(append([]string{initLine, asking, rejected, echo}, between...), limitCall, limitEnd)
}

func hook(frame, event string) string {
	return fmt.Sprintf(`{"type":"system","subtype":%q,"hook_event":%q,"hook_name":%q}`, frame, event, event)
}

func system(subtype string) string {
	return fmt.Sprintf(`{"type":"system","subtype":%q}`, subtype)
}

// TestWork: what makes a turn that ends on a limit one that did work.
func TestWork(t *testing.T) {
	for _, c := range []struct {
		name  string
		frame string
		want  paceline.Work
	}{
		{"F2 a limit before anything else is no work", "", paceline.WorkNone},
		{"F7 an assistant frame that carries an API failure is not work", limitCall, paceline.WorkNone},
		{"F7 the echo of our prompt is not work", echo, paceline.WorkNone},
		{"F7 a second init is not work", initLine, paceline.WorkNone},
		{"F7 a status is not work", asking, paceline.WorkNone},
		{"F7 a rate limit event is not work", rejected, paceline.WorkNone},
		{"F7 a retry is not work", `{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":529,"error_status":529,"error":"overloaded"}`, paceline.WorkNone},
		{"F7 compaction alone is not work", system("compact_boundary"), paceline.WorkNone},
		{"F7 the summary after a compaction is not work", `{"type":"user","message":{"content":"This session is being continued"},"isSynthetic":true}`, paceline.WorkNone},
		{"F7 our own answers, echoed, are not work", `{"type":"control_response","response":{"subtype":"success","request_id":"a","response":{"behavior":"allow"}}}`, paceline.WorkNone},
		{"F7 what a command of the program printed is not work", `{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"Error during compaction"}]},"local_command_outcome":{"kind":"failed"}}`, paceline.WorkNone},
		{"F7 a ping is not work", `{"type":"stream_event","event":{"type":"ping"}}`, paceline.WorkNone},
		{"F7 an interruption's mark is not work", `{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`, paceline.WorkNone},
		{"F67 a notification on the limit is not work", `{"type":"system","subtype":"notification","key":"limit","text":"at your limit"}`, paceline.WorkNone},
		{"F67 a notice on the limit is not work", system("informational"), paceline.WorkNone},
		{"F67 a fallback to another model is not work", `{"type":"system","subtype":"model_fallback","trigger":"overloaded","original_model":"a","fallback_model":"b"}`, paceline.WorkNone},

		{"F59 assistant text before a 429 is work", `{"type":"assistant","message":{"id":"m","model":"claude-sonnet-5-5","content":[{"type":"text","text":"hello"}]}}`, paceline.WorkSome},
		{"F59 a partial text is work", textDelta, paceline.WorkSome},
		{"F59 a tool call alone is work", toolCall, paceline.WorkSome},
		{"F59 a begun answer is work", `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}`, paceline.WorkSome},
		{"F59 a thought is work", `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}}`, paceline.WorkSome},
		{"F59 a finished tool is work", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`, paceline.WorkSome},
		{"F7 a tool result inside an echo is work", `{"type":"user","message":{"content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"t1"}]},"isReplay":true}`, paceline.WorkSome},
		{"F7 a failed call that also holds a tool call is work", strings.Replace(limitCall, `[{"type":"text"`, `[{"type":"tool_use","id":"t","name":"Bash"},{"type":"text"`, 1), paceline.WorkSome},
		{"F7 a model's own frame is work even if it names an error", strings.Replace(limitCall, "<synthetic>", "claude-sonnet-5-5", 1), paceline.WorkSome},
		{"F7 a message that nobody sent is work", `{"type":"user","message":{"content":[{"type":"text","text":"go on"}]}}`, paceline.WorkSome},
		{"F7 a text that only begins like an interruption is work", `{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user] and more"}]}}`, paceline.WorkSome},
		{"F7 a tool's result beside an interruption's mark is work", `{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"},{"type":"tool_result","tool_use_id":"t1"}]}}`, paceline.WorkSome},
		{"F7 a running tool's heartbeat is work", `{"type":"tool_progress","tool_use_id":"t1-heartbeat-0","heartbeat":true}`, paceline.WorkSome},
		{"F7 a begun background task is work", `{"type":"system","subtype":"task_started","task_id":"b1","task_type":"local_bash"}`, paceline.WorkSome},
		{"F7 a tool that was not permitted is work", system("permission_denied"), paceline.WorkSome},
		{"F8 a permission request is work", `{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Write","input":{}}}`, paceline.WorkSome},
		{"F50 an elicitation is work", `{"type":"control_request","request_id":"q","request":{"subtype":"elicitation","mcp_server_name":"db","message":"which?"}}`, paceline.WorkSome},

		{"F49 SessionStart is not work", hook("hook_started", "SessionStart"), paceline.WorkNone},
		{"F49 SessionEnd is not work", hook("hook_response", "SessionEnd"), paceline.WorkNone},
		{"F49 UserPromptSubmit is not work", hook("hook_response", "UserPromptSubmit"), paceline.WorkNone},
		{"F49 StopFailure is not work", hook("hook_started", "StopFailure"), paceline.WorkNone},
		{"F49 Notification is not work", hook("hook_started", "Notification"), paceline.WorkNone},
		{"F49 PreCompact is not work", hook("hook_started", "PreCompact"), paceline.WorkNone},
		{"F49 PreToolUse is work", hook("hook_started", "PreToolUse"), paceline.WorkSome},
		{"F49 PostToolUse is work", hook("hook_response", "PostToolUse"), paceline.WorkSome},
		{"F49 Stop is work", hook("hook_started", "Stop"), paceline.WorkSome},
		{"F49 SubagentStop is work", hook("hook_started", "SubagentStop"), paceline.WorkSome},
		{"F49 TaskCompleted is work", hook("hook_started", "TaskCompleted"), paceline.WorkSome},
		{"F49 a hook of an unknown name is work", hook("hook_started", "Moonrise"), paceline.WorkSome},
		{"F49 a hook without a name is work", system("hook_started"), paceline.WorkSome},
		{"F49 a hook that calls us back counts as its event", `{"type":"control_request","request_id":"q","request":{"subtype":"hook_callback","input":{"hook_event_name":"PreToolUse"}}}`, paceline.WorkSome},
		{"F49 an idle hook that calls us back is not work", `{"type":"control_request","request_id":"q","request":{"subtype":"hook_callback","input":{"hook_event_name":"SessionStart"}}}`, paceline.WorkNone},

		{"F59 a subagent's tool call is its parent's work", strings.Replace(toolCall, `"parent_tool_use_id":null`, `"parent_tool_use_id":"t0"`, 1), paceline.WorkSome},
		{"F59 a subagent's prompt is its parent's work", strings.Replace(echo, `"parent_tool_use_id":null`, `"parent_tool_use_id":"t0"`, 1), paceline.WorkSome},
		{"F59 a subagent's failed call is its parent's work", strings.Replace(limitCall, `"parent_tool_use_id":null`, `"parent_tool_use_id":"t0"`, 1), paceline.WorkSome},

		{"F2 an unknown kind makes work unknown", `{"type":"telepathy"}`, paceline.WorkUnknown},
		{"F2 an unknown subtype makes work unknown", system("seance"), paceline.WorkUnknown},
		{"F2 a known kind with a new subtype makes work unknown", `{"type":"keep_alive","subtype":"with_a_twist"}`, paceline.WorkUnknown},
		{"F2 an unknown request makes work unknown", `{"type":"control_request","request_id":"q","request":{"subtype":"mcp_message"}}`, paceline.WorkUnknown},
		{"F2 an unknown stream event makes work unknown", `{"type":"stream_event","event":{"type":"holo_start"}}`, paceline.WorkUnknown},
		{"F2 garbage makes work unknown", "\x00\xff\x7fELF", paceline.WorkUnknown},
		{"F2 half a frame makes work unknown", toolCall[:len(toolCall)/2], paceline.WorkUnknown},
		{"F2 a line that is no object makes work unknown", `["assistant"]`, paceline.WorkUnknown},
		{"F2 a frame without a type makes work unknown", `{"subtype":"status"}`, paceline.WorkUnknown},
		{"F2 a body that does not fit makes work unknown", `{"type":"assistant","message":{"content":7}}`, paceline.WorkUnknown},
		{"F2 a window that does not fit makes work unknown", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":"soon"}}`, paceline.WorkUnknown},
		{"F2 half of a harmless frame makes work unknown", `{"type":"keep_alive","x":`, paceline.WorkUnknown},
		{"F2 a window without a status makes work unknown", `{"type":"rate_limit_event","rate_limit_info":{}}`, paceline.WorkUnknown},
		{"F2 a blank line is no frame", "  ", paceline.WorkNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, open := range map[string]func(*Reader){"a stream that nobody announced": func(*Reader) {}, "an expected message": func(r *Reader) { r.Expect("u1") }} {
				r := New()
				open(r)
				lines := rejection()
				if c.frame != "" {
					lines = rejection(c.frame)
				}
				events := replay(r, lines...)
				ends := endings(events)
				if len(ends) != 1 {
					t.Fatalf("%s: %d turns ended", how, len(ends))
				}
				if got := ends[0].Failure.Work; got != c.want {
					t.Errorf("%s: work %s, want %s\n%s", how, got, c.want, table(events))
				}
				if got := ends[0].Failure.Cause; got != paceline.CauseUsageLimit {
					t.Errorf("%s: cause %s", how, got)
				}
				if got, want := len(of(events, wire.Unknown)) > 0, c.want == paceline.WorkUnknown; got != want {
					t.Errorf("%s: unknown frames reported: %t, want %t", how, got, want)
				}
				sane(t, how, events)
			}
		})
	}
}

func TestUnknownNeverLowersSome(t *testing.T) {
	for name, lines := range map[string][]string{
		"F2 an unknown frame after work":  rejection(toolCall, `{"type":"telepathy"}`),
		"F2 an unknown frame before work": rejection(`{"type":"telepathy"}`, toolCall),
	} {
		events := replay(New(), lines...)
		if got := endings(events)[0].Failure.Work; got != paceline.WorkSome {
			t.Errorf("%s: work %s", name, got)
		}
		if got := len(of(events, wire.Worked)); got != 1 {
			t.Errorf("%s: worked %d times", name, got)
		}
	}
}

func TestEvidenceNamesUnknownFrame(t *testing.T) {
	events := replay(New(), rejection(`{"type":"system","subtype":"seance","text":"dear prompt"}`)...)
	got := of(events, wire.Unknown)[0]
	want := wire.Event{Kind: wire.Unknown, Line: 5, Name: "system/seance", Evidence: paceline.Evidence{
		Frame: "system/seance", Line: 5, Says: "type=system/seance", Means: "unknown frame",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A kind may be anything that was printed, so it is only repeated as a word.
	for _, typ := range []string{"my secret is hunter2", strings.Repeat("x", 65)} {
		got = of(replay(New(), fmt.Sprintf(`{"type":%q}`, typ)), wire.Unknown)[0]
		if got.Name != "?" {
			t.Errorf("the name of what has no name is %q", got.Name)
		}
	}
}

// TestHarmless: a user can list what this build does not know, nothing else.
func TestHarmless(t *testing.T) {
	for _, c := range []struct {
		name, listed, frame string
		want                paceline.Work
	}{
		{"F2 a listed unknown kind is not work", "system/seance", system("seance"), paceline.WorkNone},
		{"F2 a tool call cannot be listed away", "assistant", toolCall, paceline.WorkSome},
		{"F2 a background task cannot be listed away", "system/task_started", system("task_started"), paceline.WorkSome},
		{"F2 a body that does not fit cannot be listed away", "assistant", `{"type":"assistant","message":{"content":7}}`, paceline.WorkUnknown},
		{"F2 garbage cannot be listed away", "unreadable", "garbage", paceline.WorkUnknown},
		{"F2 what has no name cannot be listed away", "?", `{"type":"a b"}`, paceline.WorkUnknown},
	} {
		r := New()
		r.Harmless(c.listed)
		if got := endings(replay(r, rejection(c.frame)...))[0].Failure.Work; got != c.want {
			t.Errorf("%s: work %s, want %s", c.name, got, c.want)
		}
	}
}

// TestBill: answers that were billed without a frame that shows them.
func TestBill(t *testing.T) {
	lines := rejection()
	lines[len(lines)-1] = strings.Replace(limitEnd, `"uuid":"r1"`, `"uuid":"r1","usage":{"output_tokens":12}`, 1)
	events := replay(New(), lines...)
	if got := endings(events)[0].Failure.Work; got != paceline.WorkUnknown {
		t.Errorf("F2 a billed answer that no frame shows: work %s, want unknown", got)
	}
	sane(t, "bill", events)
}

// TestEvidenceKeepsNoText holds that no verdict repeats what was asked, said or
// printed: it goes into the store and to `why`.
func TestEvidenceKeepsNoText(t *testing.T) {
	const secret = "hunter2 me@example.com sk-ant-x"
	lines := []string{
		initLine, strings.Replace(echo, "do it", secret, 1),
		fmt.Sprintf(`{"type":%q}`, secret), fmt.Sprintf(`{"type":"system","subtype":%q}`, secret),
		fmt.Sprintf(`{"type":"stream_event","event":{"type":%q}}`, secret), hook("hook_started", secret),
		fmt.Sprintf(`{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":%q}}`, secret),
		fmt.Sprintf(`{"type":"assistant","message":{"model":"m","content":[{"type":%q}]}}`, secret),
		strings.ReplaceAll(strings.Replace(limitCall, "rate_limit_error", secret, 1), "You've", secret),
		strings.ReplaceAll(limitEnd, "You've", secret),
	}
	for i := range lines { // each frame once as the first, so that it is the evidence
		for _, e := range replay(New(), append([]string{lines[i]}, limitCall, strings.ReplaceAll(limitEnd, "success", secret))...) {
			all := []paceline.Evidence{e.Evidence}
			if e.Failure != nil {
				all = append(all, e.Failure.Evidence...)
			}
			if e.Ending != nil {
				all = append(all, e.Ending.Failure.Evidence...)
				all = append(all, paceline.Evidence{Says: e.Ending.Failure.Code + e.Ending.Failure.Scope})
			}
			for _, ev := range all {
				if s := fmt.Sprint(ev); strings.Contains(s, "hunter2") {
					t.Errorf("line %d: %s", i, s)
				}
			}
		}
	}
}
