package claude

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

func read(uuid string, rows ...string) (bool, wire.Ending) {
	lines := make([][]byte, len(rows))
	for i, r := range rows {
		lines[i] = []byte(r)
	}
	return ReadTranscript(slices.Values(lines), uuid, noon)
}

func prompt(uuid string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"promptSource":"sdk","message":{"role":"user","content":[{"type":"text","text":"do it"}]}}`, uuid)
}

func withPrompt(row, id string) string {
	return strings.Replace(row, `{"type"`, fmt.Sprintf(`{"promptId":%q,"type"`, id), 1)
}

func said(stop, id, blocks string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"m","stop_reason":%q,"content":[%s]}}`, id, stop, blocks)
}

const (
	callBlock = `{"type":"tool_use","id":"t1","name":"Bash","input":{}}`
	resultRow = `{"type":"user","uuid":"x","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`
	limitRow  = `{"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","apiError":"usage_limit_reached","apiErrorStatus":429,"apiErrorType":"rate_limit_error","quotaLimits":{"status":"rejected","resetsAt":1796106633,"rateLimitType":"five_hour"},"failedResponseHadNoToolCall":true,"message":{"id":"f","model":"<synthetic>","stop_reason":"stop_sequence","content":[{"type":"text","text":"You've hit your 5-hour limit"}]}}`
	limitRead = "turn 1 failed: work none, usage_limit (usage_limit_reached), retryable, five_hour lifts 2026-12-01 06:30:33 (stated)"
)

func textBlock(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func attached(typ string) string {
	return fmt.Sprintf(`{"type":"attachment","attachment":{"type":%q}}`, typ)
}

func TestTranscript(t *testing.T) {
	retry := `{"type":"system","subtype":"api_error","error":{"message":"Connection error."},"retryAttempt":1}`
	some := strings.Replace(limitRead, "work none", "work some", 1)
	unknown := strings.Replace(limitRead, "work none", "work unknown", 1)
	for _, c := range []struct {
		name string
		rows []string
		want string // "" is not delivered
	}{
		{"a message that is not in it was not delivered", []string{prompt("u2"), limitRow}, ""},
		{"an empty transcript", nil, ""},
		{"F2 nothing but our message and the failure is no work", []string{prompt("u1"), limitRow}, limitRead},
		{"F2 harmless rows are no work", []string{prompt("u1"), attached("environment"), `{"type":"atis-latch","atis":""}`, `{"type":"api-request-blob","message":"x"}`, retry, limitRow, `{"type":"last-prompt","lastPrompt":"do it"}`, `{"type":"cost-state"}`}, limitRead},
		{"F2 what an earlier message did is not ours", []string{prompt("u0"), said("end_turn", "m", textBlock("x")), prompt("u1"), limitRow}, strings.Replace(limitRead, "turn 1", "turn 2", 1)},
		{"F2 a tool call is work", []string{prompt("u1"), said("tool_use", "m", callBlock), resultRow, limitRow}, some},
		{"F2 a text is work", []string{prompt("u1"), said("max_tokens", "m", textBlock("x")), limitRow}, some},
		{"F2 a tool's result is work", []string{prompt("u1"), resultRow, limitRow}, some},
		{"F2 a subagent's row is work", []string{prompt("u1"), `{"type":"user","isSidechain":true,"message":{"content":"x"}}`, limitRow}, some},
		{"F2 any row of a subagent is work", []string{prompt("u1"), strings.Replace(attached("date"), `{"type"`, `{"isSidechain":true,"type"`, 1), limitRow}, some},
		{"F2 used tools are work", []string{prompt("u1"), `{"type":"tools-used","tools":["Write"]}`, limitRow}, some},
		{"F2 a failed response that had a tool call is work", []string{prompt("u1"), strings.Replace(limitRow, `ToolCall":true`, `ToolCall":false`, 1)}, some},
		{"F2 a steer that was taken in is work", []string{prompt("u0"), `{"type":"queue-operation","operation":"remove","reason":"absorbed_mid_turn","commandUuid":"u1"}`, limitRow}, some},
		{"F2 another message that was taken in is in doubt", []string{prompt("u1"), `{"type":"queue-operation","operation":"remove","reason":"absorbed_mid_turn","commandUuid":"u2"}`, limitRow}, unknown},
		{"F2 an unknown row is in doubt", []string{prompt("u1"), `{"type":"telepathy"}`, limitRow}, unknown},
		{"F2 an unknown attachment is in doubt", []string{prompt("u1"), attached("queued_command"), limitRow}, unknown},
		{"F2 half a row is in doubt", []string{prompt("u1"), limitRow[:40], limitRow}, unknown},
		{"F2 a Stop hook's row is in doubt", []string{prompt("u1"), `{"type":"system","subtype":"stop_hook_summary"}`, limitRow}, unknown},
		{"F2 a row after the failure counts too", []string{prompt("u1"), limitRow, `{"type":"telepathy"}`}, unknown},
		{"a conversation that went on is in doubt", []string{prompt("u1"), limitRow, prompt("u2"), said("end_turn", "m", textBlock("x"))}, unknown},
		{"a command of the program's own after the answer is another prompt", []string{withPrompt(prompt("u1"), "p1"), said("end_turn", "m", textBlock("x")), withPrompt(`{"type":"user","isMeta":true,"message":{"content":"<local-command-caveat>"}}`, "p2")}, `turn 1 completed: work some, answer "x"`},
		{"a second row of our message changes nothing", []string{prompt("u1"), prompt("u1"), limitRow}, limitRead},
		{"F2 nor does it forget the work", []string{prompt("u1"), said("max_tokens", "m", textBlock("x")), prompt("u1"), limitRow}, some},
		{"a message that was taken back was not delivered", []string{prompt("u0"), `{"type":"queue-operation","operation":"remove","reason":"cancelled","commandUuid":"u1"}`, limitRow}, ""},
		{"a turn that recovered from a failure has not failed", []string{prompt("u1"), limitRow, said("end_turn", "m", textBlock("x"))}, `turn 1 completed: work some, answer "x"`},
		{"a finished answer", []string{prompt("u1"), said("tool_use", "m", callBlock), resultRow, said("end_turn", "m2", `{"type":"thinking"}`), said("end_turn", "m2", textBlock("all ")), said("end_turn", "m2", textBlock("done")), `{"type":"cost-state"}`}, `turn 1 completed: work some, answer "all done"`},
		{"a thought without its answer is not finished", []string{prompt("u1"), said("end_turn", "m", `{"type":"thinking"}`)}, "turn 1 incomplete: work some"},
		{"an answer beside an open call is not finished", []string{prompt("u1"), said("tool_use", "m", callBlock), said("end_turn", "m2", textBlock("x"))}, "turn 1 incomplete: work some"},
		{"an answer that a Stop hook sent back is not finished", []string{prompt("u1"), said("end_turn", "m", textBlock("x")), `{"type":"user","isMeta":true,"message":{"content":"Stop hook feedback"}}`}, "turn 1 incomplete: work some"},
		{"an open call is not finished", []string{prompt("u1"), said("tool_use", "m", callBlock)}, "turn 1 incomplete: work some"},
		{"F2 our message alone proves nothing: its answer may have been lost half-way", []string{prompt("u1"), attached("date")}, "turn 1 incomplete: work unknown"},
		{"P7 a model that writes like a failure has not failed", []string{prompt("u1"), said("end_turn", "m", textBlock("You've hit your 5-hour limit"))}, `turn 1 completed: work some, answer "You've hit your 5-hour limit"`},
		{"P7 a failed call in a model's name is none", []string{prompt("u1"), strings.Replace(limitRow, "<synthetic>", "m", 1)}, "turn 1 incomplete: work some"},
	} {
		t.Run(c.name, func(t *testing.T) {
			delivered, end := read("u1", c.rows...)
			got, _, _ := strings.Cut(verdict(end), `, notice "You've hit`)
			switch {
			case delivered != (c.want != ""):
				t.Fatalf("delivered: %t", delivered)
			case delivered && got != c.want:
				t.Errorf("got  %s\nwant %s", got, c.want)
			case delivered && len(end.Failure.Evidence) == 0:
				t.Error("a verdict without evidence")
			}
		})
	}
	if delivered, _ := read("", prompt("")); delivered {
		t.Error("a message without a name is found in every transcript")
	}
}

// TestTranscriptReplay reads recorded transcripts for each prompt in them.
func TestTranscriptReplay(t *testing.T) {
	files, _ := filepath.Glob("testdata/transcripts/*.jsonl")
	if len(files) < 15 {
		t.Fatalf("only %d transcripts", len(files))
	}
	var b bytes.Buffer
	for _, file := range files {
		fmt.Fprintln(&b, strings.TrimSuffix(filepath.Base(file), ".jsonl"))
		rows := recorded(t, file)
		for _, uuid := range prompts(rows) {
			delivered, end := read(uuid, rows...)
			if !delivered {
				t.Errorf("%s: %s is not found", file, uuid)
			}
			fmt.Fprintf(&b, "  %s\n", verdict(end))
			for _, ev := range end.Failure.Evidence {
				fmt.Fprintf(&b, "        %d %s\n", ev.Line, spotted(ev))
			}
		}
	}
	golden(t, "testdata/transcripts.txt", b.Bytes())
}

func prompts(rows []string) []string {
	var out []string
	for _, r := range rows {
		if gjson.Get(r, "type").Str == "user" && gjson.Get(r, "promptSource").Exists() {
			out = append(out, gjson.Get(r, "uuid").Str)
		}
		if gjson.Get(r, "reason").Str == "absorbed_mid_turn" {
			out = append(out, gjson.Get(r, "commandUuid").Str)
		}
	}
	return out
}

// TestTranscriptsAgree holds the two readings of one run against each other:
// what the stream saw as work, a transcript may only call none where the text
// was thrown away; and it never names another cause.
func TestTranscriptsAgree(t *testing.T) {
	const shared = "../../../../shared/fixtures/claude"
	files, _ := filepath.Glob(shared + "/*/transcript.jsonl")
	if len(files) == 0 {
		t.Skip("the full set of recordings is not beside this checkout")
	}
	thrownAway := map[string]bool{"net-reset-mid-text": true, "net-reset-mid-text-default": true, "limit-mid-stream": true}
	compared := 0
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		streams, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "stdout.jsonl"))
		rows := recorded(t, file)
		uuids := prompts(rows)
		if len(streams) != 1 || len(uuids) == 0 {
			continue
		}
		ends := endings(replay(New(), recorded(t, streams[0])...))
		for _, end := range ends {
			if !slices.Contains(uuids, end.Native) || end.Outcome != paceline.OutcomeFailed {
				continue
			}
			_, disk := read(end.Native, rows...)
			if disk.Outcome == paceline.OutcomeIncomplete { // no row of its own: max_turns
				continue
			}
			compared++
			if disk.Failure.Cause != end.Failure.Cause {
				t.Errorf("%s: the stream says %s\nthe disk says %s", name, verdict(end), verdict(disk))
			}
			if end.Failure.Work != paceline.WorkNone && disk.Failure.Work == paceline.WorkNone && !thrownAway[name] {
				t.Errorf("%s: the stream saw work %s, the disk none", name, end.Failure.Work)
			}
		}
	}
	if compared < 30 {
		t.Errorf("only %d failures compared", compared)
	}
}
