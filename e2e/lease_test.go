package e2e

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestTreeLease(t *testing.T) {
	slowly := func(name string) fakeapi.ToolCall {
		return fakeapi.Shell("echo begin " + name + " >> log.txt; sleep 1; echo end " + name + " >> log.txt")
	}
	t.Run("P4 Z49 two threads of one tree write one after the other, and the second one is told; one that reads does not wait", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(slowly("claude"), fakeapi.Text{Text: "Claude is done."}),
			OpenAI:    fakeapi.Steps(slowly("codex"), fakeapi.Text{Text: "Codex is done."}),
		})
		first := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", prompt).out)
		until(t, "the first writes", func() bool { _, err := os.Stat(b.path("log.txt")); return err == nil })
		second := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "codex", "Another one.").out)
		r := b.want(0, "attach", second)
		has(t, r.out, "Codex is done.")
		has(t, b.want(0, "show", second).out, "Waiting: another thread's run writes in this tree.")
		has(t, b.want(0, "attach", first).out, "Claude is done.")
		if got := b.file("log.txt"); got != "begin claude\nend claude\nbegin codex\nend codex\n" {
			t.Errorf("%s", got)
		}
		b.vendors.Play(fakeapi.Anthropic, fakeapi.Steps(fakeapi.Shell("sleep 8"), fakeapi.Text{Text: "Slept."})...)
		b.vendors.Play(fakeapi.OpenAI, fakeapi.Steps(fakeapi.Text{Text: "Looked."})...)
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", "Sleep.").out)
		until(t, "it runs", func() bool { return b.sent(fakeapi.Anthropic, "Sleep.") == 1 })
		has(t, b.want(0, "run", "-e", "codex", "--mode", "read", "Look.").out, "Looked.")
		b.want(0, "stop", id)
	})
	t.Run("P4 Z51 a thread waits for what another one's killed server left alive in its tree", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell(strings.Replace(beating(1), ") >/dev/null 2>&1 & sleep 0.15", ")", 1))),
			OpenAI:    fakeapi.Steps(fakeapi.Shell(beating(2)), fakeapi.Text{Text: "Codex is done."}),
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		first, _, _ := b.command(ctx, "run", "-e", "claude", prompt)
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "it writes", func() bool { info, err := os.Stat(b.path("beat.txt")); return err == nil && info.Size() > 20 })
		guards := guardsOf(first.Process.Pid)
		for _, pid := range guards {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
		}
		_ = first.Process.Kill()
		_ = first.Wait()
		time.AfterFunc(3*time.Second, func() {
			for _, pid := range guards {
				_ = syscall.Kill(pid, syscall.SIGCONT)
			}
		})
		r := b.want(0, "run", "-e", "codex", "Another one.")
		has(t, r.out, "Codex is done.")
		if len(guards) == 0 || b.fenced() != "2" {
			t.Error("nothing was tried")
		}
		b.quiet()
	})
	t.Run("bug-66 two who send to one thread at once: each is answered once, one after the other, in one conversation", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Begun."}, fakeapi.Text{Text: "Answer one.", Delay: time.Second}, fakeapi.Text{Text: "Answer two."})})
		b.want(0, "run", "-e", "claude", prompt)
		th := b.thread()
		answers := make(chan result, 2)
		for _, text := range []string{"First of two.", "Second of two."} {
			go func() { answers <- b.paceline("run", "-t", th, text) }()
		}
		all := ""
		for range 2 {
			r := <-answers
			if r.code != 0 {
				t.Error(r)
			}
			all += r.out
		}
		has(t, all, "Answer one.", "Answer two.")
		b.once("First of two.", 1, 0)
		b.once("Second of two.", 1, 0)
		reqs := b.vendors.Requests()
		if last := reqs[len(reqs)-1]; !last.Says("First of two.") || !last.Says("Second of two.") {
			t.Errorf("they are not in one conversation: %q", last.Prompts)
		}
	})
}
