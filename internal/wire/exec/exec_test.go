package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// follow reads a process: lines that begin with "! " are of its standard error.
func follow(program string, code int, lines ...string) (end wire.Ending, events []wire.Event) {
	r := New(program)
	for _, l := range lines {
		if e, ok := strings.CutPrefix(l, "! "); ok {
			events = append(events, r.Stderr([]byte(e), time.Time{})...)
			continue
		}
		events = append(events, r.Observe([]byte(l), time.Time{})...)
	}
	events = append(events, r.Exit(code)...)
	events = append(events, r.Close()...)
	for _, e := range events {
		if e.Kind == wire.Ended {
			end = *e.Ending
		}
	}
	return end, events
}

const (
	geminiUser  = `{"type":"message","role":"user","content":"x"}`
	geminiSays  = `{"type":"message","role":"assistant","content":"hi","delta":true}`
	geminiLimit = `{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: You have exhausted your daily quota on this model.]\nPlease wait"},"stats":{"tool_calls":0}}`
	future      = `{"type":"from_the_future"}`
)

func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		name, program string
		code          int
		lines         []string
		want          string // outcome cause code work
	}{
		{"F6 a daily quota", "gemini", 173, []string{geminiUser, geminiLimit}, "failed usage_limit  none"},
		{"F2 a limit after an answer", "gemini", 173, []string{geminiUser, geminiSays, geminiLimit}, "failed usage_limit  some"},
		{"F2 its own count of calls is a second witness", "gemini", 173, []string{geminiUser, strings.Replace(geminiLimit, `"tool_calls":0`, `"tool_calls":1`, 1)}, "failed usage_limit  some"},
		{"F6 the exit code is the HTTP status modulo 256, and says nothing of work", "gemini", 173, nil, "failed throttle 429 unknown"},
		{"F6 exit 41 is a sign-out", "gemini", 41, []string{"! Please set an Auth method"}, "failed auth exit 41 none"},
		{"P1 killed: no end, no proof", "gemini", 137, []string{geminiUser}, "incomplete unknown  unknown"},
		{"P7 an unknown frame makes work unknown", "gemini", 173, []string{geminiUser, future, geminiLimit}, "failed usage_limit  unknown"},
		{"F6 a body inside the notice", "gemini", 145, []string{`{"type":"result","status":"error","error":{"message":"[API Error: {\"error\":{\"code\":401,\"status\":\"UNAUTHENTICATED\",\"message\":\"x\"}}]"}}`}, "failed auth UNAUTHENTICATED none"},
		{"F6 an empty purse", "opencode", 1, []string{`{"type":"error","error":{"name":"APIError","data":{"message":"Insufficient Balance","statusCode":402}}}`}, "failed billing 402 none"},
		{"R11 an overload", "opencode", 1, []string{`{"type":"error","error":{"name":"APIError","data":{"message":"x","statusCode":529}}}`}, "failed server 529 none"},
		{"P1 a crash without a word may have run a tool", "opencode", 1, nil, "failed other exit 1 unknown"},
		{"F67 the log tells why nothing comes", "opencode", -1, []string{`! level=ERROR message="stream error" small=false agent=build error.error="AI_APICallError: rate limit exceeded"`}, "incomplete throttle  unknown"},
		{"F67 a title that fails is not the turn", "opencode", -1, []string{`! level=ERROR message="stream error" small=true agent=title error.error="AI_APICallError: rate limit exceeded"`}, "incomplete unknown  unknown"},
		{"F2 a failure said as the model's text is no work", "qwen", 1, []string{`{"type":"assistant","message":{"content":[{"type":"text","text":"[API Error: 401 no]"}]}}`, `{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 401 no]"}}`}, "failed auth 401 none"},
		{"F2 another text is", "qwen", 1, []string{`{"type":"assistant","message":{"content":[{"type":"text","text":"[API Error: 500 is what it printed"}]}}`, `{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 401 no]"}}`}, "failed auth 401 some"},
		{"F67 success with is_error is none", "qwen", 1, []string{`{"type":"result","subtype":"success","is_error":true,"error":{"message":"[API Error: 503 x]"}}`}, "failed server 503 none"},
		{"F6 no quota is a limit, though it is a 402", "copilot", 1, []string{`! ✘ Execution failed: 402 {"error":{"message":"You have no quota","code":"quota_exceeded"}}`}, "failed usage_limit quota_exceeded unknown"},
		{"F6 signed out", "copilot", 1, []string{"! Error: No authentication information found."}, "failed auth exit 1 none"},
		{"F6 signed out", "grok", 1, []string{`{"type":"error","message":"Not signed in. To authenticate, run: grok login"}`}, "failed auth  none"},
		{"F6 signed out", "kimi", 1, []string{`{"role":"meta","type":"system.version","version":"2"}`, "! error: failed to run prompt: No model configured. Run `kimi` and use /login to sign in"}, "failed auth exit 1 none"},
		{"F6 a weekly limit sent as 403", "kimi", 1, []string{`{"type":"error","message":"{\"error\":{\"code\":403,\"message\":\"You've reached your weekly (7-day) usage limit.\",\"type\":\"access_terminated_error\"}}"}`}, "failed usage_limit access_terminated_error none"},
		{"F6 no key", "pi", 1, []string{`{"type":"session","id":"i"}`, "! No API key found for the selected model."}, "failed auth exit 1 none"},
		{"P7 frames that were never measured prove nothing", "pi", 1, []string{future, "! No API key found for the selected model."}, "failed auth exit 1 unknown"},
	} {
		t.Run(tt.program+" "+tt.name, func(t *testing.T) {
			e, _ := follow(tt.program, tt.code, tt.lines...)
			if got := fmt.Sprintf("%s %s %s %s", e.Outcome, e.Failure.Cause, e.Failure.Code, e.Failure.Work); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestPrefixes cuts every recording at every line, and its program's life there.
func TestPrefixes(t *testing.T) {
	seen := 0
	for program := range programs {
		files, _ := filepath.Glob("../../replay/testdata/other/" + program + "/*/stdout")
		for _, f := range files {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			lines := strings.SplitAfter(strings.TrimSpace(string(raw)), "\n")
			for n := range lines {
				for _, code := range []int{0, -1, 143} {
					e, _ := follow(program, code, lines[:n]...)
					if e.Outcome == paceline.OutcomeCompleted || e.Failure.Work == paceline.WorkNone {
						t.Errorf("P1 %s cut after %d lines, exit %d: %s, work %s", f, n, code, e.Outcome, e.Failure.Work)
					}
				}
			}
		}
	}
	if seen < 15 {
		t.Fatalf("only %d recordings", seen)
	}
}

func TestUnknownFrames(t *testing.T) {
	t.Run("P7 no program's unknown frame leaves a proof of no work", rapid.MakeCheck(func(t *rapid.T) {
		program := rapid.SampledFrom([]string{"gemini", "opencode", "qwen", "copilot", "grok", "kimi", "pi"}).Draw(t, "program")
		line := rapid.SampledFrom([]string{future, "{", "\x00", "[]", `{"type":7}`}).Draw(t, "line")
		e, _ := follow(program, rapid.IntRange(-1, 255).Draw(t, "code"), line)
		if e.Failure.Work == paceline.WorkNone || e.Outcome == paceline.OutcomeCompleted {
			t.Fatalf("%s: %s, work %s", program, e.Outcome, e.Failure.Work)
		}
	}))
}

func FuzzObserve(f *testing.F) {
	for _, s := range []string{geminiUser, geminiSays, geminiLimit, future, "{", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for program := range programs {
			r := New(program)
			r.Stderr(line, time.Time{})
			r.Observe(line, time.Time{})
			r.Observe(line, time.Time{})
			r.Exit(1)
			r.Close()
		}
	})
}
