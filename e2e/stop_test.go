package e2e

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestStop(t *testing.T) {
	for _, engine := range []string{"claude", "codex"} {
		t.Run("P2 F19 Ctrl-C ends a hanging "+engine+" with 130, and nothing moves", func(t *testing.T) {
			hang := fakeapi.Steps(fakeapi.Hang{})
			b := newBed(t, fakeapi.Script{Anthropic: hang, OpenAI: hang})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd, out, errs := b.command(ctx, "run", "--chain", engine+","+map[string]string{"claude": "codex", "codex": "claude"}[engine], prompt)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := b.vendors.Wait(ctx, func(r fakeapi.Request) bool { return r.Main }); err != nil {
				t.Fatalf("%v\n%s%s", err, out, errs)
			}
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
			if s := b.show(); s.Messages[0].Status != "stopped" || len(s.Runs) != 1 {
				t.Errorf("%+v", s)
			}
			if n := b.sent(fakeapi.Anthropic, prompt) + b.sent(fakeapi.OpenAI, prompt); n != 1 {
				t.Errorf("the prompt went out %d times", n)
			}
		})
	}
}

func TestSideBySide(t *testing.T) {
	t.Run("P3 several runs share one store", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: []fakeapi.Step{{Answer: fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}}},
			OpenAI:    []fakeapi.Step{{Answer: fakeapi.Text{Text: "Done.", Chunks: 5}}},
		})
		var wg sync.WaitGroup
		prompts := []string{"First task.", "Second task.", "Third task."}
		for _, p := range prompts {
			wg.Go(func() {
				if r := b.paceline("run", "--chain", "claude,codex", p); r.code != 0 || !strings.Contains(r.out, "Done.") {
					t.Errorf("%s: %s", p, r)
				}
			})
		}
		wg.Wait()
		for _, p := range prompts {
			if n := b.sent(fakeapi.OpenAI, p); n != 1 {
				t.Errorf("%s arrived %d times at codex's vendor", p, n)
			}
			if n := b.sent(fakeapi.Anthropic, p); n > 1 {
				t.Errorf("%s arrived %d times at claude's vendor", p, n)
			}
		}
	})
}

func TestSecrets(t *testing.T) {
	t.Run("F69 no token, prompt or address is in the log or in why and status", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Done."}),
		})
		b.want(0, "run", "--chain", "claude,codex", "A prompt with a sekrit word.")
		said := b.file("../state/paceline.log") + b.want(0, "why", "-c", "--json").out + b.want(0, "status", "--json").out
		has(t, said, "decided")
		lacks(t, said, "sekrit", "sk-ant", "fake@example.com", "eyJ", "http://", "https://")
	})
}
