package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// facts are what the owner saw outside of the transaction that a decision is
// made in: looking takes time.
type facts struct {
	chain  []place.Candidate
	asked  *place.Candidate // where its user wants the seat
	stop   bool
	asking bool
	probe  run.Probe
	lacks  map[paceline.Engine]bool
	grown  map[paceline.Engine]bool
	runs   []run.State   // of the thread, or of the participant whose round it is
	silent []string      // calls that began and never reported
	kept   bool          // all that the run did is on record
	model  string        // which model its program names
	first  time.Duration // from the prompt to the first word of the answer; 0 is not known
}

// facts gathers everything that a rule may look at.
func (o *owner) facts(ctx context.Context, tx *store.Tx, s run.State, seen facts) (run.Facts, error) {
	f := run.Facts{
		Now: time.Now(), Chain: seen.chain, Asked: seen.asked, Stop: seen.stop, Asking: seen.asking, Probe: seen.probe, Lacks: seen.lacks, Grown: seen.grown,
		MaxHops: o.policy.Fallback.MaxHops, Weaker: o.policy.Fallback.Weaker, Off: !o.policy.Fallback.Enabled,
		Archived: o.thread.Archived, Silent: seen.silent, Kept: seen.kept,
		Roll: o.policy.Fallback.Rollover != config.RolloverOff, RollSilent: o.policy.Fallback.Rollover == config.RolloverAlways,
	}
	m, err := tx.Message(ctx, s.Message)
	if err != nil {
		return f, err
	}
	f.Message = m.Message
	all, err := tx.RunsOfMessage(ctx, s.Message)
	if err != nil {
		return f, err
	}
	for _, r := range all {
		if r.ID != s.ID {
			f.Earlier = append(f.Earlier, r)
		}
	}
	if held, ok := seated(seen.runs); ok && held.Message != s.Message {
		f.Held = held.Engine
	}
	if f.Steered, err = tx.Steered(ctx, s.ID); err != nil {
		return f, err
	}
	f.Since, err = tx.RunsSince(ctx, s.Thread, s.ID)
	return f, err
}

// around looks at every engine that may serve, and at the one that the thread's
// user wants the seat on.
func (o *owner) around(ctx context.Context) (seen facts, err error) {
	if err = o.look(ctx); err != nil {
		return seen, err
	}
	if seen.chain, err = o.candidates(ctx); err != nil {
		return seen, err
	}
	if seen.runs, err = o.runs(ctx); err != nil {
		return seen, err
	}
	if next := o.seat.Next; next != nil && !next.Home {
		c, err := o.target(ctx, *next)
		if err != nil {
			return seen, err
		}
		seen.asked = &c
	}
	return seen, nil
}

// target looks at the engine that the seat is to move to.
func (o *owner) target(ctx context.Context, m run.Move) (place.Candidate, error) {
	limits, err := o.Store.Limits(ctx)
	return o.entry(ctx, limits, m.Engine, true), err
}

// candidates looks at every engine that may serve the thread, in order.
func (o *owner) candidates(ctx context.Context) ([]place.Candidate, error) {
	limits, err := o.Store.Limits(ctx)
	if err != nil {
		return nil, err
	}
	var out []place.Candidate
	order := o.seat.Chain(o.thread.Chain)
	for _, e := range order {
		out = append(out, o.entry(ctx, limits, e, len(order) > 1))
	}
	return out, o.weigh(ctx, out)
}

// entry is a candidate with what is held against it.
func (o *owner) entry(ctx context.Context, limits []paceline.Limit, e paceline.Engine, probe bool) place.Candidate {
	c := o.candidate(ctx, e, probe)
	c.Limit = held(limits, e)
	return c
}

// candidate looks at one engine. Only where work could move is the program
// asked who is signed in: a child that starts says so itself.
func (o *owner) candidate(ctx context.Context, e paceline.Engine, probe bool) place.Candidate {
	c := place.Candidate{Engine: e}
	a, ok := o.policy.Accounts[e.Account]
	if !ok {
		c.Unready = fmt.Sprintf("no account is named %q", e.Account)
		return c
	}
	h, ok := harness.Named(a.Harness)
	if !ok {
		c.Unready = fmt.Sprintf("this build does not drive %q", a.Harness)
		return c
	}
	c.Vendor, c.Route, c.Posture = h.Vendor(), h.Route(a, o.Env), a.Posture
	c.Containment = harness.Contain(h, a, o.policy.Mode, o.thread.Tree, o.Env, o.policy.Writable).Containment
	if c.Unready = o.lane.outs[e]; c.Unready != "" {
		return c
	}
	switch _, err := h.Find(o.Env); {
	case a.Disabled:
		c.Unready = "it is disabled"
		return c
	case err != nil:
		c.Unready = "it is not installed: " + h.Install()
		return c
	case !probe:
		return c
	}
	p := o.accounts.look(ctx, h, a, o.Env)
	c.Unready, c.SignedOut = p.Note, !p.SignedIn && p.Note != ""
	if c.Posture == paceline.PostureUnknown {
		c.Posture = p.Posture
	}
	return c
}
