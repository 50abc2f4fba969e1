package supervisor

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/health"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/stall"
	"github.com/paceline/paceline/internal/store"
)

// How does a route stand, and may a run go there?
//
// What a run came to is folded into its route's record in the transaction that
// ends it. Where a chain leaves a choice, new work asks the records first; an
// engine that its user named outright is not asked about (Z90). A run that goes
// to a half-open route claims its trial in the transaction that creates the run,
// so that among all processes one does.

// minds reports whether this thread tells of its routes, and asks.
func (o *owner) minds() bool {
	f := o.policy.Fallback
	return f.Enabled && f.Health.Enabled
}

// route is what an engine's health belongs to.
func (o *owner) route(e paceline.Engine) (health.Route, bool) {
	a, ok := o.policy.Accounts[e.Account]
	if !ok {
		return health.Route{}, false
	}
	h, ok := harness.Named(a.Harness)
	if !ok {
		return health.Route{}, false
	}
	return harness.Route(h, a, o.Env), true
}

// weigh says of each candidate what speaks against its route. Where there is no
// choice nothing does: a chain of one is a pin.
func (o *owner) weigh(ctx context.Context, chain []place.Candidate) error {
	if len(chain) < 2 || !o.minds() {
		return nil
	}
	records, err := o.Store.Health(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for i := range chain {
		if route, ok := o.route(chain[i].Engine); ok {
			chain[i].Health = Standing(records, route, now, o.policy.Fallback.Health)
		}
	}
	return nil
}

// Standing is what speaks against new work on a route.
func Standing(records []health.Record, route health.Route, now time.Time, p health.Policy) place.Health {
	var r health.Record
	if i := slices.IndexFunc(records, func(r health.Record) bool { return r.Route == route }); i >= 0 {
		r, _ = health.Age(records[i], now, p)
	}
	if why, back := health.Denies(r, now, p); why != "" {
		return place.Health{Down: why, Back: back}
	}
	if other, ok := health.Shared(records, route, now, p); ok {
		why, back := health.Denies(other, now, p)
		return place.Health{Down: other.Route.Name() + ": " + why + "; both go to " + route.Endpoint, Back: back, Shared: true}
	}
	return place.Health{Last: health.Keeps(r, now, p)}
}

// admit has a run go to its engine's route. Of a half-open one it claims the
// trial; a run that may not go is told why. outright says that it goes in any
// case: it claims the trial only where that is free.
func (o *owner) admit(ctx context.Context, tx *store.Tx, r run.State, outright bool) (place.Health, []run.Decision, error) {
	route, ok := o.route(r.Engine)
	if !ok || !o.minds() {
		return place.Health{}, nil, nil
	}
	now, p := time.Now(), o.policy.Fallback.Health
	rec, version, err := tx.Health(ctx, route)
	if err != nil {
		return place.Health{}, nil, err
	}
	v := health.Admit(rec, string(r.ID), now, p)
	if v.Claimed {
		err := tx.PutHealth(ctx, v.Record, version)
		switch {
		case errors.Is(err, store.ErrStale):
			// Somebody is at it just now, and may be claiming the same trial (Z78).
			v = health.Verdict{Why: "its route's health is being changed by somebody else", Back: now.Add(time.Second)}
		case err != nil:
			return place.Health{}, nil, err
		default:
			return place.Health{}, changes(r, now, v.Lines), nil
		}
	}
	if outright || v.OK {
		return place.Health{}, nil, nil
	}
	return place.Health{Down: v.Why, Back: v.Back}, nil, nil
}

// admitted has the runs that a decision creates go to their routes. It marks the
// candidate that may not be gone to after all, and reports whether there was one:
// the decision is then made once more (Z77).
func (o *owner) admitted(ctx context.Context, tx *store.Tx, from run.State, effects []run.Effect, f *run.Facts) (told []run.Decision, denied bool, err error) {
	for _, e := range effects {
		var r run.State
		switch e := e.(type) {
		case run.Create:
			r = e.Run
		case run.Resume:
			r = e.Run
		default:
			continue
		}
		// Who sits on a route goes on there by his own schedule.
		down, lines, err := o.admit(ctx, tx, r, r.Engine == from.Engine || len(f.Chain) < 2)
		if err != nil {
			return nil, false, err
		}
		told = append(told, lines...)
		if down.Down == "" {
			continue
		}
		f.Chain = slices.Clone(f.Chain)
		for i := range f.Chain {
			if f.Chain[i].Engine == r.Engine {
				f.Chain[i].Health = down
			}
		}
		return nil, true, nil
	}
	return told, false, nil
}

// seen folds what a run came to into its route's record.
func (o *owner) seen(ctx context.Context, tx *store.Tx, before, after run.State, e run.Event, f facts) ([]run.Decision, error) {
	out, ok := outcome(before, after, e, f)
	route, known := o.route(after.Engine)
	if !ok || !known || !o.minds() {
		return nil, nil
	}
	rec, version, err := tx.Health(ctx, route)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	next, lines := health.Observe(rec, out, now, o.policy.Fallback.Health)
	if reflect.DeepEqual(rec, next) {
		return nil, nil
	}
	return changes(after, now, lines), tx.PutHealth(ctx, next, version)
}

// outcome is what an event says of its run's route.
func outcome(before, after run.State, e run.Event, f facts) (health.Outcome, bool) {
	out := health.Outcome{ID: string(after.ID), Model: after.Engine.Model, At: after.Ended, First: f.first}
	if out.Model == "" {
		out.Model = f.model
	}
	switch {
	case before.Phase >= run.Done:
		return out, false
	case after.Phase == run.Done:
		out.Kind = health.Success
	case after.Phase > run.Done && after.Failure != nil:
		out.Kind, out.Code = health.Of(*after.Failure), after.Failure.Code
		if after.Failure.Code == stall.InTool {
			out.Kind = health.Nothing // its tool was silent, not its vendor
		}
	case before.Work != paceline.WorkSome && after.Work == paceline.WorkSome:
		out.Kind, out.At, out.New = health.Reached, time.Time{}, true
	default:
		return out, false
	}
	if _, lost := e.(run.Lost); lost {
		// What a transcript tells of a run that a crash cut happened some time ago,
		// and nobody says when (Z86).
		out.At = time.Time{}
	}
	return out, true
}

// changes are the decisions that tell of changes of phase, one each (Z84).
func changes(r run.State, now time.Time, lines []health.Line) (out []run.Decision) {
	for _, l := range lines {
		out = append(out, run.Decision{At: now, Run: r.ID, Event: l.Event, From: r.Phase, To: r.Phase, What: l.Text, Why: l.Why})
	}
	return out
}
