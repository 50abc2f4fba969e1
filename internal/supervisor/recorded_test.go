package supervisor

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/replay"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew; read every changed line")

// TestRecorded makes the packet that a successor would have been sent after a
// recorded turn, through everything that a live turn goes through.
func TestRecorded(t *testing.T) {
	for _, tt := range []struct{ harness, name, file string }{
		{"claude", "limit-after-tool", "claude/limit-after-tool/stdout.jsonl"},
		{"claude", "sigkill-tool", "claude/sigkill-tool/stdout.1.jsonl"},
		{"claude", "subagent", "claude/subagent/stdout.jsonl"},
		{"codex", "usage-limit-after-tool", "codex/app-server/usage-limit-after-tool/transcript.jsonl"},
		{"codex", "file-change", "codex/app-server/file-change/transcript.jsonl"},
		{"codex", "background-terminal-after-turn", "codex/app-server/background-terminal-after-turn/transcript.jsonl"},
		{"codex", "subagent-ok", "codex/app-server/subagent-ok/transcript.jsonl"},
	} {
		t.Run("Z81 the packet after "+tt.harness+" "+tt.name, func(t *testing.T) {
			h := newTold(t)
			m := h.message(paceline.KindPrompt, "Do what was asked.")
			source := h.run(m, tt.harness, func(r *run.State) { r.Phase, r.Work = run.Running, paceline.WorkNone })
			d := &drive{owner: h.owner, id: source.ID}
			h.journal = newJournal(h.Store, h.Log)
			var end *wire.Ending
			err := replay.Each(tt.harness, filepath.Join("..", "replay", "testdata", tt.file), func(e wire.Event) {
				switch e.Kind {
				case wire.Text, wire.Tool, wire.ToolDone, wire.File:
					if end == nil {
						if _, err := d.observe(t.Context(), e); err != nil {
							t.Fatal(err)
						}
					}
				case wire.Ended:
					end = e.Ending
				default:
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			d.keep(t.Context())
			if !d.kept {
				t.Fatal("not all of it is on record")
			}
			seen := facts{silent: d.silent(), kept: d.kept, chain: candidatesOf(tt.harness)}
			if _, _, err := h.decide(t.Context(), source.ID, run.End{Ending: wire.Ending{
				Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{Cause: paceline.CauseUsageLimit, Work: paceline.WorkSome},
			}}, seen); err != nil {
				t.Fatal(err)
			}
			next := map[string]string{"claude": "codex", "codex": "claude"}[tt.harness]
			got := h.sent(h.run(m, next, follows(source, run.Progress)), m)
			if unresolved := strings.Contains(got, "UNRESOLVED"); unresolved != (len(seen.silent) > 0) {
				t.Errorf("silent %q, and the packet says UNRESOLVED: %t", seen.silent, unresolved)
			}
			path := filepath.Join("testdata", tt.name+".golden")
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
