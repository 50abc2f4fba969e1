package codex

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

var at = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

const (
	opened  = `{"id":2,"result":{"thread":{"id":"T"}}}`
	begunAt = `{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U"}}}`
	limit   = `{"method":"error","params":{"error":{"message":"You’ve hit your usage limit. Try again at 8:36 AM.","codexErrorInfo":"usageLimitExceeded"},"willRetry":false,"threadId":"T","turnId":"U"}}`
	failed  = `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"failed","error":{"message":"You’ve hit your usage limit. Try again at 8:36 AM.","codexErrorInfo":"usageLimitExceeded"}}}}`
)

// follow reads lines of a connection whose turn has just begun.
func follow(lines ...string) (events []wire.Event, end *wire.Ending) {
	r := New(AppServer)
	r.Sent(ThreadStart(2, ThreadParams{}))
	r.Observe([]byte(opened), at)
	r.Sent(TurnStart(3, "T", "do it", "m"))
	for _, l := range append([]string{begunAt}, lines...) {
		events = append(events, r.Observe([]byte(l), at)...)
	}
	events = append(events, r.Close()...)
	for _, e := range events {
		if e.Kind == wire.Ended {
			end = e.Ending
		}
	}
	return events, end
}

func item(method, kind, rest string) string {
	return fmt.Sprintf(`{"method":%q,"params":{"threadId":"T","turnId":"U","item":{"type":%q,"id":"i"%s}}}`, method, kind, rest)
}

func TestWork(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  paceline.Work
	}{
		{"F3 our own message echoed is not work", []string{item("item/started", "userMessage", ""), item("item/completed", "userMessage", "")}, paceline.WorkNone},
		{"F3 compaction alone is not work", []string{item("item/completed", "contextCompaction", "")}, paceline.WorkNone},
		{"F3 reasoning is work", []string{item("item/started", "reasoning", "")}, paceline.WorkSome},
		{"F3 a delta of an answer is work", []string{`{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","delta":"I"}}`}, paceline.WorkSome},
		{"F3 a plan is work", []string{`{"method":"turn/plan/updated","params":{"threadId":"T","turnId":"U"}}`}, paceline.WorkSome},
		{"F3 F59 an item known only by its end is work", []string{item("item/completed", "commandExecution", `,"status":"completed"`)}, paceline.WorkSome},
		{"F3 F8 an approval request is work", []string{`{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"T","turnId":"U","command":"ls"}}`}, paceline.WorkSome},
		{"F50 an elicitation is work", []string{`{"id":0,"method":"mcpServer/elicitation/request","params":{"threadId":"T","turnId":"U"}}`}, paceline.WorkSome},
		{"F4 F59 a file change is work", []string{item("item/started", "fileChange", "")}, paceline.WorkSome},
		{"F5 work outlives a retry within the turn", []string{item("item/started", "reasoning", ""), `{"method":"error","params":{"error":{"message":"Reconnecting... 1/5","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}},"willRetry":true,"threadId":"T","turnId":"U"}}`}, paceline.WorkSome},
		{"F2 a child thread's work is its parent's", []string{`{"method":"item/started","params":{"threadId":"child","turnId":"V","item":{"type":"reasoning"}}}`}, paceline.WorkSome},
		{"F49 a hook of the prompt is not work", []string{`{"method":"hook/started","params":{"threadId":"T","turnId":"U","run":{"eventName":"userPromptSubmit"}}}`}, paceline.WorkNone},
		{"F49 a hook of a tool is work", []string{`{"method":"hook/started","params":{"threadId":"T","turnId":"U","run":{"eventName":"preToolUse"}}}`}, paceline.WorkSome},
		{"F49 a hook of an unknown name is work", []string{`{"method":"hook/completed","params":{"threadId":"T","turnId":"U","run":{"eventName":"fromTheFuture"}}}`}, paceline.WorkSome},
		{"P7 an unknown notification may be work", []string{`{"method":"turn/fromTheFuture","params":{}}`}, paceline.WorkUnknown},
		{"P7 garbage may be work", []string{"\x00\xff"}, paceline.WorkUnknown},
		{"P7 an unknown frame never hides work", []string{item("item/started", "reasoning", ""), "{"}, paceline.WorkSome},
		{"R11 a retry is not work", []string{`{"method":"error","params":{"error":{"message":"x","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":429}}},"willRetry":true,"threadId":"T","turnId":"U"}}`}, paceline.WorkNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, end := follow(append(tt.lines, limit, failed)...)
			if end.Failure.Work != tt.want || end.Failure.Cause != paceline.CauseUsageLimit {
				t.Errorf("work %s, cause %s; want work %s", end.Failure.Work, end.Failure.Cause, tt.want)
			}
			worked := 0
			for _, e := range events {
				if e.Kind == wire.Worked {
					worked++
				}
				if e.Kind == wire.Limited && e.Failure.Work != tt.want {
					t.Errorf("the early word says work %s", e.Failure.Work)
				}
			}
			if want := min(int(1), int(tt.want^paceline.WorkNone)); worked != want {
				t.Errorf("told of work %d times, want %d", worked, want)
			}
		})
	}
	t.Run("F2 a late item of an old turn is not the new turn's work", func(t *testing.T) {
		r := New(AppServer)
		r.Sent(TurnStart(3, "T", "one", "m"))
		var last *wire.Ending
		for _, l := range []string{
			begunAt, `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}`,
			`{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U2"}}}`,
			item("item/completed", "commandExecution", ""), // the old turn's
			strings.ReplaceAll(limit, `"U"`, `"U2"`), strings.ReplaceAll(failed, `"U"`, `"U2"`),
		} {
			for _, e := range r.Observe([]byte(l), at) {
				if e.Kind == wire.Ended {
					last = e.Ending
				}
			}
		}
		if last.Turn != 2 || last.Failure.Work != paceline.WorkNone {
			t.Errorf("turn %d, work %s", last.Turn, last.Failure.Work)
		}
	})
	t.Run("F2 a child thread's failure is not its parent's", func(t *testing.T) {
		_, end := follow(strings.ReplaceAll(strings.ReplaceAll(limit, `"T"`, `"child"`), `"U"`, `"V"`),
			strings.ReplaceAll(strings.ReplaceAll(failed, `"T"`, `"child"`), `"U"`, `"V"`),
			`{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}`)
		if end.Outcome != paceline.OutcomeCompleted {
			t.Errorf("%+v", end)
		}
	})
}

func TestClosedWindow(t *testing.T) {
	t.Run("F6 R14 bug-14 the stop names the window that is spent, not the purse beside it", func(t *testing.T) {
		purse := strings.NewReplacer("You’ve hit your usage limit. Try again at 8:36 AM.", "Your workspace is out of credits. Ask your workspace owner to refill in order to continue.")
		_, end := follow(`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":40,"windowDurationMins":300,"resetsAt":1796106633},"secondary":{"usedPercent":100,"windowDurationMins":10080,"resetsAt":1796441433}}}}`,
			purse.Replace(limit), purse.Replace(failed))
		f := end.Failure
		if f.Cause != paceline.CauseUsageLimit || f.Scope != "weekly" || f.Reset.At.Unix() != 1796441433 || f.Reset.Source != paceline.ResetStated {
			t.Errorf("%s %s %v", f.Cause, f.Scope, f.Reset)
		}
	})
}

func TestCauses(t *testing.T) {
	for _, tt := range []struct {
		name, info, text string
		want             paceline.Cause
	}{
		{"F6 a usage limit", `"usageLimitExceeded"`, "You’ve hit your usage limit.", paceline.CauseUsageLimit},
		{"F6 a workspace without credits", `"usageLimitExceeded"`, "Your workspace is out of credits.", paceline.CauseUsageLimit},
		{"F6 an empty purse under the same code", `"usageLimitExceeded"`, "Quota exceeded. Check your plan and billing details.", paceline.CauseBilling},
		{"F6 a plan without Codex", `"usageLimitExceeded"`, "To use Codex with your ChatGPT plan, upgrade to Plus: https://x", paceline.CauseBilling},
		{"F6 an exhausted 429 hides its cause", `{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`, "exceeded retry limit", paceline.CauseThrottle},
		{"F46 a rate limit passes", `"rateLimitExceeded"`, "rate limit exceeded: slow down", paceline.CauseThrottle},
		{"F6 a rejected refresh", `"unauthorized"`, "Please log out and sign in again.", paceline.CauseAuth},
		{"F6 a plain 401", `{"httpConnectionFailed":{"httpStatusCode":401}}`, "unexpected status 401", paceline.CauseAuth},
		{"F6 a 402", `{"httpConnectionFailed":{"httpStatusCode":402}}`, "unexpected status 402", paceline.CauseBilling},
		{"R11 a status outweighs every text", `{"httpConnectionFailed":{"httpStatusCode":503}}`, "429 Too Many Requests usage limit", paceline.CauseServer},
		{"R11 a text counts where no status came", `{"responseStreamDisconnected":{"httpStatusCode":null}}`, "last status: 429 Too Many Requests", paceline.CauseThrottle},
		{"F6 F14 a sharing cap whose code was lost", `"other"`, "stream disconnected before completion: subscription_sharing_usage_limit_exceeded", paceline.CauseUsageLimit},
		{"a cut stream", `"other"`, "stream disconnected before completion: stream closed", paceline.CauseTransport},
		{"no network", `{"httpConnectionFailed":{"httpStatusCode":null}}`, "Connection failed: error sending request", paceline.CauseTransport},
		{"an unknown model", `"modelNotFound"`, "no such model", paceline.CauseModel},
		{"a full context", `"contextWindowExceeded"`, "ran out of room", paceline.CauseContext},
		{"F9 overload", `"serverOverloaded"`, "Selected model is at capacity.", paceline.CauseServer},
		{"a missing key", `"other"`, "Missing environment variable: `X`.", paceline.CauseAuth},
		{"anything else", `"cyberPolicy"`, "no", paceline.CauseOther},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, end := follow(fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"failed","error":{"message":%q,"codexErrorInfo":%s}}}}`, tt.text, tt.info))
			if end.Failure.Cause != tt.want {
				t.Errorf("cause %s, want %s", end.Failure.Cause, tt.want)
			}
		})
	}
	t.Run("F6 the account's own limits settle a 429", func(t *testing.T) {
		hidden := paceline.Failure{Cause: paceline.CauseThrottle, Work: paceline.WorkNone}
		full := AccountFrom([]byte(`{"rateLimits":{"primary":{"usedPercent":100,"windowDurationMins":300,"resetsAt":1796099766}}}`))
		if got := Settle(hidden, full); got.Cause != paceline.CauseUsageLimit || got.Reset.Source != paceline.ResetStated || got.Scope != "five_hour" {
			t.Errorf("%+v", got)
		}
		free := AccountFrom([]byte(`{"rateLimits":{"primary":{"usedPercent":20,"windowDurationMins":300,"resetsAt":1796099766}}}`))
		if got := Settle(hidden, free); got.Cause != paceline.CauseThrottle {
			t.Errorf("%+v", got)
		}
	})
}

func TestRollout(t *testing.T) {
	const (
		start = `{"type":"event_msg","payload":{"type":"task_started"}}`
		mine  = `{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[{"type":"text","text":"do it"}]}}}`
		named = `{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","client_id":"m","content":[{"type":"text","text":"do it"}]}}}`
		other = `{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","client_id":"n","content":[{"type":"text","text":"another"}]}}}`
		end   = `{"type":"event_msg","payload":{"type":"task_complete","error":{"message":"You’ve hit your usage limit.","codex_error_info":"usage_limit_exceeded"}}}`
		call  = `{"type":"response_item","payload":{"type":"function_call"}}`
		done  = `{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"ok"}}`
	)
	for _, tt := range []struct {
		name      string
		lines     []string
		delivered bool
		outcome   paceline.Outcome
		work      paceline.Work
	}{
		{"F31 nothing there: never delivered", []string{`{"type":"session_meta"}`}, false, paceline.OutcomeIncomplete, 0},
		{"F31 Z82 our message and a limit: no work", []string{start, mine, end}, true, paceline.OutcomeFailed, paceline.WorkNone},
		{"P1 a call without an output may have run", []string{start, mine, call}, true, paceline.OutcomeIncomplete, paceline.WorkSome},
		{"P1 our message alone proves nothing", []string{start, mine}, true, paceline.OutcomeIncomplete, paceline.WorkUnknown},
		{"P1 an unknown row proves nothing", []string{start, mine, `{"type":"from_the_future"}`, end}, true, paceline.OutcomeFailed, paceline.WorkUnknown},
		{"F31 Z82 an answer is an answer", []string{start, mine, call, done}, true, paceline.OutcomeCompleted, paceline.WorkSome},
		{"F31 bug-29 with a turn of somebody else's after it nobody can say what came of it", []string{start, named, done, start, other, end}, true, paceline.OutcomeIncomplete, paceline.WorkUnknown},
		{"F31 an earlier message of the same words, without an id, is not this one", []string{start, mine, done, start, other, end}, false, paceline.OutcomeIncomplete, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := func(yield func([]byte) bool) {
				for _, l := range tt.lines {
					if !yield([]byte(l)) {
						return
					}
				}
			}
			delivered, got := ReadRollout(lines, "m", "do it", at)
			if delivered != tt.delivered || got.Outcome != tt.outcome || delivered && got.Failure.Work != tt.work {
				t.Errorf("delivered %t, %s, work %s", delivered, got.Outcome, got.Failure.Work)
			}
		})
	}
}

func FuzzObserve(f *testing.F) {
	for _, s := range []string{opened, begunAt, limit, failed, "{", "\x00", item("item/started", "reasoning", "")} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, form := range []Form{AppServer, Exec} {
			r := New(form)
			r.Observe(line, at)
			r.Observe([]byte(begunAt), at)
			r.Observe(line, at)
			r.Close()
		}
		ParseRPC(line)
		AccountFrom(line)
		ReadRollout(slices.Values([][]byte{line, []byte(begunAt), line}), "m", "text", at)
	})
}

func TestNeverUnseen(t *testing.T) {
	t.Run("F2 F5 work once seen is never unseen, in any order of frames", rapid.MakeCheck(func(t *rapid.T) {
		frames := []string{limit, item("item/started", "reasoning", ""), item("item/completed", "userMessage", ""), "{", `{"method":"x/y","params":{}}`, `{"method":"account/updated","params":{}}`}
		lines := rapid.SliceOf(rapid.SampledFrom(frames)).Draw(t, "lines")
		_, end := follow(append(slices.Clone(lines), failed)...)
		want := paceline.WorkNone
		for _, l := range lines {
			switch l {
			case frames[1]:
				want = paceline.WorkSome
			case frames[3], frames[4]:
				if want == paceline.WorkNone {
					want = paceline.WorkUnknown
				}
			}
		}
		if end.Failure.Work != want {
			t.Fatalf("work %s, want %s", end.Failure.Work, want)
		}
	}))
}

func BenchmarkObserve(b *testing.B) {
	raw, err := os.ReadFile("../../replay/testdata/codex/app-server/steer/transcript.jsonl")
	if err != nil {
		b.Skip(err)
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		r := New(AppServer)
		for line := range strings.Lines(string(raw)) {
			r.Observe([]byte(line), at)
		}
	}
}

func TestActive(t *testing.T) {
	const (
		child   = `{"method":"turn/started","params":{"threadId":"C","turn":{"id":"V"}}}`
		gone    = `{"method":"turn/completed","params":{"threadId":"C","turn":{"id":"V","status":"completed"}}}`
		another = `{"method":"turn/started","params":{"threadId":"C","turn":{"id":"W"}}}`
	)
	root, below := Active{"T", "U"}, Active{"C", "V"}
	for _, tt := range []struct {
		name  string
		lines []string
		want  []Active
	}{
		{"R13 the root's turn", nil, []Active{root}},
		{"R13 and its child's", []string{child}, []Active{root, below}},
		{"R13 once", []string{child, child}, []Active{root, below}},
		{"R13 until it ends", []string{child, gone, another}, []Active{root, {"C", "W"}}},
		{"R13 the root's may end before its child's", []string{child, failed}, []Active{below}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(AppServer)
			r.Sent(ThreadStart(2, ThreadParams{}))
			r.Observe([]byte(opened), at)
			r.Sent(TurnStart(3, "T", "do it", "m"))
			for _, l := range append([]string{begunAt}, tt.lines...) {
				r.Observe([]byte(l), at)
			}
			if got := r.Active(); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	t.Run("R16 what a child waits for, its parent waits for", func(t *testing.T) {
		events, _ := follow(child, `{"method":"error","params":{"error":{"message":"Reconnecting... 1/5","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":429}}},"willRetry":true,"threadId":"C","turnId":"V"}}`)
		if !slices.ContainsFunc(events, func(e wire.Event) bool { return e.Kind == wire.Retrying && e.Cause == paceline.CauseThrottle }) {
			t.Errorf("%+v", events)
		}
	})
}

func TestWent(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		want       bool
	}{
		{"R9 a delta", `{"method":"item/reasoning/textDelta","params":{"threadId":"T","turnId":"U","delta":"."}}`, true},
		{"R21 a compaction", item("item/started", "contextCompaction", ""), true},
		{"R22 a message of ours", item("item/completed", "userMessage", ""), true},
		{"R22 what a subagent does", `{"method":"item/started","params":{"threadId":"C","turnId":"V","item":{"type":"commandExecution","id":"j"}}}`, true},
		{"R2 a notice of a retry is not", `{"method":"error","params":{"error":{"message":"Reconnecting... 1/5","codexErrorInfo":"other"},"willRetry":true,"threadId":"T","turnId":"U"}}`, false},
		{"R9 nor is chatter", `{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"active"}}}`, false},
		{"R9 nor a warning", `{"method":"warning","params":{"threadId":"T","message":"x"}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New(AppServer)
			r.Sent(ThreadStart(2, ThreadParams{}))
			r.Observe([]byte(opened), at)
			r.Sent(TurnStart(3, "T", "do it", "m"))
			r.Observe([]byte(begunAt), at)
			r.Observe([]byte(tt.line), at)
			if got := r.Went() == 3; got != tt.want {
				t.Errorf("%t, line %d", got, r.Went())
			}
		})
	}
}
