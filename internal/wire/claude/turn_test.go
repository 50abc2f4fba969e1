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

func lifecycle(uuid, state string) string {
	return fmt.Sprintf(`{"type":"command_lifecycle","command_uuid":%q,"state":%q}`, uuid, state)
}

func echoOf(uuid string) string { return strings.Replace(echo, `"u1"`, fmt.Sprintf("%q", uuid), 1) }

func endOf(n string) string { return strings.Replace(goodEnd, `"r2"`, fmt.Sprintf("%q", "end-"+n), 1) }

// TestTurns runs scripts: a line is a frame, or `expect x`, or `close`. What
// came of it is one word per event that counts here.
func TestTurns(t *testing.T) {
	late := `{"type":"system","subtype":"task_notification","task_id":"b1","status":"completed"}`
	begun := `{"type":"system","subtype":"task_started","task_id":"b1","task_type":"local_bash"}`
	for _, c := range []struct {
		name   string
		script []string
		want   string
	}{
		{"an expected message opens a turn that may never be answered", []string{"expect u1", "close"}, "end 1 incomplete none u1"},
		{"nothing expected and nothing said is no turn", []string{"close"}, ""},
		{"an init alone opens a turn", []string{initLine, "close"}, "end 1 incomplete none"},
		{"closing twice ends one turn", []string{"expect u1", "close", "close"}, "end 1 incomplete none u1"},
		{"a message is acknowledged once, by the first frame that names it", []string{"expect u1", lifecycle("u1", "queued"), lifecycle("u1", "started"), echo, "close"}, "ack u1 / end 1 incomplete none u1"},
		{"the echo acknowledges where nothing else does", []string{"expect u1", initLine, echo, "close"}, "ack u1 / end 1 incomplete none u1"},
		{"each result ends one turn, and work is a turn's own", []string{"expect u1", initLine, toolCall, endOf("1"), "expect u2", initLine, limitCall, limitEnd, "close"}, "end 1 completed some u1 / limited / end 2 failed none u2"},
		{"a repeated result ends nothing", []string{initLine, toolCall, endOf("1"), endOf("1"), "close"}, "end 1 completed some"},
		{"F59 a limit after a finished turn is that later turn's", []string{initLine, toolCall, endOf("1"), initLine, limitCall, limitEnd, "close"}, "end 1 completed some / limited / end 2 failed none"},
		{"a steer that the turn takes in opens none", []string{"expect u1", initLine, echo, toolCall, "expect u2", echoOf("u2"), endOf("1"), "close"}, "ack u1 / ack u2 / end 1 completed some u1"},
		{"a steer that came too late is the next turn", []string{"expect u1", initLine, echo, toolCall, "expect u2", lifecycle("u2", "queued"), endOf("1"), initLine, echoOf("u2"), limitCall, limitEnd, "close"}, "ack u1 / ack u2 / end 1 completed some u1 / limited / end 2 failed none u2"},
		{"a steer that is never taken in is left incomplete", []string{"expect u1", initLine, toolCall, "expect u2", endOf("1"), "close"}, "end 1 completed some u1 / end 2 incomplete none u2"},
		{"a copy of a message after its turn opens none", []string{initLine, echo, toolCall, endOf("1"), lifecycle("u1", "completed"), echo, "close"}, "ack u1 / end 1 completed some u1"},
		{"the chatter between turns opens none", []string{initLine, toolCall, endOf("1"), `{"type":"system","subtype":"status","status":null}`, rejected, hook("hook_started", "SessionEnd"), `{"type":"control_response","response":{"subtype":"success","request_id":"a"}}`, late, "close"}, "end 1 completed some"},
		{"an unknown frame between turns opens none", []string{initLine, toolCall, endOf("1"), `{"type":"telepathy"}`, "close"}, "end 1 completed some / unknown"},
		{"F2 an unknown frame before a turn that the stream opens is in doubt", []string{initLine, toolCall, endOf("1"), `{"type":"telepathy"}`, initLine, limitCall, limitEnd, "close"}, "end 1 completed some / unknown / limited / end 2 failed unknown"},
		{"F2 an unknown frame before the first turn is in doubt", []string{`{"type":"telepathy"}`, initLine, limitCall, limitEnd, "close"}, "unknown / limited / end 1 failed unknown"},
		{"F49 a hook before the first turn is in doubt", []string{hook("hook_started", "Setup"), initLine, limitCall, limitEnd, "close"}, "limited / end 1 failed some"},
		{"F49 an idle hook before the first turn is not", []string{hook("hook_started", "SessionStart"), initLine, limitCall, limitEnd, "close"}, "limited / end 1 failed none"},
		{"what was printed before the message existed is not its work", []string{`{"type":"telepathy"}`, "expect u1", initLine, limitCall, limitEnd, "close"}, "unknown / limited / end 1 failed none u1"},
		{"nor the work of a turn after it", []string{`{"type":"telepathy"}`, "expect u1", initLine, endOf("1"), initLine, limitCall, limitEnd, "close"}, "unknown / end 1 completed none u1 / limited / end 2 failed none"},
		{"F2 what is printed once it is expected is", []string{"expect u1", `{"type":"telepathy"}`, initLine, limitCall, limitEnd, "close"}, "unknown / limited / end 1 failed unknown u1"},
		{"an earlier turn's background task is not this turn's work", []string{"expect u1", initLine, toolCall, begun, endOf("1"), "expect u2", late, initLine, limitCall, limitEnd, "close"}, "end 1 completed some u1 / limited / end 2 failed none u2"},
		{"this turn's background task is", []string{"expect u1", initLine, begun, late, limitCall, limitEnd, "close"}, "limited / end 1 failed some u1"},
		{"a task that nobody saw begin is", []string{"expect u1", initLine, late, limitCall, limitEnd, "close"}, "limited / end 1 failed some u1"},
		{"a failure before any init ends the expected turn", []string{"expect u1", `{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["No conversation found"]}`, "close"}, "end 1 failed none u1"},
		{"the result names the turn", []string{initLine, toolCall, strings.Replace(goodEnd, `"uuid"`, `"user_message_uuid":"u9","uuid"`, 1)}, "end 1 completed some u9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New()
			var got []string
			for _, line := range c.script {
				var events []wire.Event
				switch uuid, isExpect := strings.CutPrefix(line, "expect "); {
				case isExpect:
					r.Expect(uuid)
				case line == "close":
					events = r.Close()
				default:
					events = r.Observe([]byte(line), noon)
				}
				for _, e := range events {
					switch e.Kind {
					case wire.Acked:
						got = append(got, "ack "+e.UUID)
					case wire.Limited, wire.Unknown:
						got = append(got, e.Kind.String())
					case wire.Ended:
						got = append(got, strings.TrimSpace(fmt.Sprintf("end %d %s %s %s", e.Ending.Turn, e.Ending.Outcome, e.Ending.Failure.Work, e.Ending.Native)))
					}
				}
			}
			// Only scripts that expect care for names that the stream gave itself.
			if s := strings.Join(got, " / "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

// TestEvents: what a front end is shown of a turn.
func TestEvents(t *testing.T) {
	lines := []string{
		initLine,
		`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}`, textDelta,
		`{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":"hi"}]}}`,                          // said already
		`{"type":"assistant","message":{"id":"m2","model":"m","content":[{"type":"text","text":"ho"}]}}`,                          // not said yet
		`{"type":"assistant","message":{"id":"m3","model":"m","content":[{"type":"text","text":"x"}]},"parent_tool_use_id":"t0"}`, // a subagent's words are not the answer
		toolCall,
		`{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"Bash","description":"list files","input":{"command":"ls"}}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]},"tool_use_result":{"filePath":"/w/a.txt","structuredPatch":[]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true}]},"tool_use_result":{"file":{"filePath":"/w/b.txt"}}}`, // read, not changed
	}
	want := []wire.Event{
		{Kind: wire.Opened, Line: 1, Conversation: "s", Model: "claude-sonnet-5-5"},
		{Kind: wire.Worked, Line: 2, Evidence: paceline.Evidence{Frame: "stream_event", Line: 2, Says: "event=message_start", Means: "work"}},
		{Kind: wire.Text, Line: 3, Text: "hi"},
		{Kind: wire.Text, Line: 5, Text: "ho"},
		{Kind: wire.Tool, Line: 7, Name: "Bash", ID: "t1", Detail: `{}`},
		{Kind: wire.Approval, Line: 8, Name: "Bash", ID: "q1", Detail: "list files"},
		{Kind: wire.ToolDone, Line: 9, ID: "t1", OK: true},
		{Kind: wire.File, Line: 9, Name: "/w/a.txt"},
		{Kind: wire.ToolDone, Line: 10, ID: "t2"},
	}
	r := New()
	var got []wire.Event
	for _, l := range lines {
		got = append(got, r.Observe([]byte(l), noon)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOpened: the same conversation is not opened anew by each turn.
func TestOpened(t *testing.T) {
	keyed := strings.Replace(initLine, `"none"`, `"ANTHROPIC_API_KEY"`, 1)
	other := strings.Replace(initLine, `"s"`, `"s2"`, 1)
	got := of(replay(New(), initLine, goodEnd, initLine, keyed, other), wire.Opened)
	want := []wire.Event{
		{Kind: wire.Opened, Line: 1, Conversation: "s", Model: "claude-sonnet-5-5"},
		{Kind: wire.Opened, Line: 4, Conversation: "s", Model: "claude-sonnet-5-5", Posture: paceline.PostureMetered},
		{Kind: wire.Opened, Line: 5, Conversation: "s2", Model: "claude-sonnet-5-5"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLooks(t *testing.T) {
	for name, want := range map[string]bool{"Read": true, "Grep": true, "Bash": false, "Write": false, "Task": false, "mcp__files__Read": false, "": false} {
		r := New()
		r.Expect("u")
		line := `{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"tool_use","id":"t","name":"` + name + `","input":{"a":1}}]}}`
		for _, e := range r.Observe([]byte(line), time.Time{}) {
			if e.Kind == wire.Tool && (e.OK != want || e.Detail != `{"a":1}`) {
				t.Errorf("Z42 %q can only look: %t, with %q", name, e.OK, e.Detail)
			}
		}
	}
}
