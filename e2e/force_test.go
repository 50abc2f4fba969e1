package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestForce(t *testing.T) {
	const two = "Write one.txt and two.txt please."
	detached := func(b *bed, args ...string) string {
		return strings.TrimSpace(b.want(0, append([]string{"run", "--detach"}, args...)...).out)
	}
	thinks := func(b *bed) {
		until(t, "claude is asked again", func() bool {
			n := 0
			for _, r := range b.vendors.Requests() {
				if r.Main && r.Vendor == fakeapi.Anthropic {
					n++
				}
			}
			return n == 2
		})
	}
	t.Run("Z42 Z91 claude is handed over while its model thinks, after one of two files: codex gets the packet and writes the other", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf claude > one.txt"), fakeapi.Hang{}),
			OpenAI:    fakeapi.Steps(fakeapi.Shell("printf codex > two.txt"), fakeapi.Text{Text: "Both are there."}),
		})
		id := detached(b, "--chain", "claude,codex", two)
		thinks(b)
		has(t, b.want(0, "handover", id, "-e", "codex", "--force", "--dry-run").out, "would do", "hand over to codex, now")
		has(t, b.want(0, "handover", id, "-e", "codex", "--force").out, "hand over to codex, now", "The conversation of claude is kept.")
		r := b.want(0, "attach", id)
		has(t, r.out, "Both are there.")
		has(t, b.want(0, "why", id).out, "its user wants the seat there", "in a packet, the prompt does not")
		if b.file("one.txt") != "claude" || b.file("two.txt") != "codex" {
			t.Error("the files are not what each wrote")
		}
		b.once(two, 1, 1) // quoted in the packet
		has(t, b.opened(fakeapi.OpenAI)[0], "You take over work that", "printf claude > one.txt", "| "+two)
		has(t, b.want(0, "show", id).out, "seat: codex gen 2")
		b.want(0, "server", "stop")
		b.quiet()
	})
	t.Run("Z91 codex is handed over before any work: claude is sent the prompt, once", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			OpenAI:    fakeapi.Steps(fakeapi.Hang{}),
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Claude was here."}),
		})
		id := detached(b, "--chain", "codex,claude", prompt)
		until(t, "codex is asked", func() bool { return b.sent(fakeapi.OpenAI, prompt) == 1 })
		b.want(0, "handover", id, "--force")
		has(t, b.want(0, "attach", id).out, "Claude was here.")
		b.once(prompt, 1, 1)
		b.want(0, "server", "stop")
		b.quiet()
	})
	t.Run("Z42 Z43 a command in the middle is ended with its engine, halts the successor, and work goes on there once it is settled", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf begun > begun.txt; sleep 60; printf ended > ended.txt")),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Codex looked."}),
		})
		id := detached(b, "--chain", "claude,codex", prompt)
		until(t, "the command runs", func() bool { _, err := os.Stat(b.path("begun.txt")); return err == nil })
		b.want(0, "handover", id, "-e", "codex", "--force")
		r := b.paceline("attach", id)
		if r.code == 5 { // claude reports a call that it was interrupted in, or does not live to
			has(t, r.err, "paceline reconcile")
			out := b.want(5, "reconcile", id)
			_, hint, _ := strings.Cut(out.err, "look, then: paceline ")
			hint, _, _ = strings.Cut(hint, "   (")
			b.want(0, strings.Fields(hint)...)
			r = b.want(0, "attach", id)
		}
		has(t, r.out, "Codex looked.")
		has(t, b.opened(fakeapi.OpenAI)[0], "You take over work that", "sleep 60")
		if _, err := os.Stat(b.path("ended.txt")); err == nil {
			t.Error("the command went on")
		}
		b.once(prompt, 1, 1) // quoted in the packet
		b.want(0, "server", "stop")
		b.quiet()
	})
	t.Run("Z30 bug-43 the engine that was to take over is limited: claude goes on in its own conversation", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf claude > one.txt"), fakeapi.Hang{}, fakeapi.Text{Text: "I went on."}),
			OpenAI:    fakeapi.Steps(limit()),
		})
		id := detached(b, "--chain", "claude,codex", two)
		thinks(b)
		b.want(0, "handover", id, "-e", "codex", "--force")
		r := b.want(0, "attach", id)
		has(t, r.out, "I went on.")
		b.once(two, 1, 1) // quoted in the packet
		got := b.opened(fakeapi.Anthropic)
		if last := got[len(got)-1]; strings.Contains(last, two) {
			t.Errorf("claude was sent the prompt again: %s", last)
		}
		all := b.vendors.Requests()
		if last := all[len(all)-1]; !last.Says(two) {
			t.Error("its conversation was not taken up")
		}
		has(t, b.want(0, "show", id).out, "seat: claude")
		b.want(0, "server", "stop")
	})
	t.Run("Z42 a message that waits for a limit is handed over at once", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf claude > one.txt"), fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
			OpenAI:    fakeapi.Steps(fakeapi.Shell("printf codex > two.txt"), fakeapi.Text{Text: "Both are there."}),
		})
		b.waits = true
		id := detached(b, "-e", "claude", two)
		until(t, "it waits", func() bool { return strings.Contains(b.want(0, "status").out, " waits for claude") })
		has(t, b.want(0, "handover", id, "-e", "codex").out, "hand over to codex, now")
		has(t, b.want(0, "attach", id).out, "Both are there.")
		b.once(two, 1, 1) // quoted in the packet
		if b.file("one.txt") != "claude" || b.file("two.txt") != "codex" {
			t.Error("the files are not what each wrote")
		}
		b.want(0, "server", "stop")
	})
}
