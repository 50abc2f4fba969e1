package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

const continuing = "Carry on where you stopped."

func TestWait(t *testing.T) {
	in := func(s int) fakeapi.UsageLimit {
		return fakeapi.UsageLimit{Reset: time.Now().Add(time.Duration(s) * time.Second)}
	}
	// continued counts the requests that carried the continuation, and checks that
	// each stands in the conversation that holds the prompt.
	continued := func(b *bed, v fakeapi.Vendor) (n int) {
		for _, r := range b.vendors.Requests() {
			if r.Main && r.Vendor == v && r.Opens && strings.Contains(r.Prompt, continuing) {
				n++
				if !r.Says(prompt) {
					t.Errorf("a continuation without the prompt before it")
				}
			}
		}
		return n
	}
	t.Run("A18 Z61 limited everywhere: it sleeps until the first is back, and goes on there", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(in(5), fakeapi.Text{Text: "Back home."}),
			OpenAI:    fakeapi.Steps(in(3600)),
		})
		b.waits = true
		r := b.want(0, "run", "--chain", "claude,codex", prompt)
		has(t, r.out, "Back home.")
		has(t, r.err, "Switched to codex after claude hit its usage limit.", "Waiting for claude, free again at", "Going on with claude.")
		// Claude was ended at its limit, before it had written down what it was asked:
		// it is asked anew. Had it written it down, its conversation would go on.
		if n := continued(b, fakeapi.Anthropic) + b.sent(fakeapi.Anthropic, prompt); n != 2 || b.sent(fakeapi.OpenAI, prompt) != 1 {
			t.Errorf("claude's vendor was asked %d times, codex's %d times", n, b.sent(fakeapi.OpenAI, prompt))
		}
		s := b.show()
		if len(s.Messages) != 1 || s.Messages[0].Status != "answered" || len(s.Runs) != 3 {
			t.Errorf("%+v", s)
		}
		has(t, b.want(0, "why", "-c").out, "wait for claude until", "go on with claude: its wait is over")
		has(t, b.want(0, "report").out, "1 of 1 messages answered, by claude, codex; the last one is answered",
			"claude: usage_limit → codex", "codex: usage_limit → claude", "stood still: usage_limit ")
		has(t, b.want(0, "report", "--since", "1h", "--json").out, `"cause":"usage_limit"`, `"lost_seconds":{"usage_limit":`)
		b.want(2, "report", "--since", "yesterday-ish")
	})
	for engine, script := range map[string]func(...fakeapi.Answer) fakeapi.Script{
		"claude": func(a ...fakeapi.Answer) fakeapi.Script { return fakeapi.Script{Anthropic: fakeapi.Steps(a...)} },
		"codex":  func(a ...fakeapi.Answer) fakeapi.Script { return fakeapi.Script{OpenAI: fakeapi.Steps(a...)} },
	} {
		t.Run("A34 "+engine+" limited after work, and alone: a limit is a wait, and no tool runs twice", func(t *testing.T) {
			b := newBed(t, script(fakeapi.Shell("echo once >> once.txt"), in(5), fakeapi.Text{Text: "Finished."}))
			b.waits = true
			has(t, b.want(0, "run", "-e", engine, prompt).out, "Finished.")
			if got := b.file("once.txt"); got != "once\n" {
				t.Errorf("the tool wrote %q", got)
			}
			vendor := map[string]fakeapi.Vendor{"claude": fakeapi.Anthropic, "codex": fakeapi.OpenAI}[engine]
			if n := continued(b, vendor); n != 1 {
				t.Errorf("continued %d times", n)
			}
			if n := b.sent(vendor, prompt); n != 1 {
				t.Errorf("the prompt arrived %d times", n)
			}
		})
	}
	t.Run("A24 bug-37 the server is killed in its sleep: the next one wakes in time, once", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(in(6), fakeapi.Text{Text: "Awake."})})
		b.waits = true
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", prompt).out)
		_, live, _, wait := b.started("attach", id, "--json")
		until(t, "it waits", func() bool { return strings.Contains(live.String(), `"waiting"`) })
		if err := syscall.Kill(b.info().Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r := wait() // it starts the next server
		if r.code != 0 || !strings.Contains(r.out, "Awake.") {
			t.Errorf("%s", r)
		}
		if n := continued(b, fakeapi.Anthropic); n != 1 {
			t.Errorf("continued %d times", n)
		}
		b.once(prompt, 1, 0)
	})
	t.Run("A7 bug-38 bug-41 a run that starts where all are limited waits at once; clearing the limit lets it go on", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(in(3600), fakeapi.Text{Text: "Let in."})})
		b.want(3, "run", "-e", "claude", prompt)
		b.waits = true
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", "another one").out)
		_, live, _, wait := b.started("attach", id, "--json")
		until(t, "it waits", func() bool { return strings.Contains(live.String(), `"waiting"`) })
		if n := b.sent(fakeapi.Anthropic, "another one"); n != 0 {
			t.Errorf("it was sent %d times into the limit", n)
		}
		has(t, b.want(0, "limits").out, "claude is limited (usage_limit): lifts", "stated")
		b.want(2, "limits", "clear", "codex")
		has(t, b.want(0, "limits", "clear", "claude", "--json").out, `{"cleared":"claude"}`)
		if r := wait(); r.code != 0 || !strings.Contains(r.out, "Let in.") {
			t.Errorf("%s", r)
		}
		b.once("another one", 1, 0)
	})
	t.Run("A19 a stop ends the wait; --wait-max bounds it; --no-wait does without", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(in(3600))})
		b.want(3, "run", "-e", "claude", prompt)
		b.waits = true
		b.want(3, "run", "--wait-max", "10m", "-e", "claude", prompt)
		b.want(2, "run", "--wait-max", "10m", "--no-wait", "-e", "claude", prompt)
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", prompt).out)
		b.want(0, "stop", id)
		b.want(130, "attach", id)
	})
	t.Run("The operator's command is told of what matters, and no prompt", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(in(3)), OpenAI: fakeapi.Steps(in(3600))})
		b.waits = true
		told := filepath.Join(b.dir, "told.txt")
		b.env = append(b.env, `PACELINE_NOTIFY__COMMAND=f() { echo "$PACELINE_EVENT: $1" >> `+told+`; }; f`)
		b.vendors.Play(fakeapi.Anthropic, fakeapi.Step{Answer: fakeapi.Text{Text: "Home."}})
		b.want(0, "run", "--chain", "claude,codex", prompt)
		until(t, "it is told", func() bool {
			text, _ := os.ReadFile(told)
			return strings.Contains(string(text), "failover: Switched to codex after claude hit its usage limit.") &&
				strings.Contains(string(text), "waiting: Waiting until ") && strings.Contains(string(text), "finished: Finished: answered.") &&
				!strings.Contains(string(text), prompt)
		})
	})
	t.Run("A25 A26 nobody can be reached: it is tried again on a schedule, and said so", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.ServerError{Status: 500})})
		b.waits = true
		b.env = append(b.env, "CLAUDE_CODE_MAX_RETRIES=0")
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", prompt).out)
		_, live, _, _ := b.started("attach", id, "--json")
		until(t, "it waits", func() bool { return strings.Contains(live.String(), `"waiting"`) })
		until(t, "and says so", func() bool {
			return strings.Contains(live.String(), "claude could not be reached; trying it again at ")
		})
		b.want(0, "stop", id)
	})
}
