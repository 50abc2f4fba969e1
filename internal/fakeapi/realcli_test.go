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
	lines []gjson.Result
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
	o := outcome{err: errs.String(), exit: cmd.ProcessState.ExitCode(), dir: dir}
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
