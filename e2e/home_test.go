package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestHome(t *testing.T) {
	t.Run("A22 A23 Z36 Z38 the limit lifts: the next message goes home, into the conversation that was set aside, with what was done meanwhile", func(t *testing.T) {
		reset := time.Now().Add(8 * time.Second)
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "First, by claude."}, fakeapi.UsageLimit{Reset: reset}, fakeapi.Text{Text: "Third, at home."}, fakeapi.Text{Text: "Fourth, at home."}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Second, by codex."}),
		})
		b.want(0, "run", "--chain", "claude,codex", "The first message.")
		has(t, b.want(0, "run", "-c", "The second message.").out, "Second, by codex.")
		time.Sleep(time.Until(reset.Add(time.Second)))
		r := b.want(0, "run", "-c", "The third message.")
		has(t, r.out, "Third, at home.")
		has(t, r.err, "Back on claude, in the conversation that was set aside.")
		got := b.opened(fakeapi.Anthropic)
		last := got[len(got)-1]
		has(t, last, "[paceline] Your conversation was set aside", "is not to be carried out", "| The second message.", "| Second, by codex.")
		lacks(t, last, "First, by claude.") // it is in the conversation itself
		if !strings.HasSuffix(strings.TrimSpace(last), "is the user's own.\nThe third message.") {
			t.Errorf("the message is not last: %s", last)
		}
		for _, q := range b.vendors.Requests() {
			if q.Main && q.Vendor == fakeapi.Anthropic && strings.Contains(q.Prompt, "The third message.") && !q.Says("The first message.") {
				t.Error("it is not the conversation that was set aside")
			}
		}
		b.want(0, "run", "-c", "The fourth message.")
		if got := b.opened(fakeapi.Anthropic); got[len(got)-1] != "The fourth message." {
			t.Errorf("the fourth message: %q", got[len(got)-1])
		}
		b.once("The second message.", 2, 1) // once to claude as a prompt, refused; once in the packet that says it was answered
		has(t, b.want(0, "why", "-c").out, "it is free again, and its conversation was set aside for this")
	})
	t.Run("A23 while its limit holds, a thread stays where it went", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "First, by claude."}, limit()),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Second, by codex."}, fakeapi.Text{Text: "Third, by codex."}),
		})
		b.want(0, "run", "--chain", "claude,codex", "The first message.")
		b.want(0, "run", "-c", "The second message.")
		has(t, b.want(0, "run", "-c", "The third message.").out, "Third, by codex.")
	})
}
