package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestHandover(t *testing.T) {
	t.Run("Z36 Z37 Z38 Z40 Z41 Z92 an idle thread is handed over and goes home: a packet each way, and no prompt twice", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "First, by claude."}, fakeapi.Text{Text: "Fourth, at home."}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Second, by codex."}, fakeapi.Text{Text: "Third, by codex."}),
		})
		b.want(0, "run", "--chain", "claude,codex", "The first message.")
		th := b.thread()
		has(t, b.want(0, "home", th).out, "the thread is at home on claude")
		has(t, b.want(2, "handover", th, "-e", "nobody").err, `no engine is named "nobody"`, "claude, codex")
		has(t, b.want(0, "handover", th, "--dry-run").out, "would do", "hand over to codex", "not claude: it stands at or above")
		lacks(t, b.want(0, "show", "-c").out, "the next message goes")

		has(t, b.want(0, "handover", th, "-e", "codex").out, "hand over to codex, with the next message", "The conversation of claude is kept.")
		has(t, b.want(0, "handover", th[:len(th)-1], "-e", "codex").out, "on record already")
		has(t, b.want(0, "status").out, "seat: claude gen 1; the next message goes to codex")
		r := b.want(0, "run", "-c", "The second message.")
		has(t, r.out, "Second, by codex.")
		has(t, r.err, "Handed over from claude to codex, as its user asked")
		has(t, b.opened(fakeapi.OpenAI)[0], "You take over a conversation that claude held", "| The first message.", "| First, by claude.")
		has(t, b.want(0, "run", "-c", "The third message.").out, "Third, by codex.") // nothing goes back by itself
		has(t, b.want(0, "show", "-c").out, "seat: codex gen 2, set aside: claude")

		var a struct {
			To, When string
			Changed  bool
		}
		if err := json.Unmarshal([]byte(b.want(0, "home", th, "--json").out), &a); err != nil || a.To != "claude" || !a.Changed {
			t.Errorf("%+v, %v", a, err)
		}
		has(t, b.want(0, "home", th).out, "on record already")
		r = b.want(0, "run", "-c", "The fourth message.")
		has(t, r.out, "Fourth, at home.")
		has(t, r.err, "Back on claude, in the conversation that was set aside.")
		got := b.opened(fakeapi.Anthropic)
		last := got[len(got)-1]
		has(t, last, "| The second message.", "| Third, by codex.")
		lacks(t, last, "First, by claude.")
		if !strings.HasSuffix(strings.TrimSpace(last), "The fourth message.") {
			t.Errorf("the message is not last: %s", last)
		}
		for prompt, n := range map[string][2]int{"The first message.": {1, 1}, "The second message.": {1, 1}, "The third message.": {1, 1}, "The fourth message.": {1, 0}} {
			b.once(prompt, n[0], n[1]) // as a prompt at one of them; quoted in a packet to the other
		}
		has(t, b.want(0, "why", th).out, "hand over to codex: its user asked for it", "its user asked for a handover", "go home to claude")
		has(t, b.want(0, "show", "-c").out, "seat: claude gen 3, set aside: codex")
	})
	t.Run("Z60 a parked thread begins nothing that waits, until another message comes", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(slowly(30), fakeapi.Text{Text: "Two."}, fakeapi.Text{Text: "Three."})})
		b.want(0, "run", "--detach", "-e", "claude", "One?")
		th := b.thread()
		until(t, "the turn runs", func() bool { return b.sent(fakeapi.Anthropic, "One?") == 1 })
		b.want(0, "send", th, "Two?")
		has(t, b.want(0, "park", th).out, "park, when this turn has ended", "`paceline send "+th+" TEXT` goes on in it")
		has(t, b.want(0, "park", th).out, "it is parked already")
		has(t, b.want(3, "attach", th).err, "is parked by its user", "another message")
		has(t, b.want(0, "status").out, "parked", "until it gets a message")
		if b.sent(fakeapi.Anthropic, "Two?") != 0 || b.running("claude") {
			t.Error("it does not rest")
		}
		has(t, b.want(0, "run", "-c", "Three?").out, "Three.")
		b.once("Two?", 1, 0)
		b.once("Three?", 1, 0)
	})
	t.Run("Z46 an engine that is limited is not handed over to, and the answer says until when", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(limit()),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "First, by codex."}),
		})
		b.want(0, "run", "--chain", "claude,codex", "The first message.")
		th := b.thread()
		has(t, b.want(3, "handover", th, "-e", "claude").err, "claude cannot take the seat: it is limited until")
		has(t, b.want(3, "home", th).err, "it is limited until")
		has(t, b.want(3, "handover", th).err, "no engine of the chain can take the seat", "codex: it stands at or above")
		has(t, b.want(0, "why", th).out, "no home: claude cannot take the seat")
	})
}
