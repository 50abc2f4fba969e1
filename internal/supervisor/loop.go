package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/logkey"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// owner is the one goroutine that serves a thread.
type owner struct {
	*Supervisor
	Env    harness.Environment // what its children get
	keys   harness.Environment // of metered accounts; nowhere else
	thread store.Thread
	policy config.Policy
	tree   *os.File // locked while a run of the thread may write to its tree
	// holds is the run whose child this owner started, and its how-many-th start
	// that was.
	holds  start
	seat   run.Seat           // what its user asked of it, as it was last read
	parked paceline.MessageID // a message without a run that was announced to wait
	lane   lane               // whose round it is, where the thread is a team's
	dying  chan struct{}      // closed when the last run's tree is gone; nil when there is none
}

// serve does whatever is open in the thread, oldest first, until nothing is.
func (o *owner) serve(ctx context.Context) error {
	for {
		r, m, err := o.open(ctx)
		if err == nil {
			err = o.look(ctx)
		}
		if err == nil && m != nil {
			err = o.enter(ctx, m.Message)
		}
		if m == nil || r == nil || r.Waiting() {
			o.release(ctx) // a parked seat holds none, and others get their turn between messages
		}
		switch {
		case err != nil:
			return err
		case m == nil:
			if more, err := o.rounds(ctx); !more || err != nil {
				return err
			}
		case o.Draining():
			return ErrDraining
		case (r == nil || r.Waiting()) && o.resting() != nil:
			return o.resting()
		case r == nil:
			if err := o.place(ctx, *m); err != nil {
				return err
			}
		case r.Claim.Phase == run.Pending:
			if err := o.dispatch(ctx, *r); err != nil {
				return err
			}
		case r.Waiting():
			if err := o.wait(ctx, *r); err != nil {
				return err
			}
		case r.Live():
			if err := o.recover(ctx, *r, m.Message); err != nil {
				return err
			}
		default:
			if err := o.drive(ctx, *r, m.Message); err != nil {
				return err
			}
		}
	}
}

// open finds the oldest message that is not settled, and its open run.
func (o *owner) open(ctx context.Context) (*run.State, *store.Message, error) {
	messages, err := o.Store.Messages(ctx, o.thread.ID)
	if err != nil {
		return nil, nil, err
	}
	for i := range messages {
		if messages[i].Status != run.Unsettled || messages[i].Steers != "" {
			continue
		}
		runs, err := o.Store.Runs(ctx, o.thread.ID)
		if err != nil {
			return nil, nil, err
		}
		for j := range runs {
			if runs[j].Message == messages[i].ID && runs[j].Open() {
				return &runs[j], &messages[i], nil
			}
		}
		return nil, &messages[i], nil
	}
	return nil, nil, nil
}

// place gives a message its first run.
func (o *owner) place(ctx context.Context, m store.Message) error {
	chain, err := o.candidates(ctx)
	if err != nil {
		return err
	}
	err = o.placeOn(ctx, m, chain)
	if errors.Is(err, errTaken) {
		return nil // it is placed once more, and told who has the trial (Z77)
	}
	return err
}

// placeOn is place with what is known of the engines.
func (o *owner) placeOn(ctx context.Context, m store.Message, chain []place.Candidate) error {
	ch, carry, err := o.choose(ctx, m, chain)
	if err != nil {
		return err
	}
	r := run.State{
		ID: paceline.RunID(store.NewID("r")), Thread: o.thread.ID, Message: m.ID,
		Engine: ch.Engine, Phase: run.Queued, Carry: carry, Created: time.Now(),
	}
	d := run.Decision{At: r.Created, Run: r.ID, Event: "placed", What: "run on " + ch.Engine.String(), Out: ch.Out}
	if !ch.Found {
		return o.unplaced(ctx, m, chain, ch)
	}
	o.parked = ""
	d.Why = "it is the first in the chain that can serve"
	var move run.Move
	if o.seat.Next != nil {
		move = *o.seat.Next
	}
	asked := move.Engine == ch.Engine && m.Kind == paceline.KindPrompt
	switch {
	case asked && !move.Home:
		d.Why = "its user asked for a handover"
	case !m.Opener && carry == run.Bare:
		d.Why = "its conversation holds the thread"
	case carry == run.Home:
		d.Why = "it is free again, and its conversation was set aside for this"
	case carry == run.History:
		d.Why = "it does not hold the conversation; what was said goes along in a packet"
	}
	from := o.seater(ctx)
	var told []run.Decision
	err = o.Store.InTx(ctx, func(tx *store.Tx) error {
		down, lines, err := o.admit(ctx, tx, r, asked || len(chain) < 2)
		switch {
		case err != nil:
			return err
		case down.Down != "":
			return errTaken
		}
		told = append(lines, d)
		if err := tx.AddRun(ctx, r); err != nil {
			return err
		}
		if asked {
			th, err := tx.Thread(ctx, o.thread.ID)
			if err == nil {
				o.seat = th.Seat.Took(move)
				err = tx.SetSeat(ctx, o.thread.ID, o.seat)
			}
			if err != nil {
				return err
			}
		}
		return o.addDecisions(ctx, tx, told)
	})
	if err != nil {
		return err
	}
	for _, d := range told {
		o.decided(d)
	}
	if asked && !move.Home && carry == run.History {
		o.Feed(Event{
			Event: "rollover", At: time.Now(), Thread: o.thread.ID, Run: r.ID,
			FromEngine: from.String(), ToEngine: ch.Engine.String(), Why: "its user asked for it",
		})
		o.announce(ctx, r.ID, fmt.Sprintf("Handed over from %s to %s, as its user asked; what was said goes along in a packet.", from, ch.Engine))
	}
	if carry == run.Home {
		o.Feed(Event{Event: "home", At: time.Now(), Thread: o.thread.ID, Run: r.ID, Engine: ch.Engine.String()})
		o.announce(ctx, r.ID, fmt.Sprintf("Back on %s, in the conversation that was set aside.", ch.Engine))
	}
	for _, x := range ch.Out {
		switch {
		case after(chain, x.Engine, ch.Engine):
		case slices.ContainsFunc(chain, func(c place.Candidate) bool { return c.Engine == x.Engine && c.Health.Last == x.Why }):
			o.announce(ctx, r.ID, fmt.Sprintf("Starting on %s: %s comes last, %s.", ch.Engine, x.Engine, x.Why))
		default:
			o.announce(ctx, r.ID, fmt.Sprintf("Starting on %s: %s cannot serve, %s.", ch.Engine, x.Engine, x.Why))
		}
	}
	if ch.Weaker != "" {
		o.announce(ctx, r.ID, fmt.Sprintf("%s is held less tightly than %s mode asks: %s.", ch.Engine, o.policy.Mode, ch.Weaker))
	}
	return nil
}

// errTaken is a trial that somebody else claimed in the meantime.
var errTaken = errors.New("somebody else has the trial of its route")

func (o *owner) addDecisions(ctx context.Context, tx *store.Tx, ds []run.Decision) error {
	for _, d := range ds {
		if err := tx.AddDecision(ctx, o.thread.ID, d); err != nil {
			return err
		}
	}
	return nil
}

// after reports whether x stands below y in the chain.
func after(chain []place.Candidate, x, y paceline.Engine) bool {
	for _, c := range chain {
		switch c.Engine {
		case y:
			return true
		case x:
			return false
		}
	}
	return false
}

// choose picks the engine of a message's first run. A later message goes to the
// engine whose conversation holds the thread; where that one cannot serve, to
// the next below it, with what was said before (F63).
func (o *owner) choose(ctx context.Context, m store.Message, chain []place.Candidate) (place.Choice, run.Carry, error) {
	ask := place.Ask{Now: time.Now(), Weaker: o.policy.Fallback.Weaker}
	runs, err := o.runs(ctx)
	if err != nil {
		return place.Choice{}, run.Bare, err
	}
	if ch, carry, ok, err := o.moved(ctx, m, runs); ok || err != nil {
		return ch, carry, err
	}
	if m.Opener {
		return place.Choose(chain, ask), run.Bare, nil
	}
	held, ok := seated(runs)
	seat := slices.IndexFunc(chain, func(c place.Candidate) bool { return ok && c.Engine == held.Engine })
	if seat < 0 {
		return place.Choose(chain, ask), run.History, nil
	}
	if ch, carry, ok := o.home(ctx, m, chain, runs, seat, ask); ok {
		return ch, carry, nil
	}
	sits := ask
	sits.Sits = true
	stay := place.Choose(chain[seat:seat+1], sits)
	if last, _ := lastSent(runs); stay.Found && last.Message != held.Message {
		// Its conversation lacks what somebody else was sent since and did nothing with.
		if _, err := o.parking(ctx, runs, held.Engine); err == nil {
			return stay, run.Home, nil
		}
		return stay, run.History, nil
	}
	if stay.Found && held.Carry == run.Home && held.Phase != run.Done && held.Work == paceline.WorkNone {
		// Until a turn was answered nobody relies on the packet's having been taken in.
		return stay, run.History, nil
	}
	if stay.Found && !o.keeps(held.Engine) {
		return stay, run.History, nil // its program cannot open that conversation again
	}
	if stay.Found || len(chain) == 1 {
		return stay, run.Bare, nil
	}
	if m.Kind != paceline.KindPrompt || !o.policy.Fallback.Enabled {
		return stay, run.Bare, nil // F12, F47: only a prompt moves, and only where anything may
	}
	ask.After = &chain[seat]
	next := place.Choose(chain, ask)
	for i, x := range next.Out {
		if x.Engine == chain[seat].Engine {
			next.Out[i] = stay.Out[0]
		}
	}
	return next, run.History, nil
}

// keeps reports whether an engine's program can open a conversation again.
func (o *owner) keeps(e paceline.Engine) bool {
	h, ok := harness.Named(o.policy.Accounts[e.Account].Harness)
	return !ok || harness.Keeps(h)
}

// seater is the engine that holds the seat; the zero value is none yet.
func (o *owner) seater(ctx context.Context) paceline.Engine {
	runs, _ := o.runs(ctx)
	r, _ := seated(runs)
	return r.Engine
}

// seated is the run whose conversation holds the thread: the last that was sent
// anything, and did not fail to take it over.
func seated(runs []run.State) (r run.State, ok bool) {
	for i := len(runs) - 1; i >= 0; i-- {
		if runs[i].Holds() {
			return runs[i], true
		}
	}
	return r, false
}

// lastSent is the last run that was sent anything.
func lastSent(runs []run.State) (r run.State, ok bool) {
	for i := len(runs) - 1; i >= 0; i-- {
		if runs[i].Sent {
			return runs[i], true
		}
	}
	return r, false
}

// unplaced settles a message that nobody can take, saying why of each engine.
func (o *owner) unplaced(ctx context.Context, m store.Message, chain []place.Candidate, ch place.Choice) error {
	status, why := run.Blocked, "no engine is named"
	for i, x := range ch.Out {
		if i == 0 {
			why = fmt.Sprintf("%s: %s", x.Engine, x.Why)
		} else {
			why += fmt.Sprintf("; %s: %s", x.Engine, x.Why)
		}
	}
	if out := func() bool {
		for _, c := range chain {
			if !c.SignedOut {
				return false
			}
		}
		return len(chain) > 0
	}(); out {
		status = run.NeedSignIn
	}
	if r := returns(chain, m.Message); r.Known() && status == run.Blocked {
		return o.park(ctx, m, r, why, ch)
	}
	end := run.Settle{Status: status, Text: "no engine can serve", Hint: why}
	d := run.Decision{At: time.Now(), Event: "placed", What: "no engine can serve", Why: why, Out: ch.Out}
	err := o.commit(ctx, func(tx *store.Tx) ([]Event, error) {
		if err := tx.SettleMessage(ctx, m.ID, end); err != nil {
			return nil, err
		}
		return []Event{o.finished("", m.ID, end)}, tx.AddDecision(ctx, o.thread.ID, d)
	})
	if err == nil {
		o.decided(d)
	}
	return err
}

// decide is the whole of record-before-act: it reads the run and the facts,
// steps, and writes state, effects and decision in one transaction.
func (o *owner) decide(ctx context.Context, id paceline.RunID, e run.Event, seen facts) (run.State, []run.Effect, error) {
	// What was decided must be written even when its user has just given up.
	ctx = context.WithoutCancel(ctx)
	var after run.State
	var effects []run.Effect
	var told []run.Decision
	write := func(tx *store.Tx) ([]Event, error) {
		told = nil
		before, version, err := tx.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		if o.holds.run == id && o.holds.nth != before.Starts {
			return nil, errSuperseded
		}
		f, err := o.facts(ctx, tx, before, seen)
		if err != nil {
			return nil, err
		}
		after, effects = run.Step(before, e, f)
		for range seen.chain {
			lines, denied, err := o.admitted(ctx, tx, before, effects, &f)
			if err != nil {
				return nil, err
			}
			if told = lines; !denied {
				break
			}
			after, effects = run.Step(before, e, f)
		}
		effects = o.lane.voiced(after, effects)
		if len(effects) == 0 && reflect.DeepEqual(before, after) {
			return nil, nil
		}
		lines, err := o.seen(ctx, tx, before, after, e, seen)
		if err != nil {
			return nil, err
		}
		told = append(told, lines...)
		if err := o.addDecisions(ctx, tx, told); err != nil {
			return nil, err
		}
		if err := tx.PutRun(ctx, after, version); err != nil {
			return nil, err
		}
		if before.Claim.Phase == run.Pending && after.Claim.Phase != run.Pending {
			if err := o.box.Performed(ctx, tx, id); err != nil {
				return nil, err
			}
		}
		return o.told(after, effects), o.record(ctx, tx, after, effects)
	}
	for try := 0; ; try++ {
		err := o.commit(ctx, write)
		if errors.Is(err, store.ErrStale) && try < 5 {
			continue // Step is pure: load again, step again
		}
		if err != nil {
			return after, nil, fmt.Errorf("%s: %w", id, err)
		}
		for _, e := range effects {
			if e, ok := e.(run.Decide); ok {
				o.decided(e.Decision)
			}
		}
		for _, d := range told {
			o.decided(d)
		}
		return after, effects, nil
	}
}

// record writes what Step returned beside the state.
func (o *owner) record(ctx context.Context, tx *store.Tx, s run.State, effects []run.Effect) error {
	for _, e := range effects {
		var err error
		switch e := e.(type) {
		case run.Dispatch:
			err = o.box.Enqueue(ctx, tx, e)
		case run.Create:
			if err = tx.AddRun(ctx, e.Run); err == nil && e.Asked {
				err = o.took(ctx, tx, e.Run.Engine)
			}
		case run.Resume:
			if err = tx.AddRun(ctx, e.Run); err == nil && e.Asked {
				err = o.took(ctx, tx, e.Run.Engine)
			}
		case run.Announce:
			err = tx.AddItem(ctx, item(s, "announcement", map[string]string{"text": e.Text}))
		case run.Hold:
			err = tx.HoldLimit(ctx, e.Limit)
		case run.Lift:
			err = tx.LiftLimit(ctx, e.Engine)
		case run.Settle:
			if err = tx.SettleMessage(ctx, s.Message, e); err == nil {
				err = tx.SettleSteers(ctx, s.ID, e)
			}
		case run.Reopen:
			err = tx.ReopenMessage(ctx, s.Message)
		case run.Decide:
			err = tx.AddDecision(ctx, s.Thread, e.Decision)
		case run.Await: // a part of the run's own row
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// told is what clients hear of a decision. It is on disk with it.
func (o *owner) told(s run.State, effects []run.Effect) (out []Event) {
	for _, e := range effects {
		ev := Event{At: time.Now(), Thread: s.Thread, Run: s.ID}
		switch e := e.(type) {
		case run.Await:
			until := e.Wait.Until.UTC()
			ev.Event, ev.Engine, ev.Until, ev.From, ev.Why = "waiting", e.Wait.For.String(), &until, e.Wait.Source.String(), e.Wait.Why
		case run.Resume:
			ev.Event, ev.Run, ev.Engine = "resumed", e.Run.ID, e.Run.Engine.String()
		case run.Announce:
			ev.Event, ev.Text = "announcement", e.Text
		case run.Create:
			ev.Event, ev.Run, ev.Why = "failover", e.Run.ID, s.Claim.Why
			ev.FromEngine, ev.ToEngine = s.Engine.String(), e.Run.Engine.String()
			if e.Run.Carry == run.Progress || e.Asked {
				ev.Event = "rollover"
			}
		case run.Hold:
			ev.Event, ev.Engine, ev.Cause = "limit", e.Limit.Engine.String(), e.Limit.Cause.String()
			ev.reset(e.Limit.Reset)
		case run.Settle:
			ev = o.finished(s.ID, s.Message, e)
		case run.Dispatch, run.Lift, run.Reopen, run.Decide:
			continue
		}
		out = append(out, ev)
	}
	return out
}

func (o *owner) finished(id paceline.RunID, m paceline.MessageID, e run.Settle) Event {
	exit := Exit(e.Status)
	ev := Event{
		Event: "finished", At: time.Now(), Thread: o.thread.ID, Run: id, Message: m,
		Status: e.Status.String(), Exit: &exit, Text: e.Text, Hint: e.Hint,
	}
	ev.reset(e.Reset)
	return ev
}

// Exit is the exit code of a settled message.
func Exit(s run.Status) int {
	switch s {
	case run.Answered:
		return 0
	case run.Blocked:
		return 3
	case run.NeedSignIn:
		return 4
	case run.NeedPerson:
		return 5
	case run.Halted:
		return 130
	case run.Broke, run.Unsettled:
	}
	return 1
}

func (o *owner) decided(d run.Decision) {
	o.Log.LogAttrs(context.Background(), slog.LevelInfo, "decided",
		slog.String(logkey.Thread, string(o.thread.ID)), slog.String(logkey.Run, string(d.Run)),
		slog.String(logkey.Event, d.Event), slog.String(logkey.From, d.From.String()), slog.String(logkey.To, d.To.String()),
		slog.String(logkey.What, d.What), slog.String(logkey.Why, d.Why))
}

// announce puts a line of ours into the thread, outside of a decision.
func (o *owner) announce(ctx context.Context, id paceline.RunID, text string) {
	s := run.State{ID: id, Thread: o.thread.ID}
	ctx = context.WithoutCancel(ctx)
	told := Event{Event: "announcement", At: time.Now(), Thread: o.thread.ID, Run: id, Text: text}
	err := o.commit(ctx, func(tx *store.Tx) ([]Event, error) {
		return []Event{told}, tx.AddItem(ctx, item(s, "announcement", map[string]string{"text": text}))
	})
	if err != nil {
		o.Log.LogAttrs(ctx, slog.LevelWarn, "announcement not kept", slog.Any(logkey.Error, err))
	}
}

// dispatch performs a pending claim, here and now: the job that was written
// with it is for the case that this process does not live to do it.
func (o *owner) dispatch(ctx context.Context, r run.State) error {
	seen, err := o.around(ctx)
	if err == nil && r.After != "" {
		seen.lacks, seen.grown, err = o.leftBehind(ctx, r)
	}
	if err == nil {
		point("during-dispatch")
		next := paceline.RunID(store.NewID("r"))
		_, _, err = o.decide(ctx, r.ID, run.DispatchDue{Next: next}, seen)
	}
	if err == nil {
		point("after-tx2")
		return nil
	}
	// The attempt is counted, so that the claim ends in any case.
	if _, _, e := o.decide(ctx, r.ID, run.DispatchRefused{Why: "the store refused it"}, seen); e != nil {
		return errors.Join(err, e)
	}
	return nil
}
