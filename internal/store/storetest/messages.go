package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

var messages = []proof{
	{"P2 a message is accepted once by its own id, and the row of then comes back", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.SettleMessage(ctx, "m-1", run.Settle{Status: run.Answered})
		})
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			again := prompt("m-1", "t-1")
			again.Text = "something else"
			row, accepted, err := tx.AddMessage(ctx, again)
			if accepted || row.Text != "fix it" || row.Status != run.Answered {
				t.Errorf("accepted %t, text %q, %s; want the first one", accepted, row.Text, row.Status)
			}
			return err
		})
		ms, err := b.Messages(t.Context(), "t-1")
		if err != nil || len(ms) != 1 {
			t.Errorf("got %d messages (%v), want 1", len(ms), err)
		}
	}},
	{"P2 of eight clients with the same message one is accepted", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		errs := race(8, func(int) error {
			return b.try(t, func(ctx context.Context, tx *store.Tx) error {
				_, accepted, err := tx.AddMessage(ctx, prompt("m-2", "t-1"))
				if err == nil && !accepted {
					return store.ErrStale
				}
				return err
			})
		})
		equal(t, "errors", tally{won: 1, stale: 7}, count(errs))
	}},
	{"F61 a message is settled once, and its first settlement stands", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		reset := paceline.Reset{At: at.Add(time.Hour), Source: paceline.ResetStated}
		for _, e := range []run.Settle{
			{Status: run.Blocked, Text: "claude hit its limit", Hint: "wait", Reset: reset},
			{Status: run.Answered, Text: "done"},
		} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.SettleMessage(ctx, "m-1", e) })
		}
		m, err := b.Message(t.Context(), "m-1")
		if err != nil || m.Settled.IsZero() {
			t.Fatalf("settled at %v: %v", m.Settled, err)
		}
		m.Settled = time.Time{}
		want(t, store.Message{
			Message: prompt("m-1", "t-1"), Status: run.Blocked, Outcome: "claude hit its limit", Hint: "wait", Reset: reset,
		})(m, nil)
	}},
	{"P2 settling a message that is not there is an error", func(t *testing.T, b bench) {
		is(t, b.try(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.SettleMessage(ctx, "m-none", run.Settle{Status: run.Answered})
		}), store.ErrNotFound)
	}},
	{"P2 messages are listed in the order of their acceptance", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-z")
		b.thread(t, "t-2", "m-other")
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for _, id := range []paceline.MessageID{"m-c", "m-a", "m-b"} {
				m := prompt(id, "t-1")
				m.At = at.Add(-time.Hour) // a clock that was set back reorders nothing
				if err := added(tx.AddMessage(ctx, m)); err != nil {
					return err
				}
			}
			return nil
		})
		got := names(t, func(m store.Message) paceline.MessageID { return m.ID })(b.Messages(t.Context(), "t-1"))
		equal(t, "messages", []string{"m-z", "m-c", "m-a", "m-b"}, got)
	}},
	{"P2 a text is kept byte for byte", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		for id, text := range map[paceline.MessageID]string{
			"m-empty": "", "m-nul": "a\x00b\x00", "m-broken": "caf\xe9 \xff\xfe \xed\xa0\x80", "m-bytes": string(all),
			"m-lines": "a\r\nb\u2028c\n", "m-long": strings.Repeat("0123456789abcde\x00", 10<<20/16),
		} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				m := prompt(id, "t-1")
				m.Text = text
				row, _, err := tx.AddMessage(ctx, m)
				if row.Text != text {
					t.Errorf("%s came back with %d bytes, of %d", id, len(row.Text), len(text))
				}
				return err
			})
			if m, err := b.Message(t.Context(), id); err != nil || m.Text != text {
				t.Errorf("%s was read with %d bytes, of %d: %v", id, len(m.Text), len(text), err)
			}
		}
	}},
}

var reopened = []proof{
	{"Z43 only a message that needs a person is opened again, and it ends once more", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		settle := func(s run.Status) func(ctx context.Context, tx *store.Tx) error {
			return func(ctx context.Context, tx *store.Tx) error {
				return tx.SettleMessage(ctx, "m-1", run.Settle{Status: s, Text: "x", Hint: "y"})
			}
		}
		reopen := func(ctx context.Context, tx *store.Tx) error { return tx.ReopenMessage(ctx, "m-1") }
		is(t, b.try(t, reopen), store.ErrStale)
		b.write(t, settle(run.NeedPerson))
		b.write(t, reopen)
		if m, err := b.Message(t.Context(), "m-1"); err != nil || m.Status != run.Unsettled || m.Outcome != "" || m.Hint != "" || !m.Settled.IsZero() {
			t.Errorf("%+v, %v", m, err)
		}
		b.write(t, settle(run.Answered))
		is(t, b.try(t, reopen), store.ErrStale)
	}},
}

var threads = []proof{
	{"F47 a thread keeps what was resolved when it began", func(t *testing.T, b bench) {
		th := store.Thread{
			ID: "t-1", Dir: "/src/caf\xe9/\xff", Tree: "/src/caf\xe9", Title: "a\x00b \xff", Mode: paceline.ModeAsk,
			Chain:   []paceline.Engine{{Account: "claude"}, {Account: "office", Model: "gpt-5.6-sol"}},
			Created: at, Updated: at.Add(time.Minute),
		}
		if err := th.SetPolicy([]string{"full", "<&>", "a\x00"}); err != nil {
			t.Fatal(err)
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.AddThread(ctx, th) })
		got, err := b.Thread(t.Context(), "t-1")
		want(t, th)(got, err)
		var policy []string
		if err := got.DecodePolicy(&policy); err != nil {
			t.Fatal(err)
		}
		equal(t, "policy", []string{"full", "<&>", "a\x00"}, policy)
		want(t, th)(b.LastThreadIn(t.Context(), "/src/caf\xe9"))
	}},
	{"A thread that changed last is listed first, and archived ones are not carried on", func(t *testing.T, b bench) {
		for _, id := range []string{"a", "b", "c"} {
			b.thread(t, paceline.ThreadID("t-"+id), paceline.MessageID("m-"+id))
		}
		list := func() []string {
			return names(t, func(th store.Thread) paceline.ThreadID { return th.ID })(b.Threads(t.Context()))
		}
		equal(t, "new threads", []string{"t-c", "t-b", "t-a"}, list())
		b.touched(t, "t-a", func(ctx context.Context, tx *store.Tx) error { return added(tx.AddMessage(ctx, prompt("m-2", "t-a"))) })
		equal(t, "after a message", []string{"t-a", "t-c", "t-b"}, list())
		b.touched(t, "t-b", func(ctx context.Context, tx *store.Tx) error {
			return tx.SettleMessage(ctx, "m-b", run.Settle{Status: run.Answered})
		})
		equal(t, "after a settlement", []string{"t-b", "t-a", "t-c"}, list())
		last := func() paceline.ThreadID {
			th, err := b.LastThreadIn(t.Context(), "/src")
			if err != nil {
				t.Fatal(err)
			}
			return th.ID
		}
		equal(t, "last", "t-b", last())
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.ArchiveThread(ctx, "t-b"), tx.ArchiveThread(ctx, "t-b"))
		})
		equal(t, "last after archiving", "t-a", last())
		_, err := b.LastThreadIn(t.Context(), "/elsewhere")
		is(t, err, store.ErrNotFound)
		is(t, b.try(t, func(ctx context.Context, tx *store.Tx) error { return tx.ArchiveThread(ctx, "t-none") }), store.ErrNotFound)
	}},
}

// touched writes until the thread's time of change is later than every other
// one's: two writes may fall into one millisecond.
func (b bench) touched(t *testing.T, id paceline.ThreadID, do func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	before, err := b.Threads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for !time.Now().Truncate(time.Millisecond).After(before[0].Updated) {
		continue
	}
	b.write(t, do)
	if th, err := b.Thread(t.Context(), id); err != nil || !th.Updated.After(before[0].Updated) {
		t.Errorf("%s changed at %v (%v), which is not after %v", id, th.Updated, err, before[0].Updated)
	}
}
