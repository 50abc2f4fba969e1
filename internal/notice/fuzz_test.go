package notice

import (
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline"
)

// FuzzRead holds the parser to what no bytes may break: it ends, and nothing
// that counts from the notice lies before it.
func FuzzRead(f *testing.F) {
	for _, r := range corpus(f) {
		f.Add("", int64(0), r.Text)
	}
	f.Add("RESOURCE_EXHAUSTED", int64(429), `{"error":{"code":429,"details":[{"retryDelay":"1s"}]}}`)
	f.Add("", int64(529), "HTTP/1.1 529\nretry-after: 99999999999999999999\n\n{")
	zones := []string{"UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia"}
	f.Fuzz(func(t *testing.T, code string, status int64, text string) {
		for _, zone := range zones {
			at := in(t, zone, "2026-12-01 02:00:00")
			n := Read(Call{code, status, text}, at)
			counted := n.Origin == Clock || n.Origin == Relative
			if counted && n.Reset.At.Before(at.Add(-slack)) {
				t.Errorf("%s lies before its notice", n.Reset.At)
			}
			if n.Reset.Known() && n.Reset.At.Sub(at) > maxDelay {
				t.Errorf("%s is further than any usage window", n.Reset.At)
			}
			if n.Reset.Known() != (n.Origin != NoMoment) || n.Reset.Known() != (n.Reset.Source != paceline.ResetNone) {
				t.Errorf("%v from %s", n.Reset, n.Origin)
			}
		}
		if n := Read(Call{code, status, text}, time.Time{}); n.Origin == Clock || n.Origin == Relative {
			t.Error("a time was resolved before its notice")
		}
		for _, channel := range []string{"stdout_text", "structured_json", "transcript_row"} {
			From(channel, text, time.Unix(1796106633, 0))
		}
		if n := From("model_text", text, time.Unix(1796106633, 0)); n.Class != None {
			t.Error("a model's words became a notice")
		}
		Delay(text, time.Unix(1796106633, 0))
	})
}

// TestSize: a text of any size is read in a bounded share of it, at its head
// and its tail. The bound on time itself is a benchmark's (BenchmarkLong).
func TestSize(t *testing.T) {
	at := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	const size = 10 << 20
	for _, tt := range []struct{ name, text, want string }{
		{"A5 10 MB that end in a notice", strings.Repeat("x ", size/2) + "\nYou've hit your limit · resets 3pm (UTC)", "usage_limit 2026-12-01T15:00:00Z derived"},
		{"A5 a notice before 10 MB", "You've hit your limit · resets 3pm (UTC)\n" + strings.Repeat("x ", size/2), "usage_limit 2026-12-01T15:00:00Z derived"},
		{"A5 10 MB of digits", strings.Repeat("1", size), "none"},
		{"A5 10 MB of open brackets", strings.Repeat("{", size), "none"},
		{"A5 10 MB of anchors", strings.Repeat("try again in ", size/13), "none"},
		{"A5 10 MB of JSON in JSON", strings.Repeat(`{"error":`, size/9), "none"},
		{"A5 10 MB of quotes", strings.Repeat(`"`, size), "none"},
		{"A5 10 MB of the word before limits", strings.Repeat("your limit ", size/11), "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tell(Read(Call{Text: tt.text}, at)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func BenchmarkLong(b *testing.B) {
	at := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	for _, unit := range []string{"x ", "1", "{", "try again in ", `{"error":`, "your limit ", "\x1b[3"} {
		text := strings.Repeat(unit, (10<<20)/len(unit))
		b.Run(strings.TrimSpace(unit), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Read(Call{Text: text}, at)
			}
		})
	}
}
