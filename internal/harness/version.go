package harness

import (
	"context"
	"os/exec"
	"regexp"
	"time"
)

// tested are the versions that every recording and test of ours was made with.
var tested = map[string]string{
	"claude": "2.1.328", "codex": "0.169.0", "gemini": "0.61.0", "opencode": "1.18.33",
	// Of these there are recordings alone.
	"agy": "1.2.16", "qwen": "0.24.4", "copilot": "1.0.102", "grok": "1.0.41", "kimi": "2.1.0", "claude-acp": "0.101.0", "codex-acp": "2.6.0",
}

// Tested is the version of a harness that this build was tested with.
func Tested(h Harness) string { return tested[h.Name()] }

var numbers = regexp.MustCompile(`\d+\.\d+\.\d+\S*`)

// Version asks an installed program for its version; "" where it does not tell.
func Version(ctx context.Context, h Harness, env Environment) string {
	path, err := h.Find(env)
	if err != nil || h.Name() == own {
		return ""
	}
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay = env, time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return numbers.FindString(string(out))
}
