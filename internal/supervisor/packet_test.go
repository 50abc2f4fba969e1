package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/packet"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/sqlite"
)

var began = time.Now().Add(-time.Hour)

// told is a thread on real SQLite, with what its messages and runs hold.
type told struct {
	*owner
	t testing.TB
	n int
}

func newTold(t testing.TB) *told {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	tree := t.TempDir()
	s := &Supervisor{Options: Options{Store: st, Self: "/usr/bin/paceline", Log: slog.New(slog.DiscardHandler)}}
	h := &told{t: t, owner: &owner{Supervisor: s, thread: store.Thread{ID: "t-1", Dir: tree, Tree: tree, Created: began}}}
	h.policy.Accounts = map[string]paceline.Account{"claude": {Name: "claude", Harness: "claude"}, "codex": {Name: "codex", Harness: "codex"}}
	h.write(func(ctx context.Context, tx *store.Tx) error { return tx.AddThread(ctx, h.thread) })
	return h
}

func (h *told) write(do func(context.Context, *store.Tx) error) {
	h.t.Helper()
	if err := h.Store.InTx(h.t.Context(), func(tx *store.Tx) error { return do(h.t.Context(), tx) }); err != nil {
		h.t.Fatal(err)
	}
}

// message adds one that its user sent.
func (h *told) message(kind paceline.Kind, text string) paceline.Message {
	h.t.Helper()
	h.n++
	m := paceline.Message{
		ID: paceline.MessageID(fmt.Sprintf("m-%d", h.n)), Thread: "t-1", Kind: kind, Sender: "user", Text: text, UUID: fmt.Sprintf("u-%d", h.n), At: began, Opener: h.n == 1,
	}
	h.write(func(ctx context.Context, tx *store.Tx) error { _, _, err := tx.AddMessage(ctx, m); return err })
	return m
}

// run adds a run of a message, with its items: "kind:text" each.
func (h *told) run(m paceline.Message, engine string, set func(*run.State), items ...string) run.State {
	h.t.Helper()
	h.n++
	r := run.State{
		ID: paceline.RunID(fmt.Sprintf("r-%d", h.n)), Thread: "t-1", Message: m.ID, Engine: paceline.Engine{Account: engine},
		Phase: run.Done, Sent: true, Work: paceline.WorkSome, Began: began, Created: began,
	}
	if set != nil {
		set(&r)
	}
	h.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddRun(ctx, r); err != nil {
			return err
		}
		calls := 0
		for _, it := range items {
			kind, text, _ := strings.Cut(it, ":")
			body := map[string]string{"text": text}
			switch kind {
			case "tool":
				calls++
				body = map[string]string{"name": "Bash", "about": text, "n": fmt.Sprint(calls)}
			case "look":
				calls++
				kind, body = "tool", map[string]string{"name": "Read", "about": text, "n": fmt.Sprint(calls), "looks": "only"}
			case "file":
				body = map[string]string{"path": text}
			case "result":
				n, ok, _ := strings.Cut(text, " ")
				body = map[string]string{"n": n, "ok": ok}
			}
			if err := tx.AddItem(ctx, item(r, kind, body)); err != nil {
				return err
			}
		}
		if r.Phase == run.Done {
			return tx.SettleMessage(ctx, m.ID, run.Settle{Status: run.Answered})
		}
		return nil
	})
	return r
}

// sent is what a run of a message is sent.
func (h *told) sent(r run.State, m paceline.Message) string {
	h.t.Helper()
	got, err := h.prompt(h.t.Context(), r, m)
	if err != nil {
		h.t.Fatal(err)
	}
	if got.UUID != m.UUID || got.ID != m.ID {
		h.t.Errorf("the packet goes by another name: %+v", got)
	}
	return got.Text
}

func failing(r *run.State) {
	r.Phase, r.Work = run.Failed, paceline.WorkNone
	r.Failure = &paceline.Failure{Cause: paceline.CauseUsageLimit, Work: paceline.WorkNone}
	r.Claim = run.Claim{Phase: run.Dispatched, Why: "hit its usage limit"}
}

func follows(source run.State, c run.Carry) func(*run.State) {
	return func(r *run.State) {
		r.Phase, r.Sent, r.After, r.Carry, r.Hop = run.Queued, false, source.ID, c, 1
	}
}

func must(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing from\n%s", p, text)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Run("F1 a bare run is sent the message, byte for byte", func(t *testing.T) {
		h := newTold(t)
		m := h.message(paceline.KindPrompt, "\x00 as it is \xff")
		if got := h.sent(h.run(m, "claude", func(r *run.State) { r.Phase = run.Queued }), m); got != m.Text {
			t.Errorf("%q", got)
		}
	})
	t.Run("F28 F36 F39 the history is what came before the message; its own runs and what is queued behind it are left out", func(t *testing.T) {
		h := newTold(t)
		m1 := h.message(paceline.KindPrompt, "Never push.")
		h.run(m1, "claude", nil, "tool:ls", "result:1 true", "text:Understood.", "announcement:Switched to nobody.", "packet:an older packet")
		m2 := h.message(paceline.KindPrompt, "Fix it.")
		h.message(paceline.KindPrompt, "Queued behind.")
		source := h.run(m2, "claude", failing, "text:not to be seen")
		got := h.sent(h.run(m2, "codex", follows(source, run.History)), m2)
		must(t, got, "that claude held until now; it hit its usage limit.", "Item m1 is the standing instruction", "| Never push.", "call of claude: completed\n| Bash: ls", "| Understood.")
		for _, not := range []string{"not to be seen", "Queued behind", "Switched to nobody", "an older packet"} {
			if strings.Contains(got, not) {
				t.Errorf("%q is in\n%s", not, got)
			}
		}
		if !strings.HasSuffix(got, "\nFix it.") || strings.Count(got, "Fix it.") != 1 {
			t.Error(got)
		}
	})
	t.Run("F40 what was composed once is sent again, whatever was said since, and names its standing item", func(t *testing.T) {
		h := newTold(t)
		m1 := h.message(paceline.KindPrompt, "Never push.")
		first := h.run(m1, "claude", nil, "text:Understood.")
		m2 := h.message(paceline.KindPrompt, "Fix it.")
		r := h.run(m2, "codex", follows(h.run(m2, "claude", failing), run.History))
		once := h.sent(r, m2)
		h.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddItem(ctx, item(first, "text", map[string]string{"text": "more"}))
		})
		if again := h.sent(r, m2); again != once {
			t.Errorf("%s\nis not\n%s", again, once)
		}
		it, err := h.Store.RunItem(t.Context(), "t-1", r.ID, "packet")
		if err != nil || fields(it)["standing"] != "m1" {
			t.Errorf("%v %v", fields(it), err)
		}
	})
	t.Run("F41 a fresh start drops what was before it", func(t *testing.T) {
		h := newTold(t)
		h.run(h.message(paceline.KindPrompt, "Never push."), "claude", nil, "text:Understood.")
		h.run(h.message(paceline.KindSlash, "/clear now"), "claude", nil)
		h.run(h.message(paceline.KindPrompt, "Begin anew."), "claude", nil, "text:Yes.")
		m := h.message(paceline.KindPrompt, "Fix it.")
		got := h.sent(h.run(m, "codex", follows(h.run(m, "claude", failing), run.History)), m)
		must(t, got, "Item m3 is the standing instruction", "| Begin anew.")
		if strings.Contains(got, "Never push") {
			t.Error(got)
		}
	})
	t.Run("P2 a message that nobody answered is said to be so", func(t *testing.T) {
		h := newTold(t)
		m1 := h.message(paceline.KindPrompt, "First.")
		h.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.SettleMessage(ctx, m1.ID, run.Settle{Status: run.Blocked})
		})
		m2 := h.message(paceline.KindPrompt, "Second.")
		r := h.run(m2, "codex", func(r *run.State) { r.Phase, r.Sent, r.Carry = run.Queued, false, run.History })
		must(t, h.sent(r, m2), "m1, message of user: not answered (blocked)\n| First.")
	})
	t.Run("Z81 Z95 a rollover tells calls, files and what was cut, against the disk", func(t *testing.T) {
		h := newTold(t)
		for name, text := range map[string]string{"one.txt": "four", "old.txt": "old", "dir/two.txt": "x"} {
			path := filepath.Join(h.thread.Tree, name)
			_ = os.MkdirAll(filepath.Dir(path), 0o700)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		old := began.Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(h.thread.Tree, "old.txt"), old, old); err != nil {
			t.Fatal(err)
		}
		m := h.message(paceline.KindPrompt, "Write one.txt.")
		source := h.run(m, "claude", func(r *run.State) { failing(r); r.Work = paceline.WorkSome },
			"text:I begin.", "tool:write one", "tool:write two", "tool:deploy", "result:2 false", "result:1 true",
			"look:read it", "file:one.txt", "file:old.txt", "file:"+filepath.Join(h.thread.Tree, "gone.txt"), "text:Now I", "announcement:x", "stopped:vite")
		got := h.sent(h.run(m, "codex", follows(source, run.Progress)), m)
		must(t, got, "call of claude: completed\n| Bash: write one", "call of claude: failed\n| Bash: write two", "call of claude: UNRESOLVED\n| Bash: deploy",
			"file of claude: there, 4 bytes, changed since the run began\n| one.txt", "file of claude: there, 3 bytes, unchanged since before\n| old.txt", "file of claude: not there now\n| ",
			"call of claude: cut; it only looked\n| Read: read it", "reply of claude: PARTIAL\n| Now I", "reply of claude\n| I begin.", "note of claude: left running in the background, and stopped by us\n| vite",
			"| one.txt (4 bytes)\n", "| dir/two.txt (1 bytes)\n", "\n| Write one.txt.\n")
		if strings.Contains(got, "| old.txt (") || strings.HasSuffix(got, "Write one.txt.") {
			t.Error(got)
		}
	})
	t.Run("Z43 what a person found of a call goes along", func(t *testing.T) {
		h := newTold(t)
		m := h.message(paceline.KindPrompt, "Deploy.")
		source := h.run(m, "claude", failing, "tool:deploy", "tool:migrate")
		h.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddItems(ctx, []store.Item{
				item(source, "result", map[string]string{"n": "1", "ok": "true", "by": "user"}),
				item(source, "result", map[string]string{"n": "2", "ok": "false", "by": "user"}),
			})
		})
		must(t, h.sent(h.run(m, "codex", follows(source, run.Progress)), m),
			"never reported; its user found that it took effect\n| Bash: deploy", "never reported; its user found that it did not take effect\n| Bash: migrate")
	})
	t.Run("F48 what stays with its vendor is not blanked", func(t *testing.T) {
		secret := "AKIA" + "QYLPMN5HFIQR7XYA"
		for engine, blanked := range map[string]bool{"codex": true, "other": false} {
			h := newTold(t)
			h.policy.Accounts["other"] = paceline.Account{Name: "other", Harness: "claude"}
			h.run(h.message(paceline.KindPrompt, "First."), "claude", nil, "text:"+secret)
			m := h.message(paceline.KindPrompt, "Second.")
			got := h.sent(h.run(m, engine, follows(h.run(m, "claude", failing), run.History)), m)
			if strings.Contains(got, secret) == blanked {
				t.Errorf("on %s: %s", engine, got)
			}
		}
	})
}

func TestChoose(t *testing.T) {
	seatAt := func(engine string) func(h *told) {
		return func(h *told) { h.run(h.message(paceline.KindPrompt, "First."), engine, nil) }
	}
	limited := func(engine string) func(h *told) {
		return func(h *told) {
			h.write(func(ctx context.Context, tx *store.Tx) error {
				return tx.HoldLimit(ctx, paceline.Limit{
					Engine: paceline.Engine{Account: engine}, Cause: paceline.CauseUsageLimit, Seen: time.Now(),
					Reset: paceline.Reset{At: time.Now().Add(time.Hour), Source: paceline.ResetStated},
				})
			})
		}
	}
	for _, tt := range []struct {
		name  string
		set   []func(*told)
		kind  paceline.Kind
		off   bool
		want  string
		carry run.Carry
	}{
		{"F64 a later message goes on in its conversation", []func(*told){seatAt("a")}, paceline.KindPrompt, false, "a", run.Bare},
		{"F64 also where that is not the first of the chain", []func(*told){seatAt("b")}, paceline.KindPrompt, false, "b", run.Bare},
		{"F63 where that engine is limited, the next one below gets the history", []func(*told){seatAt("a"), limited("a")}, paceline.KindPrompt, false, "b", run.History},
		{"Z30 a successor that did nothing with its packet has not taken the thread over", []func(*told){func(h *told) {
			h.run(h.message(paceline.KindPrompt, "First."), "b", func(r *run.State) { failing(r); r.Carry = run.Progress })
		}}, paceline.KindPrompt, false, "a", run.History},
		{"one that only was to continue goes on in its conversation", []func(*told){func(h *told) {
			h.run(h.message(paceline.KindPrompt, "First."), "b", func(r *run.State) { failing(r); r.Carry = run.Continue })
		}}, paceline.KindPrompt, false, "b", run.Bare},
		{"a hop never goes back up", []func(*told){seatAt("b"), limited("b")}, paceline.KindPrompt, false, "", run.History},
		{"F12 a slash command means that conversation", []func(*told){seatAt("a"), limited("a")}, paceline.KindSlash, false, "", run.Bare},
		{"F47 where failover is off nothing moves", []func(*told){seatAt("a"), limited("a")}, paceline.KindPrompt, true, "", run.Bare},
		{"F63 nothing was sent yet: the first that can serve gets what was said", []func(*told){func(h *told) { h.message(paceline.KindPrompt, "First.") }}, paceline.KindPrompt, false, "a", run.History},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newTold(t)
			for _, set := range tt.set {
				set(h)
			}
			h.policy.Fallback = config.Fallback{Enabled: !tt.off}
			limits, err := h.Store.Limits(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			chain := candidatesOf("a", "b")
			for i := range chain {
				for _, l := range limits {
					if l.Engine == chain[i].Engine {
						chain[i].Limit = &l
					}
				}
			}
			m := store.Message{Message: h.message(tt.kind, "Second.")}
			ch, carry, err := h.choose(t.Context(), m, chain)
			if err != nil {
				t.Fatal(err)
			}
			if ch.Found != (tt.want != "") || ch.Found && ch.Engine.Account != tt.want || carry != tt.carry {
				t.Errorf("%+v carried as %q, want %q, %q", ch, carry, tt.want, tt.carry)
			}
			for _, x := range ch.Out {
				if x.Engine.Account == "a" && strings.Contains(x.Why, "stands at or above") && len(limits) > 0 && limits[0].Engine.Account == "a" {
					t.Errorf("the reason is not the limit: %+v", x)
				}
			}
		})
	}
}

// BenchmarkPacket composes a packet of a thread that holds 50 MB on disk: under
// 300 ms, and 64 MiB allocated in all.
func BenchmarkPacket(b *testing.B) {
	h := newTold(b)
	text := strings.Repeat("a line of what was said and done\n", 62)
	var items []string
	for range (50 << 20) / len(text) / 2 {
		items = append(items, "text:"+text, "tool:"+text, "result:1 true")
	}
	m := h.message(paceline.KindPrompt, "First.")
	h.run(m, "claude", nil, items...)
	next := h.message(paceline.KindPrompt, "Second.")
	r := h.run(next, "codex", func(r *run.State) { r.Phase, r.Carry = run.Queued, run.History })
	b.ReportAllocs()
	for b.Loop() {
		p, err := h.compose(b.Context(), r, next)
		if err != nil || len(p.Text) > packet.Cap+2000 {
			b.Fatal(len(p.Text), err)
		}
	}
}

func candidatesOf(names ...string) (out []place.Candidate) {
	for _, n := range names {
		out = append(out, place.Candidate{Engine: paceline.Engine{Account: n}, Route: n + ":443", Posture: paceline.PostureSubscription})
	}
	return out
}

func TestSilent(t *testing.T) {
	h := newTold(t)
	m := h.message(paceline.KindPrompt, "Deploy.")
	r := h.run(m, "claude", failing, "tool:deploy", "look:read", "tool:test", "result:3 true")
	got, err := h.silent(t.Context(), r.ID)
	if err != nil || len(got) != 1 || got[0].About != "Bash: deploy" || got[0].n != 1 {
		t.Errorf("Z43 only what may have changed something is asked about: %+v, %v", got, err)
	}
	halted, ok, err := Halted(t.Context(), h.Store, h.thread)
	if err != nil || ok {
		t.Errorf("a message that is open is not halted: %+v, %v", halted, err)
	}
	h.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.SettleMessage(ctx, m.ID, run.Settle{Status: run.NeedPerson})
	})
	if halted, ok, err = Halted(t.Context(), h.Store, h.thread); err != nil || ok {
		t.Errorf("a run with a claim is not halted: %+v, %v", halted, err)
	}
}

func TestResume(t *testing.T) {
	for carry, want := range map[run.Carry]paceline.ConversationID{run.Bare: "c-1", run.History: "", run.Progress: ""} {
		t.Run(fmt.Sprintf("F28 what is carried as %q begins a conversation or resumes one", carry), func(t *testing.T) {
			h := newTold(t)
			h.run(h.message(paceline.KindPrompt, "First."), "claude", func(r *run.State) { r.Conversation = "c-1" })
			m := h.message(paceline.KindPrompt, "Second.")
			r := h.run(m, "claude", func(r *run.State) { r.Phase, r.Sent, r.Carry = run.Queued, false, carry })
			program, _ := harness.Named("claude")
			l, err := h.launch(t.Context(), program, h.policy.Accounts["claude"], r)
			if err != nil || l.Resume != want {
				t.Errorf("resumes %q, want %q (%v)", l.Resume, want, err)
			}
		})
	}
}

func TestAlone(t *testing.T) {
	h := newTold(t)
	h.Dir = t.TempDir()
	m := h.message(paceline.KindPrompt, "First.")
	source := h.run(m, "claude", failing)
	r := h.run(m, "codex", follows(source, run.Progress))
	f, err := os.OpenFile(h.lock(source.ID), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := h.alone(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("P4 a successor is not held back by the run before it, whose guard lives: %v", err)
	}
	if err := h.alone(t.Context(), source); err != nil {
		t.Errorf("the first run has nobody to wait for: %v", err)
	}
	f.Close()
	if err := h.alone(t.Context(), r); err != nil {
		t.Error(err)
	}
}
