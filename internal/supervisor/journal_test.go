package supervisor

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline/internal/store"
)

// heard is everything that was told of the thread so far.
func (o *owner) heard(tb testing.TB) (out []Event) {
	tb.Helper()
	err := o.Listen(tb.Context(), o.thread.ID, Offset{}, func() bool { return true }, func(e Event) bool {
		out = append(out, e)
		return true
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// words are the texts of what was heard, and after is the last place.
func words(es []Event) (out []string, after Offset) {
	for _, e := range es {
		out = append(out, e.Text)
		after, _ = ParseOffset(e.Offset)
	}
	return out, after
}

func TestJournal(t *testing.T) {
	say := func(o *owner, texts ...string) {
		for _, s := range texts {
			o.Feed(Event{Event: "text", Thread: o.thread.ID, Text: s})
		}
	}
	from := func(t *testing.T, s *Supervisor, o *owner, at Offset) []string {
		t.Helper()
		var es []Event
		err := s.Listen(t.Context(), o.thread.ID, at, func() bool { return true }, func(e Event) bool {
			es = append(es, e)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := words(es)
		return got
	}
	// next is the server after this one, which was killed.
	next := func(t *testing.T, o *owner) *Supervisor {
		t.Helper()
		opts := o.Options
		opts.Dir = t.TempDir()
		s, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Run("Events are told once and in order, whether they come from memory or from disk", func(t *testing.T) {
		o := newOwner(t)
		var want []string
		for i := range 4 * recent {
			want = append(want, fmt.Sprint(i))
		}
		say(o, want[:3*recent]...)
		o.journal.flush(t.Context(), o.thread.ID, o.journal.threads[o.thread.ID]) // lets the oldest go from memory
		say(o, want[3*recent:]...)
		got, _ := words(o.heard(t))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("A clock that is stepped back changes no order", func(t *testing.T) {
		o := newOwner(t)
		for i, at := range []time.Duration{0, time.Hour, -24 * time.Hour, time.Minute} {
			o.Feed(Event{Event: "text", Thread: o.thread.ID, Text: fmt.Sprint(i), At: time.Now().Add(at)})
		}
		o.journal.close(t.Context())
		if diff := cmp.Diff([]string{"0", "1", "2", "3"}, from(t, next(t, o), o, Offset{})); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("A client that comes back goes on where it was", func(t *testing.T) {
		o := newOwner(t)
		say(o, "a", "b")
		_, at := words(o.heard(t))
		say(o, "c")
		if diff := cmp.Diff([]string{"c"}, from(t, o.Supervisor, o, at)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("What a killed server told and did not keep is given to nobody twice, and hides nothing", func(t *testing.T) {
		o := newOwner(t)
		say(o, "a", "b")
		o.journal.flush(t.Context(), o.thread.ID, o.journal.threads[o.thread.ID])
		say(o, "lost 1", "lost 2", "lost 3")
		_, at := words(o.heard(t))
		second := next(t, o)
		second.Feed(Event{Event: "text", Thread: o.thread.ID, Text: "c"})
		second.Feed(Event{Event: "text", Thread: o.thread.ID, Text: "d"})
		second.journal.close(t.Context())
		third := next(t, o)
		third.Feed(Event{Event: "text", Thread: o.thread.ID, Text: "e"})
		if diff := cmp.Diff([]string{"c", "d", "e"}, from(t, third, o, at)); diff != "" {
			t.Errorf("for a client of the first server: %s", diff)
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, from(t, third, o, Offset{})); diff != "" {
			t.Errorf("from the beginning: %s", diff)
		}
	})
	t.Run("What follows from a decision is told only once it is on disk", func(t *testing.T) {
		o := newOwner(t)
		say(o, "before")
		failed := errors.New("no")
		err := o.journal.commit(t.Context(), o.thread.ID, func(*store.Tx) ([]Event, error) {
			return []Event{{Event: "text", Text: "never"}}, failed
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
		err = o.journal.commit(t.Context(), o.thread.ID, func(*store.Tx) ([]Event, error) {
			return []Event{{Event: "text", Text: "decided"}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := o.Store.Events(t.Context(), o.thread.ID, 0, 10)
		if err != nil || len(rows) != 2 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		got, _ := words(o.heard(t))
		if diff := cmp.Diff([]string{"before", "decided"}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("An offset that is none is refused", func(t *testing.T) {
		for _, s := range []string{"x", "1", "1.", ".1", "-1.2", "1.-2", "1.2.3"} {
			if at, err := ParseOffset(s); err == nil {
				t.Errorf("%q was read as %v", s, at)
			}
		}
	})
}
