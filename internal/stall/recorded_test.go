package stall

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
	"github.com/paceline/paceline/internal/wire/claude"
	"github.com/paceline/paceline/internal/wire/codex"
)

// line is one line of a recording, and when it was read.
type line struct {
	at   time.Time
	sent bool // by us
	text []byte
}

func recorded(t *testing.T, harness, name string) (out []line) {
	t.Helper()
	ext := map[string]string{"claude": ".tsv", "codex": ".jsonl"}[harness]
	text, err := os.ReadFile(filepath.Join("testdata", harness, name+ext))
	if err != nil {
		t.Fatal(err)
	}
	for s := range strings.Lines(string(text)) {
		if harness == "codex" {
			v := gjson.Parse(s)
			if v.Get("msg").Exists() {
				out = append(out, line{noon.Add(seconds(v.Get("t").Float())), v.Get("dir").String() == "send", []byte(v.Get("msg").Raw)})
			}
			continue
		}
		at, rest, _ := strings.Cut(strings.TrimRight(s, "\n"), "\t")
		f, err := strconv.ParseFloat(at, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line{noon.Add(seconds(f)), false, []byte(rest)})
	}
	return out
}

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

// TestRecordedSilences gives each recorded stall to a watch with its own clock,
// and then nothing more.
func TestRecordedSilences(t *testing.T) {
	for _, tt := range []struct {
		harness, name string
		cause         paceline.Cause
		within        time.Duration // of the last thing that was heard
	}{
		{"codex", "429-retry-after-long", paceline.CauseThrottle, 65 * time.Second},
		{"codex", "failed-rate-limit-long-forever", paceline.CauseThrottle, 0},
		{"codex", "http-503-retry-after-30", paceline.CauseStall, 7 * time.Minute},
		{"codex", "hang-no-headers-long", paceline.CauseStall, 7 * time.Minute},
		{"codex", "hang-after-headers-default-idle", paceline.CauseStall, 7 * time.Minute},
		{"codex", "refused-forever", paceline.CauseTransport, 6 * time.Minute},
		{"claude", "hang-nobytes-default", paceline.CauseTransport, 62 * time.Second},
		{"claude", "hang-mid-default", paceline.CauseStall, 7 * time.Minute},
		{"claude", "hang-mid", paceline.CauseStall, 7 * time.Minute},
		{"claude", "hang-firstbyte", paceline.CauseStall, 7 * time.Minute},
		{"claude", "hang-firstbyte-wd", paceline.CauseStall, 7 * time.Minute},
		{"claude", "hang-mid-apitimeout", paceline.CauseStall, 7 * time.Minute},
		{"claude", "hang-nobytes", paceline.CauseTransport, 62 * time.Second},
	} {
		t.Run("R1 "+tt.harness+" "+tt.name+" ends within its bound", func(t *testing.T) {
			lines := recorded(t, tt.harness, tt.name)
			w := Begin(Bounds{}.Or(tt.harness), lines[0].at)
			cl, co := claude.New(), codex.New(codex.AppServer)
			last := lines[0].at
		follow:
			for _, l := range lines {
				if l.sent {
					co.Sent(l.text)
					continue
				}
				var events []wire.Event
				if tt.harness == "claude" {
					events = cl.Observe(l.text, l.at)
				} else {
					events = co.Observe(l.text, l.at)
				}
				w, last = w.Heard(l.at), l.at
				for _, e := range events {
					if e.Kind == wire.Ended {
						break follow // the laboratory interrupted it here
					}
					w = w.Saw(e, l.at)
				}
			}
			f, ok := w.Verdict(last.Add(tt.within))
			if !ok || f.Cause != tt.cause {
				t.Errorf("not given up %s after its last word: %t %s %s (%s)", tt.within, ok, f.Cause, f.Notice, w.Deadline().Sub(last))
			}
		})
	}
}
