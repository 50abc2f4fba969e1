package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

// agentBed is a bed whose user has the real agents, and has said whose money
// they spend. `make test-acp` installs them; they start slowly, so these tests
// are none of `make test`.
func agentBed(t *testing.T, script fakeapi.Script) *bed {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("agents", "node_modules", ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("PACELINE_AGENTS") == "" {
		t.Skip("not run: `make test-acp` installs the agents and runs this")
	}
	b := newBed(t, script)
	home := filepath.Join(b.dir, "home")
	gemini, err := b.vendors.GeminiEnv(home)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.vendors.OpencodeEnv(home); err != nil {
		t.Fatal(err)
	}
	for i, kv := range b.env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			b.env[i] = "PATH=" + bin + string(os.PathListSeparator) + path
		}
	}
	b.env = append(b.env, gemini[len(gemini)-1]) // its key, which is passed by name
	settings := filepath.Join(b.dir, "config.toml")
	b.env = append(b.env, "PACELINE_CONFIG="+settings)
	if err := os.WriteFile(settings, []byte(`
[accounts.gemini]
harness = "gemini"
posture = "subscription"
base_url = "`+b.vendors.URL()+`"

[accounts.opencode]
harness = "opencode"
posture = "subscription"

[accounts.claude]
posture = "subscription"

[env]
pass = ["GEMINI_API_KEY"]

[stall.acp]
first = "25s"
`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.repository()
	return b
}

func TestAgents(t *testing.T) {
	shell, done := fakeapi.Shell("printf 'hello\\n' > hello.txt"), fakeapi.Text{Text: "I wrote hello.txt."}
	t.Run("F67 gemini answers, with a tool call", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{Google: fakeapi.Steps(shell, done)})
		r := b.want(0, "run", "--chain", "gemini", prompt)
		has(t, r.out, "I wrote hello.txt.")
		if got := b.file("hello.txt"); got != "hello\n" {
			t.Errorf("the file holds %q", got)
		}
	})
	t.Run("F67 opencode answers, with a tool call, and takes its conversation up again", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{Chat: fakeapi.Steps(shell, done, fakeapi.Text{Text: "Once more."})})
		has(t, b.want(0, "run", "--chain", "opencode", prompt).out, "I wrote hello.txt.")
		if got := b.file("hello.txt"); got != "hello\n" {
			t.Errorf("the file holds %q", got)
		}
		has(t, b.want(0, "run", "-c", "And again?").out, "Once more.")
		all := b.vendors.Requests()
		last := all[len(all)-1]
		for _, r := range all {
			if r.Main {
				last = r
			}
		}
		if !last.Says(prompt) || !last.Says("And again?") {
			t.Errorf("the conversation was not taken up: %q", last.Prompts)
		}
	})
	t.Run("F1 F6 claude is limited, gemini is limited, codex answers: the prompt once each", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(3 * time.Hour)}),
			Google:    fakeapi.Steps(fakeapi.UsageLimit{}),
			OpenAI:    fakeapi.Steps(done),
		})
		r := b.want(0, "run", "--chain", "claude,gemini,codex", prompt)
		has(t, r.err, "Switched to gemini after claude hit its usage limit.", "Switched to codex after gemini hit its usage limit.")
		has(t, r.out, "I wrote hello.txt.")
		b.once(prompt, 1, 1)
		has(t, b.want(0, "why", "-c").out, "tree", "nothing in it was touched")
	})
	t.Run("F9 gemini's key is refused", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{Google: fakeapi.Steps(fakeapi.SignedOut{}), OpenAI: fakeapi.Steps(done)})
		has(t, b.want(0, "run", "--chain", "gemini,codex", prompt).err, "Switched to codex after gemini was signed out.")
	})
	t.Run("F46 opencode's silent limit ends by the deadline, its tree gone, and the tree agrees", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{Chat: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(2 * time.Hour)}), OpenAI: fakeapi.Steps(done)})
		r := b.want(0, "run", "--chain", "opencode,codex", prompt)
		has(t, r.err, "opencode is given up", "Switched to codex")
		b.quiet()
	})
	t.Run("F10 a file touched meanwhile, by anybody, leaves no proof", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{Chat: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(2 * time.Hour)}), OpenAI: fakeapi.Steps(done)})
		go func() {
			_, _ = b.vendors.Wait(t.Context(), func(r fakeapi.Request) bool { return r.Vendor == fakeapi.Chat && r.Main })
			_ = os.WriteFile(filepath.Join(b.project, "notes.txt"), []byte("mine"), 0o600)
		}()
		b.want(0, "run", "--chain", "opencode,codex", prompt)
		has(t, b.want(0, "why", "-c").out, "notes.txt was touched")
		if n := b.vendors.Count(prompt); n > 1 {
			t.Errorf("the prompt was sent %d times", n)
		}
	})
	for _, name := range []string{"gemini", "opencode"} {
		t.Run("A18 "+name+" asks, and what was denied is not done", func(t *testing.T) {
			steps := fakeapi.Steps(fakeapi.Shell("echo yes > yes.txt"), fakeapi.Shell("echo no > no.txt"), fakeapi.Text{Text: "Done."}, fakeapi.Text{Text: "Done."})
			b := agentBed(t, fakeapi.Script{Google: steps, Chat: steps})
			b.server = true
			id := strings.TrimSpace(b.want(0, "run", "--detach", "--mode", "ask", "-e", name, prompt).out)
			b.want(0, "approve", id, b.asks(id, 1))
			b.want(0, "deny", id, b.asks(id, 2))
			b.paceline("attach", id) // gemini ends a turn whose call was denied
			if b.file("yes.txt") != "yes\n" {
				t.Error("what was approved was not done")
			}
			if _, err := os.Stat(b.path("no.txt")); err == nil {
				t.Error("what was denied was done")
			}
			b.want(0, "server", "stop")
			b.quiet()
		})
	}
	t.Run("F9 gemini without any sign-in says so before the prompt, and the next engine answers", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{OpenAI: fakeapi.Steps(done)})
		b.env = slices.DeleteFunc(b.env, func(kv string) bool { return strings.HasPrefix(kv, "GEMINI_API_KEY=") })
		has(t, b.want(0, "run", "--chain", "gemini,codex", prompt).err, "gemini was signed out")
		if n := b.sent(fakeapi.Google, prompt); n != 0 {
			t.Errorf("the prompt was sent %d times", n)
		}
		b.once(prompt, 0, 1)
		b.want(4, "run", "-e", "gemini", prompt)
	})
	t.Run("Z38 gemini's conversation goes on with what was said in it before", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{Google: fakeapi.Steps(fakeapi.Text{Text: "The first answer."}, fakeapi.Text{Text: "Once more."})})
		b.want(0, "run", "--chain", "gemini", prompt)
		has(t, b.want(0, "run", "-c", "And again?").out, "Once more.")
		var last fakeapi.Request
		for _, r := range b.vendors.Requests() {
			if r.Main {
				last = r
			}
		}
		if !last.Says("The first answer.") || !last.Says("And again?") {
			t.Errorf("what was said before is lost: %q", last.Prompts)
		}
	})
	t.Run("P6 what is installed and not declared is told, with how", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{})
		b.env = slices.DeleteFunc(b.env, func(kv string) bool { return strings.HasPrefix(kv, "PACELINE_CONFIG=") })
		bare := filepath.Join(b.dir, "home", ".config", "paceline", "config.toml")
		has(t, b.want(0, "doctor").out, "gemini is installed and not used", `[accounts.opencode] with harness = "opencode"`)
		has(t, b.want(0, "init").err, "gemini is left out")
		text, err := os.ReadFile(bare)
		if err != nil {
			t.Fatal(err)
		}
		on := strings.ReplaceAll(string(text), "\n# [", "\n[")
		on = strings.ReplaceAll(strings.ReplaceAll(on, "\n# harness", "\nharness"), "\n# posture", "\nposture")
		if err := os.WriteFile(bare, []byte(on), 0o600); err != nil {
			t.Fatal(err)
		}
		has(t, b.want(0, "doctor").out, "gemini (gemini): ready, subscription", "opencode (opencode): ready, subscription")
	})
	t.Run("F67 a stop ends gemini while its model is silent", func(t *testing.T) {
		b := agentBed(t, fakeapi.Script{Google: fakeapi.Steps(fakeapi.Hang{})})
		b.server = true
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "gemini", prompt).out)
		if _, err := b.vendors.Wait(t.Context(), func(r fakeapi.Request) bool { return r.Vendor == fakeapi.Google && r.Main }); err != nil {
			t.Fatal(err)
		}
		b.want(0, "stop", id)
		b.quiet()
		b.want(0, "server", "stop")
	})
}
