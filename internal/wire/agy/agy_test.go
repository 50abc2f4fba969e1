package agy

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

const (
	opened  = `{"event":"init","conversation_id":"c","init":{"cwd":"/p"}}`
	mine    = `{"event":"step_update","step_update":{"step_index":0,"state":"DONE","step_type":"user_input"}}`
	answer  = `{"event":"step_update","step_update":{"step_index":1,"state":"DONE","step_type":"agent_response","text_delta":"hi"}}`
	partial = `{"event":"step_update","step_update":{"step_index":1,"state":"ACTIVE","step_type":"agent_response","text_delta":"h"}}`
	errored = `{"event":"step_update","step_update":{"step_index":1,"state":"DONE","step_type":"error_message"}}`
	ok      = `{"event":"result","result":{"conversation_id":"c","status":"SUCCESS","response":"hi"}}`
	limit   = `{"event":"result","result":{"conversation_id":"c","status":"ERROR","error":"Individual quota reached. Resets in 2h."}}`
	refused = `{"event":"result","result":{"conversation_id":"","status":"ERROR","error":"authentication failed or timed out"}}`
	silent  = `{"event":"step_update","step_update":{"step_index":2,"state":"DONE","step_type":"tool","tool_info":{"name":"run_command","parameters":{"CommandLine":"ls"}}}}`
	resumed = `{"event":"step_update","step_update":{"step_index":1,"state":"DONE","step_type":"system_message"}}`
	helper  = `{"event":"step_update","step_update":{"step_index":1,"state":"DONE","step_type":"subagent"}}`
	broken  = `{"event":"result","result":{"conversation_id":"c","status":"ERROR","response":"par","error":"interrupted"}}`
	denied  = `{"event":"result","result":{"status":"SUCCESS","response":"","denied_actions":[{"action":"command"}]}}`
	future  = `{"event":"from_the_future"}`
)

// follow reads a process: lines that begin with "! " are of its standard error,
// with "# " of its log.
func follow(code int, lines ...string) (ends []wire.Ending, events []wire.Event) {
	r := New()
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "! "):
			events = append(events, r.Stderr([]byte(l[2:]), time.Time{})...)
		case strings.HasPrefix(l, "# "):
			r.Log([]byte(l[2:]), time.Time{})
		default:
			events = append(events, r.Observe([]byte(l), time.Time{})...)
		}
	}
	events = append(events, r.Exit(code)...)
	events = append(events, r.Close()...)
	for _, e := range events {
		if e.Kind == wire.Ended {
			ends = append(ends, *e.Ending)
		}
	}
	return ends, events
}

func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		name  string
		code  int
		lines []string
		want  string // outcome cause code work, a turn each
	}{
		{"F67 an answer", 0, []string{opened, mine, answer, ok}, "completed unknown  some"},
		{"F67 an error stays in the conversation's status, and is not the next turn's", 0, []string{opened, mine, errored, limit, mine, answer, limit}, "failed usage_limit  none; completed unknown  some"},
		{"F67 the same error anew is this turn's", 3, []string{opened, mine, errored, limit, mine, errored, limit}, "failed usage_limit  none; failed usage_limit  none"},
		{"F67 a print timeout is no success", 0, []string{opened, mine, answer, "! [agy] print timeout after 4s with turn in progress; returning partial output", ok}, "incomplete other print_timeout some"},
		{"F67 a step that never ended is no success", 0, []string{opened, mine, partial, ok}, "incomplete other print_timeout some"},
		{"F67 a denied permission is no success", 0, []string{opened, mine, silent, denied}, "failed other denied some"},
		{"F67 one that is denied for the second time is listed as before", 0, []string{opened, mine, silent, denied, mine, silent, denied}, "failed other denied some; failed other denied some"},
		{"F67 a resumed conversation whose status repeats an error of its former process", 0, []string{opened, mine, resumed, answer, limit}, "completed unknown  some"},
		{"F2 being told that it was resumed is no work", 3, []string{opened, mine, resumed, errored, limit}, "failed usage_limit  none"},
		{"F2 what a helper of its own does is not shown, and is work", 3, []string{opened, mine, helper, errored, limit}, "failed usage_limit  some"},
		{"F67 a turn that was interrupted", 1, []string{opened, mine, partial, broken}, "interrupted stopped  some"},
		{"F6 why it failed is said after its result", 3, []string{opened, mine, errored, limit, `! AGY_ERROR: {"short_error":"No capacity available","status":"UNAVAILABLE","error_code":503,"code_kind":"http"}`}, "failed server UNAVAILABLE none"},
		{"F6 so is who is signed out", 1, []string{refused, "! error: authentication failed or timed out", `# token refresh failed: oauth2: "invalid_grant"`}, "failed auth signed_out none"},
		{"F67 a success of nothing is none", 0, []string{opened, mine, ok}, "incomplete unknown empty unknown"},
		{"F67 denials add up: the next turn's own count", 0, []string{opened, mine, silent, denied, mine, silent, answer, denied}, "failed other denied some; completed unknown  some"},
		{"F67 an unknown conversation is a new one", 0, []string{`! warning: conversation "x" not found`, opened, mine, answer, ok}, "completed unknown new_conversation some"},
		{"F6 signed out and offline are the same words", 1, []string{"! error: authentication failed or timed out", refused}, "failed other signed_out_or_offline none"},
		{"F6 the log proves a sign-out", 1, []string{`# token refresh failed: oauth2: "invalid_grant"`, refused}, "failed auth signed_out none"},
		{"F6 the log proves a dead route", 1, []string{"# token refresh failed due to network error: x", refused}, "failed transport offline none"},
		{"F6 a background fetch's 429 is no limit", 0, []string{"# Cache(userInfo): Singleflight refresh failed: RESOURCE_EXHAUSTED (429)", opened, mine, answer, ok}, "completed unknown  some"},
		{"F67 up to 1.0 a limit is in the log alone, behind exit 0", 0, []string{"# E log.go:398] agent executor error: model unreachable: RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h"}, "failed usage_limit  unknown"},
		{"F6 retryable is not believed of a quota", 3, []string{`! AGY_ERROR: {"short_error":"RESOURCE_EXHAUSTED (code 429): Individual quota reached.","status":"RESOURCE_EXHAUSTED","error_code":429,"code_kind":"http","retryable":true}`, opened, mine, errored, limit}, "failed usage_limit RESOURCE_EXHAUSTED none"},
		{"P1 an error without a stream of steps proves nothing", 3, []string{`! AGY_ERROR: {"short_error":"x","status":"UNAVAILABLE","error_code":503,"code_kind":"http"}`}, "failed server UNAVAILABLE unknown"},
		{"P1 exit 0 without a word proves nothing", 0, nil, "incomplete unknown  unknown"},
		{"P7 an unknown frame makes work unknown", 3, []string{opened, mine, future, errored, limit}, "failed usage_limit  unknown"},
		{"P1 a background task that the end took with it is work", 0, []string{opened, mine, "! terminating 1 background task(s) on exit", errored, limit}, "failed usage_limit  some"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ends, _ := follow(tt.code, tt.lines...)
			var got []string
			for _, e := range ends {
				got = append(got, fmt.Sprintf("%s %s %s %s", e.Outcome, e.Failure.Cause, e.Failure.Code, e.Failure.Work))
			}
			if s := strings.Join(got, "; "); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
		})
	}
}

func TestAccount(t *testing.T) {
	a := AccountFrom([]byte(`{"command":{"data":{"groups":[{"buckets":[
		{"id":"gemini-weekly","remaining_fraction":0,"reset_time":"2026-09-23T03:12:00Z"},
		{"id":"gemini-5h","remaining_fraction":0,"reset_time":"2026-09-19T11:20:06Z"}]},
		{"buckets":[{"id":"3p-weekly","remaining_fraction":0.5,"reset_time":"2026-12-01T00:00:00Z"}]}]}}}`))
	if !a.Limited || a.Scope != "gemini-weekly" || a.Reset.At.Format(time.DateOnly) != "2026-09-23" {
		t.Errorf("A35 of two used up windows the later one counts: %+v", a)
	}
}

// TestPrefixes cuts every recording at every line.
func TestPrefixes(t *testing.T) {
	files, _ := filepath.Glob("../../replay/testdata/other/agy-constructed/*/stdout")
	if len(files) < 10 {
		t.Fatalf("only %d recordings", len(files))
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimSpace(string(raw)), "\n")
		for n := range lines {
			ends, _ := follow(0, lines[:n]...)
			for _, e := range ends {
				if e.Outcome == paceline.OutcomeCompleted || e.Failure.Work == paceline.WorkNone {
					t.Errorf("P1 %s cut after %d lines: %s, work %s", f, n, e.Outcome, e.Failure.Work)
				}
			}
		}
	}
}

func TestNeverUnseen(t *testing.T) {
	t.Run("F2 F5 P7 work once seen is never unseen, and an unknown frame leaves no proof", rapid.MakeCheck(func(t *rapid.T) {
		frames := []string{mine, answer, errored, future, "{", "! [agy] print timeout after 1s", "! noise"}
		lines := rapid.SliceOf(rapid.SampledFrom(frames)).Draw(t, "lines")
		ends, _ := follow(3, append(lines, limit)...)
		want := paceline.WorkNone
		for _, l := range lines {
			switch {
			case l == answer:
				want = paceline.WorkSome
			case (l == future || l == "{") && want == paceline.WorkNone:
				want = paceline.WorkUnknown
			}
		}
		if got := ends[0].Failure.Work; got != want {
			t.Fatalf("work %s, want %s", got, want)
		}
	}))
}

func FuzzObserve(f *testing.F) {
	for _, s := range []string{opened, mine, answer, partial, ok, limit, denied, future, "{", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r := New()
		r.Stderr(line, time.Time{})
		r.Log(line, time.Time{})
		for range 2 {
			r.Observe(line, time.Time{})
			r.Observe([]byte(mine), time.Time{})
		}
		r.Exit(3)
		r.Close()
		AccountFrom(line)
		Init(line)
	})
}
