package acp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

const (
	start   = `> {"id":1,"method":"session/new","params":{}}`
	started = `{"id":1,"result":{"sessionId":"s"}}`
	prompt  = `> {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}`
	cancel  = `> {"method":"session/cancel","params":{"sessionId":"s"}}`
	done    = `{"id":2,"result":{"stopReason":"end_turn"}}`
	stopped = `{"id":2,"result":{"stopReason":"cancelled"}}`
	limit   = `{"id":2,"error":{"code":-32603,"message":"Internal error: You've hit your usage limit. Try later.","data":{"codexErrorInfo":"usageLimitExceeded"}}}`
	call    = `{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"t","kind":"execute","status":"pending"}}}`
	ask     = `{"id":2,"method":"session/request_permission","params":{"toolCall":{"kind":"execute","title":"ls"}}}`
	future  = `{"method":"session/update","params":{"update":{"sessionUpdate":"from_the_future"}}}`
	usage   = `{"method":"session/update","params":{"update":{"sessionUpdate":"usage_update","used":0}}}`
)

func chunk(text string) string {
	return fmt.Sprintf(`{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`, text)
}

// follow reads a connection: lines that begin with "> " are ours.
func follow(agent string, lines ...string) (ends []wire.Ending) {
	r := New(agent)
	var events []wire.Event
	for _, l := range lines {
		if own, ok := strings.CutPrefix(l, "> "); ok {
			r.Sent([]byte(own))
			continue
		}
		events = append(events, r.Observe([]byte(l), time.Time{})...)
	}
	for _, e := range append(events, r.Close()...) {
		if e.Kind == wire.Ended {
			ends = append(ends, *e.Ending)
		}
	}
	return ends
}

func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		name, agent string
		lines       []string
		want        string // outcome cause code work, a turn each
	}{
		{"F67 an answer", "", []string{start, started, prompt, chunk("hi"), done}, "completed unknown  some"},
		{"F67 the agent's side alone", "", []string{chunk("hi"), done}, "completed unknown  some"},
		{"F6 a limit, printed as the model's text first", "codex-acp", []string{prompt, chunk("You've hit your usage limit."), limit}, "failed usage_limit usageLimitExceeded none"},
		{"F2 a text that the notice does not hold is an answer", "codex-acp", []string{prompt, chunk("I will list the files."), limit}, "failed usage_limit usageLimitExceeded some"},
		{"F2 a first word that the notice holds too is an answer", "codex-acp", []string{prompt, chunk("You"), limit}, "failed usage_limit usageLimitExceeded some"},
		{"F2 a warning that has a message's id is its model's", "codex-acp", []string{prompt, strings.Replace(chunk("Warning: x"), `"content"`, `"messageId":"m","content"`, 1), limit}, "failed usage_limit usageLimitExceeded some"},
		{"F6 a warning of Codex is not its model's", "codex-acp", []string{prompt, chunk("Warning: x"), limit}, "failed usage_limit usageLimitExceeded none"},
		{"F2 what is a warning elsewhere is an answer", "gemini-acp", []string{prompt, chunk("Warning: x"), limit}, "failed usage_limit usageLimitExceeded some"},
		{"F3 a request for permission is work, with our own id", "", []string{prompt, ask, limit}, "failed usage_limit usageLimitExceeded some"},
		{"F2 a tool call is work", "", []string{prompt, call, limit}, "failed usage_limit usageLimitExceeded some"},
		{"F2 usage is no work", "", []string{prompt, usage, limit}, "failed usage_limit usageLimitExceeded none"},
		{"P7 an unknown update makes work unknown", "", []string{prompt, future, limit}, "failed usage_limit usageLimitExceeded unknown"},
		{"P7 an unknown request makes work unknown", "", []string{prompt, `{"id":9,"method":"x/y"}`, limit}, "failed usage_limit usageLimitExceeded unknown"},
		{"F6 signed out at the session: no prompt was sent", "", []string{start, `{"id":1,"error":{"code":-32000,"message":"Authentication required"}}`}, "failed auth -32000 none"},
		{"F6 signed out at the prompt", "", []string{prompt, `{"id":2,"error":{"code":-32000,"message":"Authentication required"}}`}, "failed auth -32000 none"},
		{"F6 an HTTP status as the code", "gemini-acp", []string{prompt, `{"id":2,"error":{"code":429,"message":"You have exhausted your daily quota on this model."}}`}, "failed usage_limit 429 none"},
		{"F6 a 429 whose cause is not told", "claude-agent-acp", []string{prompt, `{"id":2,"error":{"code":-32603,"message":"Internal error: API Error","data":{"errorKind":"rate_limit"}}}`}, "failed throttle rate_limit none"},
		{"F67 an end without a word is no answer", "opencode-acp", []string{prompt, usage, done}, "failed other empty none"},
		{"F67 an end that we asked for is a stop", "opencode-acp", []string{prompt, cancel, usage, done}, "interrupted stopped  none"},
		{"F67 a refusal is no answer", "", []string{prompt, chunk("no"), `{"id":2,"result":{"stopReason":"refusal"}}`}, "failed other refusal some"},
		{"P7 an unknown stop reason is no answer", "", []string{prompt, `{"id":2,"result":{"stopReason":"from_the_future"}}`}, "incomplete unknown  unknown"},
		{"F5 what session/load replays is no turn", "", []string{prompt, chunk("hi"), done, `> {"id":3,"method":"session/load"}`, call, chunk("hi"), `{"id":3,"error":{"code":-32603,"message":"x"}}`}, "completed unknown  some"},
		{"P1 a stream that stops proves nothing", "", []string{prompt}, "incomplete unknown  unknown"},
		{"P1 held text that nothing explains is work", "", []string{prompt, chunk("You've hit your usage limit.")}, "incomplete unknown  some"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range follow(tt.agent, tt.lines...) {
				got = append(got, fmt.Sprintf("%s %s %s %s", e.Outcome, e.Failure.Cause, e.Failure.Code, e.Failure.Work))
			}
			if s := strings.Join(got, "; "); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
		})
	}
}

// TestPrefixes cuts every recording before the answer to its prompt.
func TestPrefixes(t *testing.T) {
	files, _ := filepath.Glob("../../replay/testdata/other/*-acp/*/rpc.jsonl")
	if len(files) < 8 {
		t.Fatalf("only %d recordings", len(files))
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for l := range strings.Lines(string(raw)) {
			msg := gjson.Get(l, "msg").Raw
			switch gjson.Get(l, "dir").String() {
			case "c>a":
				msg = "> " + msg
			case "a>c":
			default:
				continue
			}
			if gjson.Get(l, "msg.result.stopReason").Exists() || gjson.Get(l, "msg.error").Exists() {
				break
			}
			for _, e := range follow("", lines...) {
				if e.Outcome == paceline.OutcomeCompleted || e.Failure.Work == paceline.WorkNone {
					t.Errorf("P1 %s cut after %d lines: %s, work %s", f, len(lines), e.Outcome, e.Failure.Work)
				}
			}
			lines = append(lines, msg)
		}
	}
}

func TestNeverUnseen(t *testing.T) {
	t.Run("F2 F5 P7 work once seen is never unseen, and an unknown frame leaves no proof", rapid.MakeCheck(func(t *rapid.T) {
		frames := []string{call, ask, usage, future, "{", chunk("You've hit your usage limit."), chunk("an answer")}
		lines := rapid.SliceOfN(rapid.SampledFrom(frames), 0, 6).Draw(t, "lines")
		ends := follow("", append(append([]string{prompt}, lines...), limit)...)
		want, text := paceline.WorkNone, ""
		for _, l := range lines {
			switch l {
			case call, ask:
				want = paceline.WorkSome
			case future, "{":
				if want == paceline.WorkNone {
					want = paceline.WorkUnknown
				}
			case usage:
			default:
				text += gjson.Get(l, "params.update.content.text").String()
			}
		}
		if text != "" && text != "You've hit your usage limit." {
			want = paceline.WorkSome
		}
		if got := ends[0].Failure.Work; got != want {
			t.Fatalf("work %s, want %s", got, want)
		}
	}))
}

func FuzzObserve(f *testing.F) {
	for _, s := range []string{started, done, limit, call, ask, future, usage, chunk("x"), "{", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, first := range []string{start, prompt} {
			r := New("codex-acp")
			r.Observe(line, time.Time{})
			r.Sent([]byte(first[2:]))
			r.Observe(line, time.Time{})
			r.Sent(line)
			r.Observe(line, time.Time{})
			r.Close()
		}
	})
}
