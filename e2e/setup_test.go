package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestFirstSteps(t *testing.T) {
	t.Run("doctor says what each engine is, and exits 0 where a run could start", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{})
		b.env = append(b.env, "ANTHROPIC_API_KEY=sk-ant-not-to-be-seen")
		r := b.want(0, "doctor")
		has(t, r.out, "claude (claude): ready, subscription", "version 2.1.328, as tested", "codex (codex): ready, subscription",
			"version 0.169.0, as tested", "not running; the first run starts it", "ANTHROPIC_API_KEY is set and not used", "chain: none")
		lacks(t, r.out+r.err, "sk-ant")
		has(t, b.want(0, "doctor", "--json").out, `"account":"codex","harness":"codex","ready":true,"version":"0.169.0"`)
		if _, err := os.Stat(filepath.Join(b.dir, "state")); err == nil {
			t.Error("looking made a state folder")
		}
	})
	t.Run("doctor exits 4 where nobody is signed in, and 2 where nothing is installed", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{})
		home := t.TempDir()
		signedOut := []string{"HOME=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(home, "claude"), "CODEX_HOME=" + filepath.Join(home, "codex"), "CLAUDE_CODE_OAUTH_TOKEN="}
		if err := os.MkdirAll(filepath.Join(home, "codex"), 0o700); err != nil {
			t.Fatal(err)
		}
		if r := b.with(signedOut, nil, "doctor"); r.code != 4 || !strings.Contains(r.out, "signed out") {
			t.Errorf("signed out: %s", r)
		}
		if r := b.with([]string{"PATH=/nowhere"}, nil, "doctor"); r.code != 2 || !strings.Contains(r.out, "npm install -g") {
			t.Errorf("not installed: %s", r)
		}
	})
	t.Run("doctor finds what is wrong in a configuration, and still looks at the rest", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{})
		file := filepath.Join(b.dir, "config.toml")
		if err := os.WriteFile(file, []byte("[fallbak]\nenabled = true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := b.with([]string{"PACELINE_CONFIG=" + file}, nil, "doctor")
		if r.code != 2 {
			t.Errorf("%s", r)
		}
		has(t, r.out, "fallbak", "fallback", "claude (claude): ready")
	})
	t.Run("A project's own hooks are run only once somebody agreed to them, and again when one changed", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Here."})})
		hook := func(n string) {
			t.Helper()
			text := `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo ` + n + ` >> ` + b.path("hooked.txt") + `"}]}]}}`
			if err := os.MkdirAll(b.path(".claude"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(b.path(".claude/settings.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		hook("first")
		r := b.want(5, "run", "-e", "claude", prompt)
		has(t, r.err, ".claude/settings.json", "paceline trust")
		if _, err := os.Stat(b.path("hooked.txt")); err == nil || b.sent(fakeapi.Anthropic, prompt) != 0 {
			t.Error("it ran all the same")
		}
		b.want(5, "trust")
		b.want(0, "trust", "--yes")
		b.want(0, "run", "-e", "claude", prompt)
		if b.file("hooked.txt") != "first\n" {
			t.Errorf("the hook wrote %q", b.file("hooked.txt"))
		}
		hook("second")
		b.want(5, "run", "-c", "again")
		b.want(0, "server", "stop")
	})
	t.Run("init writes a chain of what is ready; it is used; and a second init changes nothing", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.UsageLimit{}), OpenAI: fakeapi.Steps(fakeapi.Text{Text: "Here."})})
		file := filepath.Join(b.dir, "config", "paceline", "config.toml")
		b.env = append(b.env, "XDG_CONFIG_HOME="+filepath.Join(b.dir, "config"))
		has(t, b.want(0, "init").out, "a run goes to claude, and on to codex")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		has(t, string(text), `default = ["claude", "codex"]`)
		b.want(0, "config", "check")
		has(t, b.want(0, "run", prompt).out, "Here.")
		has(t, b.want(0, "init").out, "left as it is")
		if again, _ := os.ReadFile(file); string(again) != string(text) {
			t.Error("it was written again")
		}
		has(t, b.want(0, "init", "--service").out, "paceline.service", "systemctl --user enable --now paceline")
		unit, err := os.ReadFile(filepath.Join(b.dir, "home", ".config", "systemd", "user", "paceline.service"))
		if err != nil {
			t.Fatal(err)
		}
		has(t, string(unit), "ExecStart="+binary+" serve")
	})
}
