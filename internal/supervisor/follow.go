package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/guard"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/logkey"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/stall"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/wire"
	"github.com/paceline/paceline/internal/witness"
)

// drive follows one child.
type drive struct {
	*owner
	harness harness.Harness
	launch  harness.Launch
	turn    *harness.Turn
	id      paceline.RunID
	engine  paceline.Engine
	before  witness.Look // at the tree, when nothing was sent yet

	text    strings.Builder
	items   []store.Item
	unknown map[string]int
	asking  bool
	tool    bool          // one was seen
	model   string        // which its program names
	sent    time.Time     // when the prompt was
	first   time.Duration // until the first word of the answer
	// steering is under way while a steer is on record and the program has not
	// said whether it takes it.
	steering sync.WaitGroup
	calls    []call              // every one, in the order of its items
	kept     bool                // all that was seen so far is on record
	last     []paceline.Evidence // what the stream held when it broke off
	early    bool                // it failed having done no work: its tree is frozen, then ended, beside its successor's start
}

// follow observes until the turn has ended, and acts on what it means.
func (d *drive) follow(ctx context.Context) error {
	wheel, over := d.steers.open(d.thread.ID, d.turn.Heard)
	defer over()
	if d.seized(ctx) { // while its program started
		return d.handOver(ctx)
	}
	watch := stall.Begin(d.policy.Stall[harness.Silence(d.harness)].Or(harness.Silence(d.harness)), time.Now())
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		// Awake time: the clock that this is reckoned by stands still in a suspend.
		set := time.Now()
		alarm.Reset(watch.Deadline().Sub(set))
		select {
		case <-alarm.C:
			now := time.Now()
			watch = watch.Heard(d.turn.Heard()).Went(d.turn.Went())
			if stall.Suspended(now.Round(0).Sub(set.Round(0)), now.Sub(set)) {
				watch = watch.Slept(now) // no answer could arrive meanwhile
			}
			if silent, ok := watch.Verdict(time.Now()); ok {
				return d.stalled(ctx, silent)
			}
		case a := <-wheel.asked:
			d.steer(ctx, a)
		case <-wheel.over:
			if d.seized(ctx) {
				return d.handOver(ctx)
			}
		case <-ctx.Done():
			if leaving(ctx) {
				return d.leave(ctx)
			}
			return d.stop(ctx)
		case e, ok := <-d.turn.Events:
			if !ok {
				return d.cut(ctx, nil)
			}
			end, err := d.observe(ctx, e)
			watch = watch.Went(d.turn.Went()).Saw(e, time.Now())
			if e.Kind == wire.Retrying {
				d.retrying(e, watch)
			}
			if err != nil {
				_, _ = d.turn.Kill(context.WithoutCancel(ctx))
				return err
			}
			if end != nil && end.Outcome == paceline.OutcomeIncomplete && end.Failure.Cause == paceline.CauseUnknown {
				d.last = end.Failure.Evidence
				return d.cut(ctx, nil)
			}
			if end != nil && end.Outcome == paceline.OutcomeCompleted {
				// A steer that came too late for this turn is answered by the next.
				if d.steering.Wait(); d.turn.More() {
					continue
				}
			}
			if end != nil {
				return d.finish(ctx, *end)
			}
		}
	}
}

// observe takes one event in. A returned ending is the end of the turn.
func (d *drive) observe(ctx context.Context, e wire.Event) (*wire.Ending, error) {
	now := time.Now()
	tell := Event{At: now, Thread: d.thread.ID, Run: d.id}
	switch e.Kind {
	case wire.Opened:
		if e.Model != "" {
			d.model = e.Model
		}
	case wire.ToolDone:
		d.reported(e)
	case wire.Acked:
		point("before-running")
		_, _, err := d.decide(ctx, d.id, run.Ack{}, facts{})
		return nil, err
	case wire.Worked:
		work := paceline.WorkSome
		if d.first == 0 && !d.sent.IsZero() {
			d.first = now.Sub(d.sent)
		}
		if e.Evidence.Means == "unknown" {
			work = paceline.WorkUnknown
		}
		_, _, err := d.decide(ctx, d.id, run.Worked{Work: work, Evidence: e.Evidence}, facts{model: d.model})
		return nil, err
	case wire.Unknown:
		if d.unknown == nil {
			d.unknown = map[string]int{}
		}
		d.unknown[e.Evidence.Frame+" "+e.Evidence.Says]++
	case wire.Text:
		d.text.WriteString(e.Text)
		tell.Event, tell.Text = "text", e.Text
		d.Feed(tell)
	case wire.Tool:
		d.keepText()
		d.called(ctx, e)
		tell.Event, tell.Tool = "tool", e.Name
		d.Feed(tell)
		if !d.tool {
			d.tool = true
			seen := paceline.Evidence{Frame: run.FrameTool, Line: e.Line, Says: e.Name, Means: "work"}
			_, _, err := d.decide(ctx, d.id, run.Worked{Work: paceline.WorkSome, Evidence: seen}, facts{})
			return nil, err
		}
	case wire.File:
		d.item("file", map[string]string{"path": e.Name})
		tell.Event, tell.Path = "file", e.Name
		d.Feed(tell)
	case wire.Approval:
		return d.approve(ctx, e, tell)
	case wire.Retrying: // follow tells of it, with what it means
	case wire.Overage:
		return d.overage(ctx, e)
	case wire.Announcement:
		d.announce(ctx, d.id, e.Text)
	case wire.Limited:
		// The limit is certain before the turn has ended. Where no work was done
		// and somebody else could serve, it is acted on at once: the program takes
		// another tenth of a second to say its last word.
		if e.Failure.Work == paceline.WorkNone && len(d.seat.Chain(d.thread.Chain)) > 1 {
			return &wire.Ending{Outcome: paceline.OutcomeFailed, Failure: *e.Failure}, nil
		}
	case wire.Ended:
		return e.Ending, nil
	}
	return nil, nil
}

// overage does as the operator said about a turn that begins to cost extra (P6).
func (d *drive) overage(ctx context.Context, e wire.Event) (*wire.Ending, error) {
	switch d.policy.Fallback.Overage {
	case config.OverageUse:
	case config.OverageAnnounce:
		d.announce(ctx, d.id, e.Text)
	case config.OverageStop:
		f := *e.Failure
		f.Work = paceline.WorkNone // what was seen of it until now is in the run's row
		if len(d.unknown) > 0 {
			f.Work = paceline.WorkUnknown
		}
		return &wire.Ending{Outcome: paceline.OutcomeFailed, Failure: f}, nil
	}
	return nil, nil
}

// item adds to what was said and done in this run.
func (d *drive) item(kind string, body map[string]string) {
	d.items = append(d.items, item(run.State{ID: d.id, Thread: d.thread.ID}, kind, body))
}

// keepText turns the text so far into one item.
func (d *drive) keepText() {
	if d.text.Len() > 0 {
		d.item("text", map[string]string{"text": d.text.String()})
		d.text.Reset()
	}
}

// approve asks a person. Where nobody attends, the run ends here and says so:
// exit code 5, rather than a night of waiting.
func (d *drive) approve(ctx context.Context, e wire.Event, tell Event) (*wire.Ending, error) {
	tell.Event, tell.Tool, tell.ID, tell.Detail = "approval", e.Name, paceline.RequestID(e.ID), e.Detail
	d.Feed(tell)
	allow, attended := d.Ask(ctx, tell)
	if ctx.Err() != nil {
		return nil, nil // stopped while asked: follow ends it
	}
	if !attended {
		d.asking = true
		return &wire.Ending{Outcome: paceline.OutcomeInterrupted, Failure: paceline.Failure{
			Cause: paceline.CauseOther, Code: "approval", Work: paceline.WorkSome,
			Notice:   "it asks before " + e.Name + ", and nobody attends",
			Evidence: []paceline.Evidence{{Frame: "approval", Says: e.Name, Means: "work"}},
		}}, nil
	}
	return nil, d.turn.Answer(e.ID, allow)
}

// finish ends the run as the ending says, and its child.
func (d *drive) finish(ctx context.Context, end wire.Ending) error {
	d.keep(ctx)
	if end.Failure.Cause == paceline.CauseThrottle {
		end.Failure = d.turn.Settle(ctx, end.Failure)
	}
	if end.Outcome == paceline.OutcomeCompleted {
		// The message is answered: that is on record before the child has left.
		if err := d.end(ctx, d.id, end, d); err != nil {
			_, _ = d.turn.Kill(context.WithoutCancel(ctx))
			return err
		}
		d.left(ctx, d.turn.Close(ctx))
		return nil
	}
	point("failure-frame")
	if d.early = end.Failure.Work == paceline.WorkNone && harness.Proves(d.harness); !d.early {
		ended, _ := d.turn.Stop(context.WithoutCancel(ctx))
		d.left(ctx, ended)
		d.steering.Wait() // a steer that was not taken is a message of its own, not part of a packet
	}
	end.Failure = d.witnessed(ctx, end.Failure)
	err := d.end(ctx, d.id, end, d)
	if err != nil && d.dying == nil {
		_, _ = d.turn.Kill(context.WithoutCancel(ctx))
	}
	return err
}

// bury ends the frozen tree while its successor starts; settled waits for it.
func (d *drive) bury() {
	gone := make(chan struct{})
	d.dying = gone
	go func() {
		defer close(gone)
		ended, _ := d.turn.Kill(context.Background())
		d.left(context.Background(), ended)
		for range d.turn.Events {
		}
	}()
}

// settled waits until nothing of the run before lives any more: a successor is
// sent its prompt only then (P4).
func (o *owner) settled(ctx context.Context) error {
	if o.dying == nil {
		return nil
	}
	select {
	case <-o.dying:
		o.dying = nil
		return nil
	case <-time.After(time.Minute):
		return errors.New("the run before cannot be ended: its processes do not die")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// left says what the child left running in the background, now stopped.
func (d *drive) left(ctx context.Context, e guard.Ended) {
	if len(e.Stopped) == 0 {
		return
	}
	var names []string
	for _, p := range e.Stopped {
		names = append(names, p.Name)
	}
	d.announce(ctx, d.id, fmt.Sprintf("Stopped what %s had left running: %s.", d.harness.Name(), strings.Join(names, ", ")))
	// A successor is told as well: what it finds gone was no accident.
	it := item(run.State{ID: d.id, Thread: d.thread.ID}, "stopped", map[string]string{"text": strings.Join(names, "\n")})
	ctx = context.WithoutCancel(ctx)
	if err := d.Store.InTx(ctx, func(tx *store.Tx) error { return tx.AddItem(ctx, it) }); err != nil {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "item not kept", slog.Any(logkey.Error, err))
	}
}

// keep writes what was said and done so far.
func (d *drive) keep(ctx context.Context) {
	d.keepText()
	d.kept = true
	if len(d.items) == 0 && len(d.unknown) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	err := d.Store.InTx(ctx, func(tx *store.Tx) error {
		for f, n := range d.unknown {
			if err := tx.CountUnknown(ctx, d.harness.Name(), d.turn.Opened.Version, f, n); err != nil {
				return err
			}
		}
		return tx.AddItems(ctx, d.items)
	})
	if d.kept = err == nil; d.kept {
		d.items, d.unknown = nil, nil
	}
}

// cut ends a run whose child went away in the middle: what its stream left is
// all there is to go by.
func (d *drive) cut(ctx context.Context, cause error) error {
	d.keep(ctx)
	ended, _ := d.turn.Kill(context.WithoutCancel(ctx))
	d.left(ctx, ended)
	what := fmt.Sprintf("%s ended in the middle (%s)", d.harness.Name(), ended)
	if cause != nil {
		what = cause.Error()
	}
	r, err := d.Store.Run(ctx, d.id)
	if err != nil {
		return err
	}
	work := r.Work
	if r.Phase == run.Running || len(d.unknown) > 0 {
		// It had the message and then no last word: nobody can say what was done.
		work = paceline.WorkUnknown
	}
	return d.end(ctx, d.id, wire.Ending{Outcome: paceline.OutcomeFailed, Failure: d.witnessed(ctx, paceline.Failure{
		Cause: paceline.CauseCrash, Work: work, Notice: what,
		Evidence: append(d.last, paceline.Evidence{Frame: "exit", Says: what, Means: "crash"}),
	})}, d)
}

// stop ends the run because its user, or the end of this process, wants it.
func (d *drive) stop(ctx context.Context) error {
	d.keep(ctx)
	ended, _ := d.turn.Stop(context.WithoutCancel(ctx))
	d.left(ctx, ended)
	_, _, err := d.decide(ctx, d.id, run.StopAsked{By: "its user"}, facts{stop: true})
	return err
}

// leave ends the child and records nothing: the next server finds the run as it
// is on disk, and reads in the engine's own transcript how far it came.
func (d *drive) leave(ctx context.Context) error {
	d.keep(ctx)
	_, _ = d.turn.Stop(context.WithoutCancel(ctx))
	return ctx.Err()
}

// end records the ending of a run, and performs its claim at once where it got
// one. d is nil where no child was followed.
func (o *owner) end(ctx context.Context, id paceline.RunID, end wire.Ending, d *drive) error {
	seen := facts{stop: stopped(ctx), asking: d != nil && d.asking}
	if d != nil {
		seen.silent, seen.kept = d.silent(), d.kept
		seen.model, seen.first = d.model, d.first
	}
	if end.Outcome != paceline.OutcomeCompleted {
		around, err := o.around(ctx)
		if err != nil {
			return err
		}
		seen.chain, seen.asked, seen.runs = around.chain, around.asked, around.runs
		if end.Failure.Cause == paceline.CauseAuth && d != nil && end.Failure.Work == paceline.WorkNone {
			seen.probe = o.probe(ctx, d.harness, d.launch)
		}
		ev := Event{
			Event: "failed", At: time.Now(), Thread: o.thread.ID, Run: id,
			Cause: end.Failure.Cause.String(), Code: end.Failure.Code, Work: end.Failure.Work.String(), Text: end.Failure.Notice,
		}
		ev.reset(end.Failure.Reset)
		o.Feed(ev)
	}
	after, _, err := o.decide(ctx, id, run.End{Ending: end}, seen)
	if err != nil {
		return err
	}
	if d != nil && d.early {
		// It did no work, and from here on it writes nothing and does not compete
		// with its successor for the processor. The failure is on record first: a
		// frozen program's own transcript would prove nothing after a crash.
		_ = d.turn.Freeze()
		d.bury()
	}
	point("after-tx1")
	if after.Claim.Phase == run.Pending {
		return o.dispatch(ctx, after)
	}
	return nil
}

// probe asks one fresh process whether the sign-in is accepted after all.
func (o *owner) probe(ctx context.Context, h harness.Harness, l harness.Launch) run.Probe {
	o.accounts.forget(l.Account.Name)
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	switch accepted, known := h.Fresh(ctx, l); {
	case !known:
		return run.ProbeNone
	case accepted:
		return run.ProbeIn
	}
	return run.ProbeOut
}

// item is something said or done, as `show` reads it.
func item(s run.State, kind string, body map[string]string) store.Item {
	b, _ := json.Marshal(body) // strings always marshal
	return store.Item{Thread: s.Thread, Run: s.ID, Kind: kind, Body: b, At: time.Now()}
}
