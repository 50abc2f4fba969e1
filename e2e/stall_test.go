package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestSilence(t *testing.T) {
	// quick shortens every bound of both programs.
	quick := []string{
		"PACELINE_STALL__CODEX__FIRST=4s", "PACELINE_STALL__CODEX__PROGRESS=3s", "PACELINE_STALL__CODEX__GRACE=1s",
		"PACELINE_STALL__CLAUDE__FIRST=5s", "PACELINE_STALL__CLAUDE__PROGRESS=3s", "PACELINE_STALL__CLAUDE__GRACE=1s",
	}
	for _, tt := range []struct {
		name         string
		chain        string
		script       fakeapi.Script
		code         int
		told, why    string
		claude, codx int
	}{
		{
			"R2 R6 R14 R23 Codex sleeps through a Retry-After of two hours, before any work: it is given up, and the prompt moves", "codex,claude",
			fakeapi.Script{
				OpenAI:    []fakeapi.Step{{Answer: fakeapi.Throttle{RetryAfter: 2 * time.Hour}}},
				Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Moved on."}),
			},
			0, "Switched to claude after codex refused it (429, cause not told).", "its retry 1, expected after 5s, did not come", 1, 1,
		},
		{
			"R1 a server that never answers Codex", "codex,claude",
			fakeapi.Script{OpenAI: fakeapi.Steps(fakeapi.Hang{}), Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Moved on."})},
			0, "Switched to claude after codex stalled.", "nothing came of the prompt for", 1, 1,
		},
		{
			"R1 R23 a stream that stops in the middle of Codex's answer: work, so it ends where nobody else is", "codex",
			fakeapi.Script{OpenAI: fakeapi.Steps(fakeapi.Hang{After: "I begin"})},
			3, "Codex stalled.", "no progress for", 0, 1,
		},
		{
			"R1 a dead stream of Claude's, before any work", "claude,codex",
			fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Hang{}), OpenAI: fakeapi.Steps(fakeapi.Text{Text: "Moved on."})},
			0, "Switched to codex after claude stalled.", "nothing came of the prompt for", 1, 1,
		},
		{
			"R1 R23 a stream that stops in the middle of Claude's answer", "claude",
			fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Hang{After: "I begin"})},
			3, "Claude stalled.", "no progress for", 1, 0,
		},
		{
			"R1 a connection that is refused, for ever", "codex",
			fakeapi.Script{OpenAI: fakeapi.Steps(fakeapi.Refuse{})},
			3, "Codex could not be reached.", "transport", 0, 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBed(t, tt.script)
			b.env = append(b.env, quick...)
			r := b.want(tt.code, "run", "--chain", tt.chain, prompt)
			has(t, r.err, tt.told)
			has(t, b.want(0, "why", "-c").out, tt.why)
			b.once(prompt, tt.claude, tt.codx)
			if left := b.marked(); len(left) > 0 {
				t.Errorf("R12 alive after it was published as ended: %v", left)
			}
		})
	}
	t.Run("A tool that is silent for a while is not a stall, and one that never ends is", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{OpenAI: fakeapi.Steps(fakeapi.Shell("sleep 6; echo done > done.txt"), fakeapi.Text{Text: "Patient."})})
		b.env = append(b.env, quick...)
		has(t, b.want(0, "run", "-e", "codex", prompt).out, "Patient.")
		c := newBed(t, fakeapi.Script{OpenAI: fakeapi.Steps(fakeapi.Shell("tail -f /dev/null"))})
		c.env = append(append(c.env, quick...), "PACELINE_STALL__CODEX__TOOL=3s")
		has(t, c.want(5, "run", "-e", "codex", prompt).err, "codex is given up: a tool ran for", "paceline reconcile")
	})
	t.Run("bug-34 Codex worked, then sleeps through a Retry-After of two hours: given up, and the next one goes on from what was done", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			OpenAI:    append(fakeapi.Steps(fakeapi.Shell("touch done.txt; (sleep 1000 &)")), fakeapi.Step{Answer: fakeapi.Throttle{RetryAfter: 2 * time.Hour}}),
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Went on."}),
		})
		b.env = append(b.env, quick...)
		r := b.want(0, "run", "--json", "--chain", "codex,claude", prompt)
		has(t, r.out, `"event":"retrying"`, `"cause":"throttle"`, `"attempt":1`, `"code":"rateLimitRetryExhausted"`, `"work":"some"`, `"event":"rollover"`)
		lacks(t, r.out, `"event":"failover"`)
		if n := b.sent(fakeapi.OpenAI, prompt); n != 1 {
			t.Errorf("F2 the prompt arrived %d times at codex's vendor", n)
		}
		if left := b.marked(); len(left) > 0 {
			t.Errorf("R22 alive after it was published as ended: %v", left)
		}
	})
	t.Run("While a run is silent, status and show say since when; an approval is waited for, however long", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{OpenAI: fakeapi.Steps(fakeapi.Shell("touch asked.txt"), fakeapi.Text{Text: "Done."})})
		b.env = append(b.env, quick...)
		id := strings.TrimSpace(b.want(0, "run", "--detach", "--mode", "ask", "-e", "codex", prompt).out)
		until(t, "it asks", func() bool {
			return strings.Contains(b.want(0, "show", id).out, "running, last heard of ")
		})
		time.Sleep(8 * time.Second) // past every bound
		has(t, b.want(0, "status").out, " is running, last heard of ")
		has(t, b.want(0, "status", "--json").out, `"heard":"`, `"silent_s":`)
		has(t, b.want(0, "show", "--json", id).out, `"heard":"`, `"silent_s":`)
		b.want(0, "stop", id)
		lacks(t, b.want(0, "show", id).out, "last heard of", "given up")
	})
}
