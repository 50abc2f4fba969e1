package e2e

import (
	"os"
	"path/filepath"
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
