package supervisor

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/wire"
)

// queue puts a prompt on record that no run was begun for.
func (o *owner) queue(tb testing.TB, text string) store.Message {
	tb.Helper()
	m := paceline.Message{ID: paceline.MessageID(store.NewID("m")), Thread: o.thread.ID, Kind: paceline.KindPrompt, Text: text, At: time.Now()}
	if _, err := o.Accept(tb.Context(), &o.thread, m); err != nil {
		tb.Fatal(err)
	}
	return store.Message{Message: m}
}

func (o *owner) asks(tb testing.TB, seat run.Seat) {
	tb.Helper()
	if err := o.Store.InTx(tb.Context(), func(tx *store.Tx) error { return tx.SetSeat(tb.Context(), o.thread.ID, seat) }); err != nil {
		tb.Fatal(err)
	}
}

func TestSeats(t *testing.T) {
	t.Run("Z60 a parked thread begins nothing that waits; its next message ends that", func(t *testing.T) {
		o := newOwner(t)
		o.queue(t, "waits")
		for range 2 {
			if a, err := o.Supervisor.Seat(t.Context(), o.thread.ID, Wish{What: "park"}); err != nil || a.Code != 0 {
				t.Fatal(a, err)
			}
		}
		var why *Refusal
		if err := o.Serve(t.Context(), o.thread.ID); !errors.As(err, &why) || why.Code != 3 {
			t.Fatalf("it was served: %v", err)
		}
		o.queue(t, "wakes it")
		if err := o.look(t.Context()); err != nil || o.resting() != nil {
			t.Errorf("it rests still: %v %v", o.resting(), err)
		}
		ds, err := o.Store.Decisions(t.Context(), o.thread.ID)
		if err != nil || len(ds) != 1 || ds[0].What != "park" {
			t.Errorf("%+v, %v", ds, err)
		}
	})
	t.Run("Z46 an engine that cannot take the seat any more leaves it where it is, and the reason is kept", func(t *testing.T) {
		o := newOwner(t)
		o.running(t)
		m := o.queue(t, "next")
		o.asks(t, run.Seat{Next: &run.Move{Engine: paceline.Engine{Account: "gone"}, At: time.Now().Round(time.Millisecond)}})
		if err := o.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		ch, _, err := o.choose(t.Context(), m, chain)
		if err != nil || ch.Engine != chain[0].Engine || o.seat.Next != nil {
			t.Errorf("%+v, %v, still to be moved: %+v", ch, err, o.seat.Next)
		}
		ds, err := o.Store.Decisions(t.Context(), o.thread.ID)
		if err != nil || len(ds) != 1 || !strings.Contains(ds[0].Why, `no account is named "gone"`) {
			t.Errorf("%+v, %v", ds, err)
		}
	})
	t.Run("F12 a slash command does not take a move that was asked for", func(t *testing.T) {
		o := newOwner(t)
		o.running(t)
		m := o.queue(t, "/compact")
		m.Kind = paceline.KindSlash
		o.asks(t, run.Seat{Next: &run.Move{Engine: chain[1].Engine}})
		ch, _, err := o.choose(t.Context(), m, chain)
		if err != nil || ch.Engine != chain[0].Engine {
			t.Errorf("%+v, %v", ch, err)
		}
	})
	t.Run("an engine that is not configured is refused with those that are, and a dry run keeps nothing", func(t *testing.T) {
		o := newOwner(t)
		var why *Refusal
		_, err := o.Supervisor.Seat(t.Context(), o.thread.ID, Wish{What: "handover", Engine: "nobody"})
		if !errors.As(err, &why) || why.Code != 2 || !strings.Contains(why.Hint, "there are:") {
			t.Errorf("%v", err)
		}
		if a, err := o.Supervisor.Seat(t.Context(), o.thread.ID, Wish{What: "park", Dry: true}); err != nil || !a.Change {
			t.Errorf("%+v, %v", a, err)
		}
		th, err := o.Store.Thread(context.Background(), o.thread.ID)
		if err != nil || !th.Seat.Parked.IsZero() {
			t.Errorf("%+v, %v", th.Seat, err)
		}
	})
}

func TestSuperseded(t *testing.T) {
	t.Run("Z50 what a server that was taken for dead still hears of its child decides nothing", func(t *testing.T) {
		o := newOwner(t)
		r := o.running(t)
		o.holds = start{r.ID, r.Starts + 1} // another server has started it since, or before
		before, err := o.Store.Run(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = o.decide(t.Context(), r.ID, run.End{Ending: wire.Ending{Outcome: paceline.OutcomeCompleted}}, facts{})
		if !errors.Is(err, errSuperseded) {
			t.Errorf("%v", err)
		}
		if after, err := o.Store.Run(t.Context(), r.ID); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%+v became %+v, %v", before, after, err)
		}
		o.holds.nth = before.Starts
		if after, _, err := o.decide(t.Context(), r.ID, run.End{Ending: wire.Ending{Outcome: paceline.OutcomeCompleted}}, facts{}); err != nil || after.Phase != run.Done {
			t.Errorf("%s, %v", after.Phase, err)
		}
	})
}
