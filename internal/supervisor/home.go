package supervisor

import (
	"context"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// home is the engine that a thread goes home to with its next message: one above
// its seat in the chain that it was moved from, and that can serve again. The
// move back is made between messages alone, never within one (A22, A23).
func (o *owner) home(ctx context.Context, m store.Message, chain []place.Candidate, runs []run.State, seat int, ask place.Ask) (place.Choice, run.Carry, bool) {
	if m.Kind != paceline.KindPrompt || !o.policy.Fallback.Enabled {
		return place.Choice{}, run.Bare, false
	}
	for i := range chain[:seat] {
		ch := place.Choose(chain[i:i+1], ask)
		// Nobody goes home to a route that is worse than where he is.
		if !ch.Found || chain[i].Health.Last != "" || !sentTo(runs, chain[i].Engine) || !place.Fits(chain[i], &chain[seat], ask.Weaker) {
			continue
		}
		for _, c := range chain[i+1:] {
			ch.Out = append(ch.Out, place.Exclusion{Engine: c.Engine, Why: "the thread goes home to " + ch.Engine.String()})
		}
		// Its own conversation goes on where its program still has it (Z38).
		if _, err := o.parking(ctx, runs, ch.Engine); err == nil {
			return ch, run.Home, true
		}
		return ch, run.History, true
	}
	return place.Choice{}, run.Bare, false
}

func sentTo(runs []run.State, e paceline.Engine) bool {
	for _, r := range runs {
		if r.Engine == e && r.Holds() {
			return true
		}
	}
	return false
}

// parking is the run in whose conversation an engine was when the thread moved
// on: the last one that the engine's own transcript holds.
func (o *owner) parking(ctx context.Context, runs []run.State, e paceline.Engine) (run.State, error) {
	a := o.policy.Accounts[e.Account]
	h, ok := harness.Named(a.Harness)
	ok = ok && harness.Keeps(h)
	for i := len(runs) - 1; i >= 0 && ok; i-- {
		r := runs[i]
		if r.Engine != e || !r.Sent || r.Conversation == "" || !r.Ended.After(r.Created) {
			continue
		}
		m, err := o.Store.Message(ctx, r.Message)
		if err != nil {
			return run.State{}, err
		}
		sent, err := o.prompt(ctx, r, m.Message)
		if err != nil {
			return run.State{}, err
		}
		there, end, err := h.Recover(harness.Launch{Account: a, Env: o.Env}, r.Conversation, sent, time.Now())
		if err == nil && there && end.Later {
			break // somebody went on in it: what it holds now is not ours to answer for
		}
		if err == nil && there {
			return r, nil
		}
	}
	return run.State{}, store.ErrNotFound
}
