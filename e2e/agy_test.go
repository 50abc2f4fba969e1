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

// agyBed is a bed whose user has agy, scripted, and said whose money it spends.
func agyBed(t *testing.T, agy fakeapi.AgyScript, script fakeapi.Script) *bed {
	t.Helper()
	b := newBed(t, script)
	bin, home := filepath.Join(b.dir, "bin"), filepath.Join(b.dir, "home")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := fakeapi.InstallAgy(bin, home, self, agy, "agy"); err != nil {
		t.Fatal(err)
	}
	for i, kv := range b.env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			b.env[i] = "PATH=" + bin + string(os.PathListSeparator) + path
		}
	}
	settings := filepath.Join(b.dir, "config.toml")
	b.env = append(b.env, "PACELINE_CONFIG="+settings)
	if err := os.WriteFile(settings, []byte("[accounts.agy]\nharness = \"agy\"\nposture = \"subscription\"\n\n[accounts.claude]\nposture = \"subscription\"\n\n[accounts.codex]\nposture = \"subscription\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.repository()
	return b
}

// agyAsked counts how often the scripted agy was given a prompt that holds text,
// and fails where it did what it was to be kept from.
func (b *bed) agyAsked(text string) (n int) {
	b.t.Helper()
	all, err := fakeapi.AgyWasAsked(filepath.Join(b.dir, "home"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, a := range all {
		if strings.Contains(a.Prompt, text) {
			n++
		}
		if a.Note != "" {
			b.t.Errorf("agy did by itself: %s", a.Note)
		}
	}
	return n
}

// agyArgs are the arguments of its last start.
func (b *bed) agyArgs() (last []string) {
	b.t.Helper()
	all, err := fakeapi.AgyWasAsked(filepath.Join(b.dir, "home"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, a := range all {
		if a.Args != nil {
			last = a.Args
		}
	}
	return last
}

func TestAgy(t *testing.T) {
	type turns = []fakeapi.AgyTurn
	here := fakeapi.Script{OpenAI: fakeapi.Steps(fakeapi.Text{Text: "Codex was here."})}
	lapsed := &fakeapi.AgyError{
		Text:  "UNAUTHENTICATED (code 401): Request had invalid authentication credentials.",
		Short: "UNAUTHENTICATED (code 401): Request had invalid authentication credentials.", Is: "UNAUTHENTICATED", Code: 401, Kind: "http",
	}
	t.Run("F9 bug-69 a refused sign-in that a fresh process holds is tried again", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Error: lapsed}, {Text: "Second try."}}}, here)
		r := b.want(0, "run", "--chain", "agy,codex", prompt)
		has(t, r.err, "Trying agy again: its sign-in was refreshed meanwhile.")
		has(t, r.out, "Second try.")
	})
	t.Run("F67 agy answers with tool calls, is not updated, and leaves nothing behind", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Shell: "printf 'hello\\n' > hello.txt", Write: "two.txt", Text: "I wrote hello.txt."}}}, here)
		has(t, b.want(0, "run", "--chain", "agy,codex", prompt).out, "I wrote hello.txt.")
		if b.file("hello.txt") != "hello\n" || b.agyAsked(prompt) != 1 {
			t.Error("it was not done once")
		}
		if left, _ := filepath.Glob(filepath.Join(b.dir, "home", ".gemini", "paceline-*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
		b.quiet()
	})
	t.Run("F67 its conversation is taken up again, where the status says ERROR for ever", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Text: "One."}, {Write: "a.txt", Error: fakeapi.AgyQuota("1s")}, {Text: "Three."}}}, here)
		b.want(0, "run", "-e", "agy", prompt)
		b.want(3, "run", "-c", "second")
		id := b.agyArgs()
		b.want(0, "limits", "clear", "agy")
		has(t, b.want(0, "run", "-c", "third").out, "Three.")
		if args := b.agyArgs(); !slices.Contains(args, "--conversation") || !slices.Contains(id, "--conversation") {
			t.Errorf("%q", args)
		}
	})
	t.Run("F67 a conversation that is not there any more is not gone on with as another one", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Text: "One."}}}, here)
		b.want(0, "run", "-e", "agy", prompt)
		kept := filepath.Join(b.dir, "home", ".gemini", "antigravity-cli", "conversations")
		if err := os.Rename(kept, kept+"-away"); err != nil {
			t.Fatal(err)
		}
		r := b.paceline("run", "-c", "second")
		if r.code == 0 || !strings.Contains(r.err, "does not find the conversation") || b.agyAsked("second") != 0 {
			t.Errorf("%s", r)
		}
	})
	for _, tt := range []struct {
		name   string
		agy    fakeapi.AgyScript
		says   string // on the standard error
		asked  int    // how often agy was given the prompt
		answer string
	}{
		{"F1 F6 a limit before any work moves on, whatever its retryable says", fakeapi.AgyScript{Turns: turns{{Error: fakeapi.AgyQuota("2h31m33s")}}}, "Switched to codex after agy hit its usage limit.", 1, "Codex was here."},
		{"F6 a limit that only old versions' log tells", fakeapi.AgyScript{Old: "2h"}, "Switched to codex after agy hit its usage limit.", 0, "Codex was here."},
		{"F9 A32 signed out, as its log proves", fakeapi.AgyScript{SignedOut: true}, "Switched to codex after agy was signed out.", 0, "Codex was here."},
		{"F6 offline, in the very same words", fakeapi.AgyScript{Offline: true}, "Switched to codex after agy could not be reached.", 0, "Codex was here."},
		{"F9 the same words without a log claim no sign-out", fakeapi.AgyScript{Mum: true}, "Switched to codex after agy could not be reached.", 0, "Codex was here."},
		{"F6 no capacity", fakeapi.AgyScript{Turns: turns{{Error: &fakeapi.AgyError{
			Text: "model unreachable", Short: "UNAVAILABLE (code 503): No capacity available for model x on the server", Is: "UNAVAILABLE", Code: 503, Kind: "http",
		}}}}, "Switched to codex", 1, "Codex was here."},
		{"F9 a sign-in that ends in the middle", fakeapi.AgyScript{Lapses: true, Turns: turns{{Error: lapsed}}}, "Switched to codex after agy was signed out.", 1, "Codex was here."},
		{"F6 money that is used up", fakeapi.AgyScript{Turns: turns{{Error: &fakeapi.AgyError{
			Text: "Error 402, Message: Your prepayment credits are depleted.", Short: "Error 402, Message: Your prepayment credits are depleted.", Is: "RESOURCE_EXHAUSTED", Code: 402, Kind: "http",
		}}}}, "Switched to codex", 1, "Codex was here."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := agyBed(t, tt.agy, here)
			r := b.want(0, "run", "--chain", "agy,codex", prompt)
			has(t, r.err, tt.says)
			has(t, r.out, tt.answer)
			if n := b.agyAsked(prompt); n != tt.asked || b.sent(fakeapi.OpenAI, prompt) != 1 {
				t.Errorf("the prompt was given to agy %d times, to codex %d times", n, b.sent(fakeapi.OpenAI, prompt))
			}
			b.quiet()
		})
	}
	t.Run("F2 after work its limit hands over with a packet, never the prompt", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Shell: "printf one > one.txt", Error: fakeapi.AgyQuota("2h")}}}, here)
		has(t, b.want(0, "run", "--chain", "agy,codex", prompt).err, "it goes on from what was done")
		var packets int
		for _, r := range b.vendors.Requests() {
			if r.Main && r.Says("printf one > one.txt") {
				packets++
			}
			if slices.Contains(r.Prompts, prompt) {
				t.Error("the prompt was sent again")
			}
		}
		if packets == 0 {
			t.Error("codex was not told what was done")
		}
	})
	t.Run("F10 a limit before any work, and a file touched meanwhile: the prompt is not sent again", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Error: fakeapi.AgyQuota("2h")}}, Touches: "notes.txt"}, here)
		b.want(0, "run", "--chain", "agy,codex", prompt)
		has(t, b.want(0, "why", "-c").out, "notes.txt was touched")
		for _, r := range b.vendors.Requests() {
			if slices.Contains(r.Prompts, prompt) {
				t.Error("the prompt was sent again")
			}
		}
	})
	t.Run("P7 an event of the future leaves no proof", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Odd: true, Error: fakeapi.AgyQuota("2h")}}}, here)
		has(t, b.want(0, "run", "--chain", "agy,codex", prompt).err, "it goes on from what was done")
	})
	t.Run("F67 a question that nobody answers is no work that can be ruled out, and its answer counts", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Asks: true, Task: true, Text: "I chose."}}}, here)
		has(t, b.want(0, "run", "-e", "agy", prompt).out, "I chose.")
	})
	for _, tt := range []struct {
		name string
		turn fakeapi.AgyTurn
		mode string
		says string
	}{
		{"F67 a denial that ends a turn as a success is none", fakeapi.AgyTurn{Shell: "ls", Text: "x"}, "read", "denied a permission"},
		{"F67 a mode in which it would have to ask is refused", fakeapi.AgyTurn{Text: "x"}, "ask", "cannot ask anybody"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := agyBed(t, fakeapi.AgyScript{Turns: turns{tt.turn}}, here)
			if r := b.paceline("run", "-e", "agy", "--mode", tt.mode, prompt); r.code == 0 || !strings.Contains(r.err, tt.says) {
				t.Errorf("%s", r)
			}
		})
	}
	t.Run("F67 one that works elsewhere than it was told is not asked", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Astray: "/"}, here)
		if r := b.paceline("run", "-e", "agy", prompt); r.code == 0 || !strings.Contains(r.err, "another folder") || b.agyAsked(prompt) != 0 {
			t.Errorf("%s", r)
		}
	})
	t.Run("F67 a model that is none is told in its own words", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{}, here)
		if r := b.paceline("run", "-e", "agy:gemini-3.8-flash", prompt); r.code == 0 || !strings.Contains(r.err, "requires --effort") {
			t.Errorf("%s", r)
		}
	})
	t.Run("F67 a project's own hooks for it are not run before somebody agreed", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{}, here)
		if err := os.MkdirAll(b.path(".agents"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.path(".agents/hooks.json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		has(t, b.want(5, "run", "-e", "agy", prompt).err, ".agents/hooks.json", "paceline trust")
		if b.agyAsked(prompt) != 0 {
			t.Error("it was asked all the same")
		}
	})
	t.Run("F67 a stop ends it and the command that it runs in a session of its own", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Shell: "touch begun; sleep 60; touch late.txt", Text: "x"}}}, here)
		b.server = true
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "agy", prompt).out)
		for i := 0; ; i++ {
			if _, err := os.Stat(b.path("begun")); err == nil {
				break
			}
			if i > 200 {
				t.Fatal("it never began")
			}
			time.Sleep(50 * time.Millisecond)
		}
		b.want(0, "stop", id)
		b.quiet()
		b.want(0, "server", "stop")
	})
	t.Run("doctor says what its vendor's terms are", func(t *testing.T) {
		b := agyBed(t, fakeapi.AgyScript{}, here)
		has(t, b.want(0, "doctor").out, "agy (agy): ready, subscription", "version 1.2.16, as tested", "terms: ")
	})
}
