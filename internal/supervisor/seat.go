package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// Wish is what a user asks of a thread's seat.
type Wish struct {
	What   string `json:"what"`             // handover, home or park
	Engine string `json:"engine,omitempty"` // to hand over to; "" is the next one that can serve
	Model  string `json:"model,omitempty"`  // given to that engine as it is
	Dry    bool   `json:"dry_run,omitempty"`
	Force  bool   `json:"force,omitempty"` // do not wait for the turn's end
}

// Seat answers a wish, and keeps it on record where it is granted: it is taken
// up at the next idle boundary, by whoever serves the thread then.
func (s *Supervisor) Seat(ctx context.Context, id paceline.ThreadID, w Wish) (run.Answer, error) {
	o := &owner{Supervisor: s}
	if err := o.read(ctx, id); err != nil {
		return run.Answer{}, err
	}
	if o.lane.team {
		return run.Answer{}, &Refusal{
			Msg:  fmt.Sprintf("%s is a team's, whose participants have chains of their own", id),
			Hint: "`paceline team pause` has it rest; `paceline team edit ID` says where a participant's chain stands", Code: 2,
		}
	}
	f, err := o.seatFacts(ctx, w)
	if err != nil {
		return run.Answer{}, err
	}
	var a run.Answer
	err = o.commit(context.WithoutCancel(ctx), func(tx *store.Tx) ([]Event, error) {
		th, err := tx.Thread(ctx, id)
		if err != nil {
			return nil, err
		}
		f.Seat = th.Seat
		switch w.What {
		case "handover":
			a = run.Handover(f)
		case "home":
			a = run.GoHome(f)
		case "park":
			a = run.Park(f)
		default:
			return nil, &Refusal{Msg: fmt.Sprintf("nobody knows what %q of a seat is", w.What), Code: 2}
		}
		if w.Dry {
			return nil, nil
		}
		d := run.Decision{At: f.Now, Event: w.What + " asked", What: a.What, Why: a.Why, Out: a.Out}
		if a.Code != 0 {
			d.What, d.Why = "no "+w.What, a.What
		}
		if a.Change {
			if err := tx.SetSeat(ctx, id, a.Seat); err != nil {
				return nil, err
			}
		}
		if a.Change || a.Code != 0 {
			o.decided(d)
			return nil, tx.AddDecision(ctx, id, d)
		}
		return nil, nil
	})
	if err == nil && a.Seat.Next != nil && a.Seat.Next.Now && !w.Dry {
		s.steers.hurry(id)
	}
	if err != nil || a.Code == 0 {
		return a, err
	}
	return a, &Refusal{Msg: a.What, Hint: strings.ReplaceAll(a.Hint, "THREAD", string(id)), Code: a.Code}
}

// seatFacts gathers what a wish is decided by.
func (o *owner) seatFacts(ctx context.Context, w Wish) (f run.SeatFacts, err error) {
	f = run.SeatFacts{Now: time.Now(), Model: w.Model, Weaker: o.policy.Fallback.Weaker, Archived: o.thread.Archived, Force: w.Force}
	runs, err := o.Store.Runs(ctx, o.thread.ID)
	if err != nil {
		return f, err
	}
	if held, ok := seated(runs); ok {
		f.Held = held.Engine
	}
	for _, r := range runs {
		if r.Holds() && r.Conversation != "" && !slices.Contains(f.Been, r.Engine) {
			f.Been = append(f.Been, r.Engine)
		}
		f.Waiting = f.Waiting || r.Waiting()
		if r.Open() && !r.Waiting() {
			m, err := o.Store.Message(ctx, r.Message)
			if err != nil {
				return f, err
			}
			f.Working, f.Prompt = true, m.Kind == paceline.KindPrompt
		}
	}
	if h, halted, err := o.halted(ctx); err != nil {
		return f, err
	} else if halted {
		f.Silent = abouts(h.Silent)
	}
	if w.What == "park" {
		return f, nil
	}
	limits, err := o.Store.Limits(ctx)
	if err != nil {
		return f, err
	}
	look := func(e paceline.Engine) place.Candidate { return o.entry(ctx, limits, e, true) }
	for _, e := range o.thread.Chain {
		f.Chain = append(f.Chain, look(e))
	}
	if w.What == "handover" && w.Engine == "" && !w.Force {
		// An engine that was named, or home, is where its user wants it (Z90).
		if err := o.weigh(ctx, f.Chain); err != nil {
			return f, err
		}
	}
	if w.Engine != "" {
		e, err := paceline.ParseEngine(w.Engine)
		if _, ok := o.policy.Accounts[e.Account]; err != nil || !ok {
			return f, &Refusal{
				Msg:  fmt.Sprintf("no engine is named %q", w.Engine),
				Hint: "there are: " + strings.Join(o.policy.Names(), ", "), Code: 2,
			}
		}
		if w.Model != "" {
			e.Model = w.Model
		}
		c := look(e)
		f.Target = &c
	}
	return f, nil
}

// moved is the engine that the message goes to because its user asked for it.
// One that cannot take the seat any more leaves it where it is (Z46).
func (o *owner) moved(ctx context.Context, m store.Message, runs []run.State) (ch place.Choice, carry run.Carry, ok bool, err error) {
	next := o.seat.Next
	if next == nil || m.Kind != paceline.KindPrompt {
		return ch, run.Bare, false, nil
	}
	c, err := o.target(ctx, *next)
	if err != nil {
		return ch, run.Bare, false, err
	}
	if ch = place.Choose([]place.Candidate{c}, place.Ask{Now: time.Now(), Weaker: place.WeakerAnnounce}); !ch.Found {
		return ch, run.Bare, false, o.keptBack(ctx, *next, ch.Out)
	}
	held, begun := seated(runs)
	switch {
	case !begun, held.Engine == next.Engine:
		return ch, run.Bare, true, nil
	case next.Home:
		if _, err := o.parking(ctx, runs, next.Engine); err == nil {
			return ch, run.Home, true, nil
		}
	}
	return ch, run.History, true, nil
}

// keptBack gives a move up that can no longer be made.
func (o *owner) keptBack(ctx context.Context, m run.Move, out []place.Exclusion) error {
	d := run.Decision{At: time.Now(), Event: "placed", What: "the seat stays", Why: out[0].Why, Out: out}
	err := o.commit(ctx, func(tx *store.Tx) ([]Event, error) {
		th, err := tx.Thread(ctx, o.thread.ID)
		if err != nil {
			return nil, err
		}
		if th.Seat.Next != nil && *th.Seat.Next == m {
			th.Seat.Next = nil
		}
		o.seat = th.Seat
		return nil, errors.Join(tx.SetSeat(ctx, o.thread.ID, th.Seat), tx.AddDecision(ctx, o.thread.ID, d))
	})
	if err == nil {
		o.decided(d)
		o.announce(ctx, "", fmt.Sprintf("The seat stays where it is: %s cannot take it any more, %s.", m.Engine, out[0].Why))
	}
	return err
}

// look reads what the user asked of the seat since it was last looked at.
func (o *owner) look(ctx context.Context) error {
	th, err := o.Store.Thread(ctx, o.thread.ID)
	if err == nil {
		o.seat = th.Seat
	}
	return err
}

// asked reports whether the user asked something of the seat that ends a wait.
func (o *owner) asked(ctx context.Context) bool {
	return o.look(ctx) == nil && (o.seat.Next != nil || !o.seat.Parked.IsZero())
}

// resting is why a thread with open messages is not served.
func (o *owner) resting() error {
	if o.seat.Parked.IsZero() {
		return nil
	}
	return &Refusal{
		Msg:  fmt.Sprintf("%s is parked by its user since %s", o.thread.ID, o.seat.Parked.UTC().Format(time.RFC3339)),
		Hint: fmt.Sprintf("what waits in it is begun when it gets another message: `paceline send %s TEXT`", o.thread.ID), Code: 3,
	}
}

// unpark ends a rest: another message came in.
func unpark(ctx context.Context, tx *store.Tx, id paceline.ThreadID) error {
	th, err := tx.Thread(ctx, id)
	if err != nil || th.Seat.Parked.IsZero() {
		return err
	}
	th.Seat.Parked = time.Time{}
	return tx.SetSeat(ctx, id, th.Seat)
}
