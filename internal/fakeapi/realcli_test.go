package fakeapi

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// outcome is what a real program made of the script.
type outcome struct {
	lines []gjson.Result // of stdout, where they are JSON
	out   string
	err   string
	exit  int
	dir   string
}

// first returns the first line that has a value at a path.
func (o outcome) first(path, value string) gjson.Result {
	for _, l := range o.lines {
		if l.Get(path).String() == value {
			return l
		}
	}
	return gjson.Result{}
}

func run(t *testing.T, env []string, argv ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "TZ=UTC", "TERM=dumb"}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // how it exits is part of the outcome
	o := outcome{out: out.String(), err: errs.String(), exit: cmd.ProcessState.ExitCode(), dir: dir}
	for line := range strings.Lines(out.String()) {
		if gjson.Valid(line) {
			o.lines = append(o.lines, gjson.Parse(line))
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("exit %d\nstdout:\n%s\nstderr:\n%s", o.exit, out.String(), o.err)
		}
	})
	return o
}

func claude(t *testing.T, s *Server, prompt string, more ...string) outcome {
	t.Helper()
	bin := program(t, "claude")
	env, err := s.ClaudeEnv(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return run(t, env, append([]string{bin, "-p", "--output-format", "stream-json", "--verbose", prompt, "--allowedTools", "Bash,Write"}, more...)...)
}

func codex(t *testing.T, s *Server, prompt string) outcome {
	t.Helper()
	bin := program(t, "codex")
	env, err := s.CodexEnv(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return run(t, env, bin, "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt)
}

func counted(t *testing.T, s *Server, prompt string, want int) {
	t.Helper()
	if got := s.Count(prompt); got != want {
		t.Errorf("%q was delivered %d times, want %d", prompt, got, want)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, r := range s.Requests() {
				t.Logf("%s %s %d main=%v opens=%v retry=%v auth=%s model=%s prompt=%.60q tools=%v", r.Method, r.Path, r.Status, r.Main, r.Opens, r.Retry, r.Auth, r.Model, r.Prompt, r.Tools)
			}
		}
	})
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func TestClaudeSaysThatItsAllowanceIsSpent(t *testing.T) {
	reset := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	s := start(t, Script{Anthropic: Steps(UsageLimit{Reset: reset})})
	o := claude(t, s, "mend the parser")
	counted(t, s, "mend the parser", 1)
	result := o.first("type", "result")
	if got := result.Get("api_error").String(); got != "usage_limit_reached" {
		t.Errorf("api_error = %q", got)
	}
	info := o.first("type", "rate_limit_event").Get("rate_limit_info")
	if info.Get("status").String() != "rejected" || info.Get("resetsAt").Int() != reset.Unix() || info.Get("rateLimitType").String() != "five_hour" {
		t.Errorf("rate_limit_info = %s, want a reset at %d", info.Raw, reset.Unix())
	}
}

func TestClaudeAnswers(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(Text{Text: "Good evening.", Chunks: 3})})
	o := claude(t, s, "say hello")
	counted(t, s, "say hello", 1)
	result := o.first("type", "result")
	if result.Get("is_error").Bool() || result.Get("result").String() != "Good evening." || o.exit != 0 {
		t.Errorf("exit %d, result %s", o.exit, result.Raw)
	}
}

func TestClaudeRunsACommand(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(Shell("echo made > made.txt"), Text{Text: "Done."})})
	o := claude(t, s, "make a file")
	counted(t, s, "make a file", 1)
	if got := read(t, o.dir, "made.txt"); got != "made\n" {
		t.Errorf("made.txt holds %q", got)
	}
	if got := o.first("type", "result").Get("result").String(); got != "Done." {
		t.Errorf("result = %q", got)
	}
}

func TestCodexSaysThatItsAllowanceIsSpent(t *testing.T) {
	s := start(t, Script{OpenAI: Steps(UsageLimit{})})
	o := codex(t, s, "mend the parser")
	counted(t, s, "mend the parser", 1)
	if got := o.first("type", "turn.failed").Get("error.message").String(); !strings.Contains(got, "hit your usage limit") {
		t.Errorf("turn.failed says %q", got)
	}
}

func TestCodexAnswers(t *testing.T) {
	s := start(t, Script{OpenAI: Steps(Text{Text: "Good evening.", Chunks: 3})})
	o := codex(t, s, "say hello")
	counted(t, s, "say hello", 1)
	if got := o.first("item.type", "agent_message").Get("item.text").String(); got != "Good evening." || o.exit != 0 {
		t.Errorf("exit %d, message %q", o.exit, got)
	}
}

func TestCodexRunsACommand(t *testing.T) {
	s := start(t, Script{OpenAI: Steps(Shell("echo made > made.txt"), Write("added.txt", "added\n"), Text{Text: "Done."})})
	o := codex(t, s, "make a file")
	counted(t, s, "make a file", 1)
	if got := read(t, o.dir, "made.txt"); got != "made\n" {
		t.Errorf("made.txt holds %q", got)
	}
	if got := read(t, o.dir, "added.txt"); got != "added\n" {
		t.Errorf("added.txt holds %q", got)
	}
}

func TestClaudeIsThrottledWithoutBeingTold(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(Throttle{Hides: &UsageLimit{}})})
	o := claude(t, s, "mend the parser")
	counted(t, s, "mend the parser", 1)
	result := o.first("type", "result")
	if result.Get("api_error_status").Int() != 429 || result.Get("api_error").Exists() {
		t.Errorf("result %s", result.Raw)
	}
}

func TestClaudeIsSignedOut(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(SignedOut{})})
	o := claude(t, s, "mend the parser")
	counted(t, s, "mend the parser", 1)
	if got := o.first("type", "result").Get("api_error_status").Int(); got != 401 {
		t.Errorf("api_error_status = %d", got)
	}
	if got := o.first("type", "assistant").Get("error").String(); got != "authentication_failed" {
		t.Errorf("error = %q", got)
	}
}

func TestClaudeGoesOnOnPaidOverage(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(Overage{Text: "paid"})})
	o := claude(t, s, "mend the parser")
	counted(t, s, "mend the parser", 1)
	info := o.first("type", "rate_limit_event").Get("rate_limit_info")
	if info.Get("status").String() != "rejected" || !info.Get("isUsingOverage").Bool() || o.first("type", "result").Get("is_error").Bool() {
		t.Errorf("exit %d, rate_limit_info %s", o.exit, info.Raw)
	}
}

func TestClaudeMeetsTheLimitInTheMiddle(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(UsageLimit{After: "I will"})})
	o := claude(t, s, "mend the parser")
	counted(t, s, "mend the parser", 1)
	if got := o.first("type", "result").Get("api_error").String(); got != "usage_limit_reached" {
		t.Errorf("api_error = %q", got)
	}
}

// A prompt that is sent again into the same conversation counts again, and the
// program's own request for a summary never does.
func TestClaudeIsAskedAgain(t *testing.T) {
	bin := program(t, "claude")
	s := start(t, Script{Anthropic: Steps(UsageLimit{}, Text{Text: "Done."})})
	env, err := s.ClaudeEnv(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const id = "7f3c1c1e-0f0d-4a53-9d8d-3f2f6b0a8c11"
	run(t, env, bin, "-p", "mend it", "--session-id", id)
	run(t, env, bin, "-p", "mend it", "--resume", id)
	run(t, env, bin, "-p", "/compact", "--resume", id)
	run(t, env, bin, "-p", "go on", "--resume", id)
	counted(t, s, "mend it", 2)
	counted(t, s, "go on", 1)
	main := 0
	for _, r := range s.Requests() {
		if r.Main {
			main++
		}
		if r.Main && r.Conversation != id {
			t.Errorf("asked in conversation %q", r.Conversation)
		}
	}
	if main != 3 {
		t.Errorf("%d requests for work, want 3", main)
	}
}

func TestClaudeKnowsThatItIsSignedIn(t *testing.T) {
	s := start(t, Script{})
	env, err := s.ClaudeEnv(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := run(t, env, program(t, "claude"), "auth", "status", "--json")
	status := gjson.Parse(o.out)
	if !status.Get("loggedIn").Bool() || status.Get("authMethod").String() != "claude.ai" || status.Get("subscriptionType").String() != "max" {
		t.Errorf("exit %d: %s", o.exit, o.out)
	}
}

func TestCodexIsSignedOut(t *testing.T) {
	s := start(t, Script{OpenAI: Steps(SignedOut{})})
	o := codex(t, s, "mend the parser")
	counted(t, s, "mend the parser", 1)
	contains(t, o.first("type", "turn.failed").Get("error.message").String(), "access token could not be refreshed")
}

// Of a hidden cause Codex tells only the status; its account's limits, which it
// fetches anew, settle it.
func TestCodexIsThrottledWithoutBeingTold(t *testing.T) {
	reset := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	for _, c := range []struct {
		name  string
		hides *UsageLimit
		used  int64
	}{{"a limit", &UsageLimit{Reset: reset}, 100}, {"nothing", nil, 20}} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, Script{OpenAI: Steps(Throttle{Hides: c.hides})})
			app := appServer(t, s)
			app.ask(1, "initialize", `{"clientInfo":{"name":"test","title":"Test","version":"1"}}`)
			app.tell("initialized", `{}`)
			if got := app.ask(2, "account/read", `{}`).Get("result.account.type").String(); got != "chatgpt" {
				t.Errorf("account is %q", got)
			}
			thread := app.ask(3, "thread/start", `{"approvalPolicy":"never","sandbox":"danger-full-access"}`).Get("result.thread.id").String()
			app.ask(4, "turn/start", `{"threadId":"`+thread+`","input":[{"type":"text","text":"mend the parser"}]}`)
			turn := app.until("method", "turn/completed").Get("params.turn")
			if got := turn.Get("error.codexErrorInfo.responseTooManyFailedAttempts.httpStatusCode").Int(); got != 429 {
				t.Errorf("turn ended with %s", turn.Get("error").Raw)
			}
			limits := app.ask(5, "account/rateLimits/read", `{}`).Get("result.rateLimits")
			if limits.Get("primary.usedPercent").Int() != c.used || c.hides != nil && limits.Get("primary.resetsAt").Int() != reset.Unix() {
				t.Errorf("limits %s", limits.Raw)
			}
			if reached := limits.Get("rateLimitReachedType").String() != ""; reached != (c.hides != nil) {
				t.Errorf("limits %s", limits.Raw)
			}
			counted(t, s, "mend the parser", 1)
		})
	}
}

func TestCodexIsAskedAgain(t *testing.T) {
	bin := program(t, "codex")
	s := start(t, Script{OpenAI: Steps(UsageLimit{}, Text{Text: "Done."})})
	env, err := s.CodexEnv(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := run(t, env, bin, "exec", "--json", "--skip-git-repo-check", "mend it")
	thread := o.first("type", "thread.started").Get("thread_id").String()
	run(t, env, bin, "exec", "resume", thread, "--json", "--skip-git-repo-check", "mend it")
	counted(t, s, "mend it", 2)
}

// Nothing that the programs do on their own finds a way out.
func TestProgramsStayIn(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(Text{Text: "ok"}), OpenAI: Steps(Text{Text: "ok"})})
	claude(t, s, "say hello")
	codex(t, s, "say hello")
	for _, r := range s.Requests() {
		if r.Method == "CONNECT" && r.Status != 403 {
			t.Errorf("%s was reached", r.Path)
		}
		if r.Main && r.Auth != "oauth" {
			t.Errorf("%s was asked with %s", r.Path, r.Auth)
		}
	}
}
