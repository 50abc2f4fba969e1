package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

const prompt = "Write the file hello.txt please."

// moved runs the main job with this answer from Claude's vendor, and expects
// Codex to take the prompt over.
func moved(t *testing.T, first fakeapi.Answer, line string) *bed {
	t.Helper()
	b := newBed(t, fakeapi.Script{
		Anthropic: fakeapi.Steps(first),
		OpenAI:    []fakeapi.Step{{Answer: fakeapi.Shell("printf 'hello\\n' > hello.txt")}, {Answer: fakeapi.Text{Text: "I wrote hello.txt.", Chunks: 3}}},
	})
	r := b.want(0, "run", "--chain", "claude,codex", prompt)
	has(t, r.err, line)
	has(t, r.out, "I wrote hello.txt.")
	if got := b.file("hello.txt"); got != "hello\n" {
		t.Errorf("the file holds %q", got)
	}
	b.once(prompt, 1, 1)
	return b
}

func TestMainJob(t *testing.T) {
	t.Run("F1 F23 F32 a real Claude Code hits its limit, a real Codex answers and writes the file", func(t *testing.T) {
		b := moved(t, fakeapi.UsageLimit{Reset: time.Now().Add(3 * time.Hour)}, "Switched to codex after claude hit its usage limit.")
		s := b.show()
		if len(s.Runs) != 2 || s.Runs[0].Claim.Phase != "dispatched" || s.Runs[0].Work != "none" || s.Runs[1].Phase != "done" {
			t.Fatalf("%+v", s)
		}
		if got := s.Runs[0].Failure.Reset; got.Source != "stated" || time.Until(got.At) < 2*time.Hour {
			t.Errorf("reset %+v", got)
		}
		why := b.want(0, "why", "-c")
		has(t, why.out, "claim codex", "usage_limit_reached", "dispatch to codex", "held in: edit mode", "landlock")
		has(t, b.want(0, "status").out, "claude is limited (usage_limit)", "stated")
		// A second prompt does not try the limited engine first.
		r := b.want(0, "run", "--chain", "claude,codex", "Another prompt.")
		has(t, r.err, "claude cannot serve, it is limited until")
		b.once("Another prompt.", 0, 1)
	})
	t.Run("F14 F46 a 429 whose cause the vendor hid", func(t *testing.T) {
		b := moved(t, fakeapi.Throttle{}, "Switched to codex after claude refused it (429, cause not told).")
		has(t, b.want(0, "why", "-c").out, "throttle", "rate_limit")
	})
	t.Run("F9 a sign-out", func(t *testing.T) {
		moved(t, fakeapi.SignedOut{}, "Switched to codex after claude was signed out.")
	})
	t.Run("F9 an empty purse", func(t *testing.T) {
		moved(t, fakeapi.Billing{}, "Switched to codex after claude was billed out.")
	})
	t.Run("F9 an overload is the route's fault, and still moves", func(t *testing.T) {
		b := moved(t, fakeapi.Overloaded{}, "Switched to codex after claude could not be reached.")
		lacks(t, b.want(0, "status").out, "is limited")
	})
	t.Run("F6 the other way round: Codex is limited, Claude answers", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			OpenAI:    fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf hi > hello.txt"), fakeapi.Text{Text: "Done by claude."}),
		})
		r := b.want(0, "run", "--chain", "codex,claude", prompt)
		has(t, r.err, "Switched to claude after codex hit its usage limit.")
		has(t, r.out, "Done by claude.")
		b.once(prompt, 1, 1)
	})
	t.Run("F6 Codex's hidden 429 is settled by asking for its limits", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			OpenAI:    fakeapi.Steps(fakeapi.Throttle{Hides: &fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}}),
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Done by claude."}),
		})
		r := b.want(0, "run", "--chain", "codex,claude", prompt)
		has(t, r.err, "Switched to claude after codex hit its usage limit.")
		has(t, b.want(0, "status").out, "codex is limited (usage_limit)", "stated")
	})
	t.Run("F6 a hidden 429 with allowance left stays a throttle", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			OpenAI:    fakeapi.Steps(fakeapi.Throttle{}),
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Done by claude."}),
		})
		has(t, b.want(0, "run", "--chain", "codex,claude", prompt).err, "Switched to claude after codex refused it (429, cause not told).")
	})
	t.Run("F11 F70 both limited: blocked, each asked once", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
			OpenAI:    fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(2 * time.Hour)}),
		})
		r := b.want(3, "run", "--chain", "claude,codex", prompt)
		has(t, r.err, "Codex hit its usage limit", "It lifts")
		b.once(prompt, 1, 1)
	})
}

func TestNoFailover(t *testing.T) {
	limited := func(first ...fakeapi.Answer) *bed {
		return newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(append(first, fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)})...),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Codex was asked."}),
		})
	}
	t.Run("F2 P1 limited after a tool ran and rollover = off: nothing moves, and why names the frame", func(t *testing.T) {
		b := limited(fakeapi.Shell("printf done > worked.txt"))
		b.env = append(b.env, "PACELINE_FALLBACK__ROLLOVER=off")
		r := b.want(3, "run", "--chain", "claude,codex", prompt)
		lacks(t, r.err, "Switched")
		has(t, r.err, "Claude hit its usage limit", "It lifts", "already worked")
		if b.file("worked.txt") != "done" {
			t.Error("the tool did not run, so this proves nothing")
		}
		b.once(prompt, 1, 0)
		has(t, b.want(0, "why", "-c").out, "no failover: it had already worked: tool (Bash)")
		if s := b.show(); s.Runs[0].Work != "some" || s.Runs[0].Failure.Reset.At.IsZero() {
			t.Errorf("%+v", s.Runs)
		}
	})
	t.Run("F7 limited after half an answer and rollover = off: nothing moves", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour), After: "I will begin by"}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Codex was asked."}),
		})
		b.env = append(b.env, "PACELINE_FALLBACK__ROLLOVER=off")
		b.want(3, "run", "--chain", "claude,codex", prompt)
		b.once(prompt, 1, 0)
	})
	t.Run("F11 no chain: no failover", func(t *testing.T) {
		b := limited()
		r := b.want(3, "run", "-e", "claude", prompt)
		has(t, r.err, "Claude hit its usage limit")
		b.once(prompt, 1, 0)
	})
	t.Run("F12 a slash command is never sent again", func(t *testing.T) {
		b := limited()
		b.paceline("run", "--chain", "claude,codex", "/compact")
		if n := b.sent(fakeapi.OpenAI, ""); n != 0 {
			t.Errorf("codex was asked %d times", n)
		}
	})
	t.Run("P7 a limit that the model only wrote about is an answer", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "You've hit your usage limit. It resets 3am (UTC)."}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Codex was asked."}),
		})
		r := b.want(0, "run", "--chain", "claude,codex", prompt)
		has(t, r.out, "You've hit your usage limit.")
		lacks(t, r.err, "Switched")
		b.once(prompt, 1, 0)
	})
	t.Run("P6 paid overage is taken for a limit where the operator said stop, as soon as it is told of", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Overage{Text: "Done on overage.", Reset: time.Now().Add(time.Hour)}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Done within the plan."}),
		})
		b.env = append(b.env, "PACELINE_FALLBACK__OVERAGE=stop")
		r := b.want(0, "run", "--chain", "claude,codex", prompt)
		has(t, r.out, "Done within the plan.")
		// Claude tells of it when its answer has begun.
		has(t, r.err, "Switched to codex after claude hit its usage limit; it goes on from what was done.")
		b.env = append(b.env, "PACELINE_FALLBACK__OVERAGE=use")
		b.want(0, "limits", "clear", "claude")
		b.want(0, "server", "stop")
		lacks(t, b.want(0, "run", "-e", "claude", "Once more.").err, "overage")
	})
	t.Run("paid overage is announced, not a failure", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Overage{Text: "Done on overage.", Reset: time.Now().Add(time.Hour)}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Codex was asked."}),
		})
		r := b.want(0, "run", "--chain", "claude,codex", prompt)
		has(t, r.out, "Done on overage.")
		has(t, r.err, "overage")
		lacks(t, r.err, "Switched")
	})
	t.Run("an unknown model is the engine's own: a clear error, nothing moves", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.ModelNotFound{}), OpenAI: fakeapi.Steps(fakeapi.Text{Text: "x"})})
		r := b.want(1, "run", "--chain", "claude:nonsense,codex", prompt)
		has(t, r.err, "does not have that model", "name another model")
		if n := b.sent(fakeapi.OpenAI, prompt); n != 0 {
			t.Errorf("codex was asked %d times", n)
		}
	})
}

func TestEvents(t *testing.T) {
	t.Run("F30 --json tells a failover as it happens, and no end before it", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Done."}),
		})
		r := b.want(0, "run", "--json", "--chain", "claude,codex", prompt)
		var names []string
		for line := range strings.Lines(r.out) {
			var e struct{ Event, From, To, Why, Status string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			names = append(names, e.Event)
			if e.Event == "failover" && (e.From != "claude" || e.To != "codex" || e.Why != "hit its usage limit") {
				t.Errorf("%+v", e)
			}
		}
		got := strings.Join(names, " ")
		for _, want := range []string{"accepted started ", "failed ", "limit ", "failover "} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing from %q", want, got)
			}
		}
		// What the first engine left running is announced when it is gone, which may
		// be after its successor's start.
		if rest, _ := strings.CutPrefix(got[strings.LastIndex(got, "started "):], "started "); !strings.HasPrefix(strings.TrimPrefix(rest, "announcement "), "text") {
			t.Errorf("no text follows the successor's start in %q", got)
		}
		if strings.Count(got, "finished") != 1 || !strings.HasSuffix(got, "finished") {
			t.Errorf("finished once, at the end: %q", got)
		}
	})
}

func TestCage(t *testing.T) {
	for engine, script := range map[string]func(fakeapi.Answer) fakeapi.Script{
		"claude": func(a fakeapi.Answer) fakeapi.Script {
			return fakeapi.Script{Anthropic: fakeapi.Steps(a, fakeapi.Text{Text: "Tried."})}
		},
		"codex": func(a fakeapi.Answer) fakeapi.Script {
			return fakeapi.Script{OpenAI: fakeapi.Steps(a, fakeapi.Text{Text: "Tried."})}
		},
	} {
		t.Run("F44 in edit mode the kernel refuses "+engine+" a write outside the tree", func(t *testing.T) {
			outside := elsewhere(t)
			b := newBed(t, script(fakeapi.Shell("printf in > inside.txt; printf out > "+outside+" || echo refused > refused.txt")))
			b.want(0, "run", "-e", engine, "--mode", "edit", prompt)
			if b.file("inside.txt") != "in" || b.file("refused.txt") != "refused\n" {
				t.Error("the tree cannot be written to")
			}
			if _, err := os.Stat(outside); err == nil {
				t.Error("it wrote outside the tree")
			}
			has(t, b.want(0, "why", "-c").out, "held in: edit mode, may write in", b.project, "by landlock")
		})
		t.Run("F44 in read mode "+engine+" writes nothing in the tree", func(t *testing.T) {
			b := newBed(t, script(fakeapi.Shell("printf in > inside.txt")))
			b.want(0, "run", "-e", engine, "--mode", "read", prompt)
			if _, err := os.Stat(b.path("inside.txt")); err == nil {
				t.Error("it wrote")
			}
		})
		t.Run("in full mode "+engine+" works as root too, and may write outside", func(t *testing.T) {
			b := newBed(t, script(fakeapi.Shell("printf out > ../outside.txt")))
			b.want(0, "run", "-e", engine, "--mode", "full", prompt)
			if _, err := os.Stat(b.path("../outside.txt")); err != nil {
				t.Error(err)
			}
		})
		t.Run("F8 in ask mode with nobody there "+engine+" ends with 5", func(t *testing.T) {
			b := newBed(t, script(fakeapi.Shell("printf in > inside.txt")))
			r := b.want(5, "run", "-e", engine, "--mode", "ask", prompt)
			has(t, r.err, "asks for permission, and nobody attends")
			if _, err := os.Stat(b.path("inside.txt")); err == nil {
				t.Error("it did not wait for the answer")
			}
		})
	}
}

// elsewhere is a file that no mode but full may write: not below a temporary
// folder, which every run may use.
func elsewhere(t *testing.T) string {
	t.Helper()
	here, _ := os.Getwd()
	home, _ := os.UserHomeDir()
	for _, dir := range []string{here, home, "/run", "/srv", "/opt"} {
		if dir == "" || strings.HasPrefix(dir, "/tmp") || strings.HasPrefix(dir, "/var/tmp") || strings.HasPrefix(dir, os.TempDir()) {
			continue
		}
		path := filepath.Join(dir, ".paceline-e2e-outside")
		if err := os.WriteFile(path, nil, 0o600); err == nil {
			_ = os.Remove(path)
			t.Cleanup(func() { _ = os.Remove(path) })
			return path
		}
	}
	t.Skip("not run: there is no folder outside of the temporary ones that could be written to")
	return ""
}
