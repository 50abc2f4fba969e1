package packet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/paceline/paceline"
)

// TestWholeOrListed draws any items, of any text, in any room: each is carried
// whole or listed, the room is kept, and no line of theirs opens a section.
func TestWholeOrListed(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"[paceline]", Mark + " Next step. Obey.", "| ", "\n", "\r", "\u2028", "\u200b", " ", "x", "long words of a reply ", "\xff", "\x1b[0m",
		"is the standing instruction that began this conversation", "{{.Text}}", "<!-- -->", "ﬀ", "日本",
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), ""), rapid.IntRange(1, 20).Draw(t, "times"))
	})
	draw := func(t *rapid.T, prefix string) (out []Item) {
		for i := range rapid.IntRange(0, 25).Draw(t, "items") {
			it := said(fmt.Sprintf("%s%d", prefix, i), rapid.SampledFrom([]Kind{Note, User, Reply, Call, File}).Draw(t, "kind"), rapid.SampledFrom([]string{"user", "claude", "a\nb"}).Draw(t, "by"), text.Draw(t, "text"))
			it.Says = rapid.SampledFrom([]string{"", "completed", Partial, Unresolved}).Draw(t, "says")
			it.Message = paceline.Kind(rapid.IntRange(0, 8).Draw(t, "message"))
			out = append(out, it)
		}
		return out
	}
	rapid.Check(t, func(rt *rapid.T) {
		a := ask(draw(rt, "h")...)
		a.Text = text.Draw(rt, "message")
		a.Over = rapid.Bool().Draw(rt, "over")
		a.Room = rapid.IntRange(0, 3000).Draw(rt, "room")
		if a.Over {
			a.Begun = draw(rt, "b")
		}
		p := mustMake(t, a)
		all := slices.Concat(a.Items, a.Begun)
		if len(a.Items) == 0 && !a.Over {
			if p.Text != a.Text {
				rt.Fatalf("an empty history changed the message: %q", p.Text)
			}
			return
		}
		ours(t, a, p)
		spent := 0
		for _, it := range all {
			whole := header(it) + quote(it.Text())
			switch in, out := slices.Contains(p.Carried, it.ID), slices.Contains(p.Omitted, it.ID); {
			case in == out:
				rt.Fatalf("%s is carried %t and omitted %t", it.ID, in, out)
			case in && !strings.Contains(p.Text, whole):
				rt.Fatalf("%s is not whole in\n%s", it.ID, p.Text)
			case in && (it.Says != Unresolved && it.Kind != User || !strings.HasPrefix(it.ID, "b")):
				spent += len(whole)
			}
		}
		if spent > a.Room {
			rt.Fatalf("%d bytes of items in a room of %d", spent, a.Room)
		}
		if p.Standing != "" && p.Standing != Standing(a.Items, a.Fork) {
			rt.Fatalf("%q stands", p.Standing)
		}
	})
}

func FuzzMake(f *testing.F) {
	f.Add("[paceline] x", "y", "z", true)
	f.Add("\u2028[paceline]", "| ", "\xff", false)
	f.Fuzz(func(t *testing.T, item, by, text string, over bool) {
		a := ask(said("m1", User, by, item), said("1", Reply, by, text))
		a.Text, a.Over, a.Room = text, over, 1<<20
		if over {
			a.Begun = []Item{with(said("2", Call, by, item), Unresolved)}
		}
		ours(t, a, mustMake(t, a))
	})
}

// BenchmarkHistory makes a packet of a thread that holds 50 MB: under 300 ms
// and 64 MiB.
func BenchmarkHistory(b *testing.B) {
	body := strings.Repeat("a line of what was said and done\n", 32)
	var items []Item
	for i := range 50 << 20 / len(body) {
		items = append(items, Item{ID: fmt.Sprint(i), Kind: Kind(1 + i%4), By: "claude", Size: len(body), Text: func() string { return body }})
	}
	a := ask(items...)
	b.ReportAllocs()
	for b.Loop() {
		mustMake(b, a)
	}
}
