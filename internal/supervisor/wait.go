package supervisor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

const (
	// slice is how long is slept at once. Clocks step and machines are suspended:
	// what counts is the time on the wall, so it is looked at again and again (A20).
	slice = time.Second
	// looked is how often a waiting thread looks whether the limits that it waits
	// for were moved or lifted by somebody else.
	looked = 5 * time.Second
)

// wait sleeps until the run's wait is over, and goes on.
func (o *owner) wait(ctx context.Context, r run.State) error {
	before, err := o.Store.Limits(ctx)
	if err != nil {
		return err
	}
	err = o.sleep(ctx, r.Wait.Until, func() bool {
		if o.asked(ctx) {
			return true
		}
		now, err := o.Store.Limits(ctx)
		return err == nil && limited(r) && moved(before, now, r.Wait.For, o.seat.Chain(o.thread.Chain))
	})
	if err != nil || !o.seat.Parked.IsZero() {
		return err
	}
	seen, err := o.around(ctx)
	if err != nil {
		return err
	}
	if seen.lacks, seen.grown, err = o.lacks(ctx, r); err != nil {
		return err
	}
	after, _, err := o.decide(ctx, r.ID, run.WaitOver{Next: paceline.RunID(store.NewID("r"))}, seen)
	if err == nil && after.Waiting() && seen.asked != nil {
		return o.stays(ctx, *seen.asked)
	}
	return err
}

// lacks reads in the transcripts of the engines that were sent the message which
// of them do not hold it, and which have gone on since by somebody else's doing. One
// that cannot be read may hold it.
func (o *owner) lacks(ctx context.Context, r run.State) (lacks, grown map[paceline.Engine]bool, err error) {
	m, err := o.Store.Message(ctx, r.Message)
	if err != nil {
		return nil, nil, err
	}
	runs, err := o.Store.Runs(ctx, o.thread.ID)
	if err != nil {
		return nil, nil, err
	}
	lacks, grown = map[paceline.Engine]bool{}, map[paceline.Engine]bool{}
	for _, b := range runs {
		a := o.policy.Accounts[b.Engine.Account]
		h, ok := harness.Named(a.Harness)
		if b.Message != r.Message || !b.Sent || b.Conversation == "" || !ok {
			continue
		}
		sent, err := o.prompt(ctx, b, m.Message)
		if err != nil {
			return nil, nil, err
		}
		there, end, err := h.Recover(harness.Launch{Account: a, Env: o.Env}, b.Conversation, sent, time.Now())
		grown[b.Engine] = err == nil && end.Later
		lacks[b.Engine] = err == nil && !there || !harness.Keeps(h) // of several, the last one counts: it is what would be continued
	}
	return lacks, grown, nil
}

// limited reports whether the run waits for a limit to lift.
func limited(r run.State) bool {
	return r.Failure != nil && (r.Failure.Cause == paceline.CauseUsageLimit || r.Failure.Cause == paceline.CauseThrottle)
}

// sleep waits for a time on the wall, or until early is true. The server that is
// drained does not sleep on: the wait is on disk.
func (o *owner) sleep(ctx context.Context, until time.Time, early func() bool) error {
	next := time.Now().Add(looked)
	for {
		left := until.Sub(o.wall())
		switch {
		case left <= 0:
			return nil
		case o.Draining():
			return ErrDraining
		case time.Now().After(next):
			if early() {
				return nil
			}
			next = time.Now().Add(looked)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(left, slice)):
		}
	}
}

// wall is the time on the wall, without the clock that stands still in a suspend.
func (s *Supervisor) wall() time.Time {
	if s.Wall != nil {
		return s.Wall()
	}
	return time.Now().Round(0)
}

// moved reports whether a wait for an engine is to be thought over, since what
// was held before is not what is held now: its own limit went or has another
// reset, or another engine of the chain was let go. A limit whose reset has
// merely passed is not moved: its wait says when it is asked, a margin and a
// growing patience later.
func moved(before, now []paceline.Limit, e paceline.Engine, chain []paceline.Engine) bool {
	was, is := held(before, e), held(now, e)
	if is == nil || was != nil && !was.Reset.At.Equal(is.Reset.At) {
		return true
	}
	for _, c := range chain {
		if held(before, c) != nil && held(now, c) == nil {
			return true
		}
	}
	return false
}

// held is what is held against an engine: its own limit or its whole account's,
// whichever lifts later.
func held(limits []paceline.Limit, e paceline.Engine) (out *paceline.Limit) {
	for i, l := range limits {
		if l.Engine != e && (l.Engine.Account != e.Account || l.Engine.Model != "") {
			continue
		}
		if out == nil || !l.Reset.Known() || out.Reset.Known() && l.Reset.At.After(out.Reset.At) {
			out = &limits[i]
		}
	}
	return out
}

// returns is the reset with which the first engine of a chain comes back that
// only a limit keeps away, or its route, for a message that may wait until then.
func returns(chain []place.Candidate, m paceline.Message) (r paceline.Reset) {
	for _, c := range chain {
		var back paceline.Reset
		if c.Limit != nil {
			back = c.Limit.Reset
		}
		if c.Health.Down != "" && (c.Limit == nil || back.Known()) && c.Health.Back.After(place.Lifts(back)) {
			back = paceline.Reset{At: c.Health.Back, Source: paceline.ResetAssumed}
		}
		if c.Unready == "" && back.Known() && (!r.Known() || place.Lifts(back).Before(place.Lifts(r))) {
			r = back
		}
	}
	if m.Patience < 0 || m.Patience > 0 && r.At.Sub(m.At) > m.Patience {
		return paceline.Reset{}
	}
	return r
}

// unreachable reports whether every engine is kept away by its route.
func unreachable(chain []place.Candidate) bool {
	return len(chain) > 0 && !slices.ContainsFunc(chain, func(c place.Candidate) bool { return c.Health.Down == "" })
}

// park holds a message that no engine can take now, until the first one is
// back. Its row is open, which is all that a restart needs to know.
func (o *owner) park(ctx context.Context, m store.Message, r paceline.Reset, why string, ch place.Choice) error {
	at := run.Back(string(m.ID), r)
	if o.parked != m.ID {
		o.parked = m.ID
		until := at.UTC()
		var line string
		if chain, err := o.candidates(ctx); err == nil && unreachable(chain) {
			line = "No engine can be reached; trying again at " + run.Clock(at, time.Now())
		}
		d := run.Decision{At: time.Now(), Event: "placed", What: fmt.Sprintf("wait until %s (%s)", until.Format(time.RFC3339), r.Source), Why: why, Out: ch.Out}
		told := Event{Event: "waiting", At: time.Now(), Thread: o.thread.ID, Until: &until, From: r.Source.String(), Why: why}
		err := o.commit(ctx, func(tx *store.Tx) ([]Event, error) {
			return []Event{told}, tx.AddDecision(ctx, o.thread.ID, d)
		})
		if err != nil {
			return err
		}
		o.decided(d)
		if line != "" {
			o.announce(ctx, "", line)
		}
	}
	return o.sleep(ctx, at, func() bool {
		if o.asked(ctx) {
			return true
		}
		chain, err := o.candidates(ctx)
		return err == nil && !returns(chain, m.Message).At.Equal(r.At) // moved, or nobody is limited any more
	})
}

// continued has the child go on with the conversation that holds the message.
func (o *owner) continued(ctx context.Context, r run.State, l *harness.Launch) error {
	runs, err := o.Store.Runs(ctx, o.thread.ID)
	if err != nil {
		return err
	}
	for i := len(runs) - 1; i >= 0; i-- {
		if b := runs[i]; b.ID != r.ID && b.Message == r.Message && b.Sent && b.Engine == r.Engine && b.Conversation != "" {
			l.Resume = b.Conversation
			return nil
		}
	}
	return fmt.Errorf("the conversation that %s was to continue is not on record", r.ID)
}
