package run

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
)

// seated is an idle thread on claude, with codex and third below it.
func seated(change ...func(*SeatFacts)) SeatFacts {
	f := SeatFacts{
		Now: now, Held: engine("claude"), Been: []paceline.Engine{engine("claude")},
		Chain: []place.Candidate{candidate("claude"), candidate("codex"), candidate("third")},
	}
	for _, do := range change {
		do(&f)
	}
	return f
}

func to(name string, change ...func(*place.Candidate)) func(*SeatFacts) {
	return func(f *SeatFacts) {
		c := candidate(name)
		for _, do := range change {
			do(&c)
		}
		f.Target = &c
	}
}

func limited(c *place.Candidate) {
	c.Limit = &paceline.Limit{Engine: c.Engine, Reset: stated(time.Hour)}
}

func next(name string, home bool) func(*SeatFacts) {
	return func(f *SeatFacts) { f.Seat.Next = &Move{Engine: engine(name), Home: home, At: now.Add(-time.Minute)} }
}

// displaced has the thread on codex, since claude once had it.
func displaced(f *SeatFacts) {
	f.Held, f.Been = engine("codex"), []paceline.Engine{engine("claude"), engine("codex")}
}

func working(f *SeatFacts) { f.Working, f.Prompt = true, true }

func force(f *SeatFacts) { f.Force = true }

func TestWishes(t *testing.T) {
	const again, idle, busy = "on record already", "with the next message", "when this turn has ended"
	for _, tt := range []struct {
		name string
		wish func(SeatFacts) Answer
		f    SeatFacts
		code int
		next string // where the seat goes with the next message
		home bool
		base string
		says string // in what, why, when, hint or the exclusions
		same bool   // nothing changes
	}{
		{name: "Z40 an idle seat is handed over with its next message", wish: Handover, f: seated(to("codex")), next: "codex", says: idle},
		{name: "Z42 a running turn is not cut: it moves after it", wish: Handover, f: seated(to("codex"), working), next: "codex", says: busy},
		{name: "Z91 with --force it moves now, in the middle of the turn", wish: Handover, f: seated(to("codex"), working, force), next: "codex", says: "| now |"},
		{name: "Z91 --force hurries a move that was asked for before", wish: Handover, f: seated(to("codex"), working, force, next("codex", false)), next: "codex", says: "| now |"},
		{name: "Z91 --force changes nothing where nothing runs", wish: Handover, f: seated(to("codex"), force), next: "codex", says: idle},
		{name: "Z42 a message that waits for an engine goes there at once", wish: Handover, f: seated(to("codex"), func(f *SeatFacts) { f.Waiting = true }), next: "codex", says: "| now |"},
		{name: "F12 what is no prompt is not carried on elsewhere", wish: Handover, f: seated(to("codex"), working, force, func(f *SeatFacts) { f.Prompt = false }), code: 1, says: "without --force"},
		{name: "any engine may be named, outside of the chain too", wish: Handover, f: seated(to("office")), next: "office"},
		{
			name: "Z47 another posture is an operator's act",
			wish: Handover, f: seated(to("codex", func(c *place.Candidate) { c.Posture = paceline.PostureMetered })), next: "codex",
		},
		{name: "without a name the next of the chain is chosen", wish: Handover, f: seated(), next: "codex"},
		{name: "Z41 each engine that was passed over is named with why", wish: Handover, f: seated(func(f *SeatFacts) { limited(&f.Chain[1]) }), next: "third", says: "codex: it is limited until"},
		{
			name: "Z47 no other posture is chosen by itself", wish: Handover,
			f: seated(func(f *SeatFacts) { f.Chain[1].Posture = paceline.PostureMetered }), next: "third", says: "codex: its posture is metered",
		},
		{name: "a model goes along as it was written", wish: Handover, f: seated(func(f *SeatFacts) { f.Model = "deep" }), next: "codex:deep"},
		{name: "nobody below it is a refusal that names everybody", wish: Handover, f: seated(func(f *SeatFacts) { f.Chain = f.Chain[:1] }), code: 3, says: "claude: it stands at or above"},
		{name: "Z46 an engine that is limited is refused, with until when", wish: Handover, f: seated(to("codex", limited)), code: 3, says: "until 2026-12-01T03:00:00Z (stated)"},
		{name: "Z46 one that is signed out asks for a sign-in", wish: Handover, f: seated(to("codex", func(c *place.Candidate) { c.Unready, c.SignedOut = "nobody is signed in", true })), code: 4, says: "sign in to codex"},
		{name: "Z46 one that is not installed is refused", wish: Handover, f: seated(to("codex", func(c *place.Candidate) { c.Unready = "it is not installed" })), code: 2, says: "not installed"},
		{name: "said twice, nothing changes", wish: Handover, f: seated(to("codex"), next("codex", false)), next: "codex", says: again, same: true},
		{name: "said twice without a name, it does not move on", wish: Handover, f: seated(next("codex", false)), next: "codex", says: again, same: true},
		{name: "another name replaces the first", wish: Handover, f: seated(to("third"), next("codex", false)), next: "third"},
		{name: "naming who has the seat takes a pending move back", wish: Handover, f: seated(to("claude"), next("codex", false)), says: "has the seat already"},
		{name: "naming who has the seat at home changes nothing", wish: Handover, f: seated(to("claude")), says: "has the seat already", same: true},
		{name: "Z37 a handover to where it was moved owes no return", wish: Handover, f: seated(displaced, to("codex")), base: "codex"},
		{name: "Z43 a call that nobody knows the end of halts it", wish: Handover, f: seated(to("codex"), func(f *SeatFacts) { f.Silent = []string{"Bash: deploy"} }), code: 5, says: "Bash: deploy"},
		{name: "an archived thread moves nowhere", wish: Handover, f: seated(to("codex"), func(f *SeatFacts) { f.Archived = true }), code: 1, says: "archived"},
		{name: "a thread that has not begun begins there", wish: Handover, f: seated(to("codex"), func(f *SeatFacts) { f.Held, f.Been = paceline.Engine{}, nil }), next: "codex"},

		{name: "Z36 Z38 a displaced thread goes home with its next message", wish: GoHome, f: seated(displaced), next: "claude", home: true, says: idle},
		{name: "Z39 not within a turn", wish: GoHome, f: seated(displaced, working), next: "claude", home: true, says: busy},
		{name: "Z37 the first displacement wins", wish: GoHome, f: seated(displaced, func(f *SeatFacts) { f.Held, f.Been = engine("third"), append(f.Been, engine("third")) }), next: "claude", home: true},
		{name: "Z38 from outside of the chain as well", wish: GoHome, f: seated(func(f *SeatFacts) { f.Held, f.Seat.Base = engine("office"), engine("office") }), next: "claude", home: true, base: "office"},
		{name: "a thread at home stays there, and says so", wish: GoHome, f: seated(), says: "at home on claude", same: true},
		{name: "an engine that never had the thread is not its home", wish: GoHome, f: seated(func(f *SeatFacts) { f.Held, f.Been = engine("codex"), []paceline.Engine{engine("codex")} }), says: "at home on codex", same: true},
		{name: "a move that was not made yet is taken back", wish: GoHome, f: seated(next("codex", false)), says: "taken back"},
		{name: "Z39 a home that is limited is refused, with until when", wish: GoHome, f: seated(displaced, func(f *SeatFacts) { limited(&f.Chain[0]) }), code: 3, says: "until 2026-12-01T03:00:00Z"},
		{name: "going home twice is once", wish: GoHome, f: seated(displaced, next("claude", true)), next: "claude", home: true, says: again, same: true},
		{name: "going home replaces a handover elsewhere", wish: GoHome, f: seated(displaced, next("third", false)), next: "claude", home: true},
		{name: "Z43 not with a call that nobody knows the end of", wish: GoHome, f: seated(displaced, func(f *SeatFacts) { f.Silent = []string{"Bash: deploy"} }), code: 5},

		{name: "Z60 an idle seat is parked, its conversation kept", wish: Park, f: seated(), says: "its conversation is kept"},
		{name: "Z60 a turn goes to its end first", wish: Park, f: seated(working), says: "when this turn has ended"},
		{name: "parked twice is once", wish: Park, f: seated(func(f *SeatFacts) { f.Seat.Parked = now.Add(-time.Hour) }), says: "parked already", same: true},
		{name: "an archived thread is not parked", wish: Park, f: seated(func(f *SeatFacts) { f.Archived = true }), code: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.f.Seat
			a := tt.wish(tt.f)
			told := strings.Join([]string{a.What, a.Why, a.When, a.Hint, excluded(a.Out)}, " | ")
			if a.Code != tt.code || !strings.Contains(told, tt.says) {
				t.Errorf("exit %d, want %d with %q: %s", a.Code, tt.code, tt.says, told)
			}
			if a.Change != (tt.code == 0 && !tt.same) || !a.Change && !cmp.Equal(a.Seat, before) {
				t.Errorf("changed is %t: %+v became %+v", a.Change, before, a.Seat)
			}
			var got Move
			if a.Seat.Next != nil {
				got = *a.Seat.Next
			}
			if got.Engine.String() != tt.next || got.Home != tt.home || a.Seat.Base.String() != tt.base {
				t.Errorf("next %+v, base %q", got, a.Seat.Base)
			}
		})
	}
}

func TestTook(t *testing.T) {
	claude, codex := engine("claude"), engine("codex")
	over, home := Move{Engine: codex, At: now}, Move{Engine: claude, Home: true, At: now}
	t.Run("Z37 after a handover its engine stands first, so nothing goes back by itself", func(t *testing.T) {
		s := Seat{Next: &over}.Took(over)
		if got := s.Chain([]paceline.Engine{claude, codex}); s.Next != nil || !cmp.Equal(got, []paceline.Engine{codex, claude}) {
			t.Errorf("%+v, chain %v", s, got)
		}
	})
	t.Run("Z37 coming home clears the debt", func(t *testing.T) {
		s := Seat{Base: codex, Next: &home}.Took(home)
		if !cmp.Equal(s, Seat{}) {
			t.Errorf("%+v", s)
		}
	})
	t.Run("a move that was replaced meanwhile is not taken for the new one", func(t *testing.T) {
		if s := (Seat{Next: &home}).Took(over); s.Next == nil || s.Base.Valid() {
			t.Errorf("%+v", s)
		}
	})
	t.Run("Z40 the generation counts who held it, in turn", func(t *testing.T) {
		runs := []State{{Engine: claude, Sent: true}, {Engine: claude, Sent: true}, {Engine: codex}, {Engine: codex, Sent: true}, {Engine: claude, Sent: true}}
		if n := Generation(runs); n != 3 {
			t.Errorf("%d", n)
		}
	})
}
