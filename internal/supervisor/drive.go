package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/wire"
)

// start is one start of a run's child.
type start struct {
	run paceline.RunID
	nth int
}

// errSuperseded is a run that another server started again, since it took this one
// for dead. What this one still hears of its child decides nothing (Z50).
var errSuperseded = errors.New("another server has started this run again: what this one saw of it counts no more")

// drive carries one queued run to its end: a child is started, the prompt sent,
// and its frames followed.
func (o *owner) drive(ctx context.Context, r run.State, m paceline.Message) error {
	a := o.policy.Accounts[r.Engine.Account]
	h, ok := harness.Named(a.Harness)
	if !ok {
		return o.fail(ctx, r.ID, paceline.CauseOther, "unknown harness "+a.Harness)
	}
	l, err := o.launch(ctx, h, a, r)
	if err != nil {
		return o.fail(ctx, r.ID, paceline.CauseOther, err.Error())
	}
	prompt, err := o.prompt(ctx, r, m)
	if err != nil {
		return o.fail(ctx, r.ID, paceline.CauseOther, err.Error())
	}
	if err := o.lease(ctx, r.ID); err != nil {
		return err
	}
	begun, _, err := o.decide(ctx, r.ID, run.Begin{Containment: l.Containment.Containment, Posture: a.Posture}, facts{})
	if err != nil {
		return err
	}
	if begun.Phase != run.Starting {
		return errSuperseded
	}
	o.holds = start{r.ID, begun.Starts}
	o.Feed(Event{Event: "started", At: time.Now(), Thread: r.Thread, Run: r.ID, Engine: r.Engine.String(), Mode: o.policy.Mode.String(), Participant: o.lane.who})
	now := *o // the next round may be another participant's before everybody was asked
	go now.ahead(context.WithoutCancel(ctx), r.Engine, o.seat.Chain(o.thread.Chain))
	look := o.looking(ctx, h)
	point("starting")
	t, err := h.Open(ctx, l)
	if err != nil {
		return o.unopened(ctx, r.ID, err)
	}
	o.accounts.opened(ctx, h, a, o.Env, t.Opened)
	if why := o.dearer(r, a, t.Opened); why != "" {
		_, _ = t.Kill(context.WithoutCancel(ctx))
		return o.fail(ctx, r.ID, paceline.CauseOther, why)
	}
	if t.Opened.SignedOut {
		_, _ = t.Kill(context.WithoutCancel(ctx))
		return o.fail(ctx, r.ID, paceline.CauseAuth, "not signed in")
	}
	d := &drive{owner: o, harness: h, launch: l, turn: t, id: r.ID, engine: r.Engine}
	if err := o.alone(ctx, r); err != nil {
		_, _ = t.Kill(context.WithoutCancel(ctx))
		return err
	}
	d.before = look()
	if d.seized(ctx) { // nothing was sent yet
		_, _ = t.Kill(context.WithoutCancel(ctx))
		seen, err := o.around(ctx)
		if err != nil {
			return err
		}
		return o.handedOver(ctx, r.ID, wire.Ending{}, seen)
	}
	sending, _, err := o.decide(ctx, r.ID, run.Send{Conversation: t.Opened.Conversation}, facts{})
	if err == nil && sending.Phase != run.Sending {
		err = errSuperseded // who took it for lost has queued it again
	}
	if err != nil {
		_, _ = t.Kill(context.WithoutCancel(ctx))
		return err
	}
	point("sending-committed")
	d.sent = time.Now()
	if err := t.Send(prompt); err != nil {
		return d.cut(ctx, err)
	}
	point("prompt-written")
	return d.follow(ctx)
}

// ahead asks who could take over, while the child starts. The engine that is
// starting says itself who is signed in.
func (o *owner) ahead(ctx context.Context, running paceline.Engine, chain []paceline.Engine) {
	for _, e := range chain {
		if e != running {
			o.candidate(ctx, e, true)
		}
	}
}

// launch is what the run's child is started with.
func (o *owner) launch(ctx context.Context, h harness.Harness, a paceline.Account, r run.State) (harness.Launch, error) {
	l := harness.Launch{
		Run: r.ID, Account: a, Model: r.Engine.Model, Dir: o.thread.Dir, Mode: o.policy.Mode,
		Containment: harness.Contain(h, a, o.policy.Mode, o.thread.Tree, o.Env, o.policy.Writable),
		Env:         o.Env, Self: o.Self, Lock: o.lock(r.ID), Version: o.Version,
	}
	if info, err := os.Stat(o.thread.Dir); err != nil || !info.IsDir() {
		return l, fmt.Errorf("the working directory %s is gone", o.thread.Dir)
	}
	if err := key(ctx, &l.Account, o.Env, o.keys); err != nil {
		return l, err
	}
	if r.Carry == run.Continue {
		return l, o.continued(ctx, r, &l)
	}
	if r.Carry == run.Home {
		runs, err := o.runs(ctx)
		if err == nil {
			var parked run.State
			parked, err = o.parking(ctx, runs, r.Engine)
			l.Resume = parked.Conversation
		}
		return l, err
	}
	if r.Carry != run.Bare {
		return l, nil // a packet begins a conversation: an older one would lack what was said since
	}
	runs, err := o.runs(ctx)
	if err != nil {
		return l, err
	}
	for i := len(runs) - 1; i >= 0; i-- {
		// An earlier message's conversation on this engine is carried on.
		if b := runs[i]; b.Message != r.Message && b.Sent && b.Engine == r.Engine && b.Conversation != "" {
			l.Resume = b.Conversation
			break
		}
	}
	return l, nil
}

// key fetches the key of a declared metered account. It lives in this process
// and in the child's environment, and nowhere else.
func key(ctx context.Context, a *paceline.Account, env, keys harness.Environment) error {
	switch {
	case a.Posture != paceline.PostureMetered:
	case a.KeyEnv != "":
		if a.Key = keys.Get(a.KeyEnv); a.Key == "" {
			return fmt.Errorf("account %s takes its key from %s, which is not set", a.Name, a.KeyEnv)
		}
	case a.KeyCmd != "":
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", a.KeyCmd)
		cmd.Env, cmd.WaitDelay = env, time.Second
		out, err := cmd.Output()
		if a.Key = strings.TrimSpace(string(out)); err != nil || a.Key == "" {
			return fmt.Errorf("account %s: its key_command printed no key", a.Name)
		}
	}
	return nil
}

// dearer refuses a successor that turned out to spend money of another kind
// than was known when it was chosen (P6).
func (o *owner) dearer(r run.State, a paceline.Account, opened harness.Opened) string {
	if r.Hop == 0 && r.Carry == run.Bare || opened.Posture == paceline.PostureUnknown || a.Posture == paceline.PostureMetered {
		return ""
	}
	if opened.Posture == paceline.PostureMetered {
		return "it would spend by the token, which nobody allowed: declare the account with posture = \"metered\""
	}
	return ""
}

// fail ends a run that never reached its engine. Nothing was sent, so it did no
// work.
func (o *owner) fail(ctx context.Context, id paceline.RunID, c paceline.Cause, what string) error {
	return o.unsent(ctx, id, paceline.Failure{Cause: c}, what)
}

// unsent ends a run whose prompt was not sent: it did no work, whatever else its
// program said.
func (o *owner) unsent(ctx context.Context, id paceline.RunID, f paceline.Failure, what string) error {
	f.Work, f.Notice = paceline.WorkNone, what
	f.Evidence = []paceline.Evidence{{Frame: "start", Says: what, Means: f.Cause.String()}}
	end := wire.Ending{Outcome: paceline.OutcomeFailed, Failure: f}
	if r, err := o.Store.Run(ctx, id); err == nil && r.Phase == run.Queued {
		if _, _, err := o.decide(ctx, id, run.Begin{}, facts{}); err != nil {
			return err
		}
	}
	return o.end(ctx, id, end, nil)
}

// unopened reads why a child could not be opened.
func (o *owner) unopened(ctx context.Context, id paceline.RunID, err error) error {
	switch {
	case stopped(ctx):
		_, _, err := o.decide(ctx, id, run.StopAsked{By: "its user"}, facts{stop: true})
		return err
	case leaving(ctx):
		return ctx.Err() // nothing was sent: the next server starts it again
	}
	var tr *harness.Trouble
	f := paceline.Failure{Cause: paceline.CauseCrash}
	what := err.Error()
	if errors.As(err, &tr) {
		if tr.Hint != "" {
			what += "; " + tr.Hint
		}
		if tr.Failure.Cause != paceline.CauseUnknown {
			f = tr.Failure
		}
	}
	return o.unsent(ctx, id, f, what)
}
