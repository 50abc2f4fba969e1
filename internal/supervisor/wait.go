package supervisor

import (
	"context"
	"fmt"
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
	// looked is how often a waiting thread looks whether the limit that it waits
	// for was lifted by somebody else.
	looked = 5 * time.Second
)

// wait sleeps until the run's wait is over, and goes on.
func (o *owner) wait(ctx context.Context, r run.State) error {
	err := o.sleep(ctx, r.Wait.Until, func() bool { return o.rests(ctx) || limited(r) && o.lifted(ctx, r.Wait.For) })
	if err != nil || !o.seat.Parked.IsZero() {
		return err
	}
	chain, err := o.candidates(ctx)
	if err != nil {
		return err
	}
	lacks, err := o.lacks(ctx, r)
	if err != nil {
		return err
	}
	_, _, err = o.decide(ctx, r.ID, run.WaitOver{Next: paceline.RunID(store.NewID("r"))}, facts{chain: chain, lacks: lacks})
	return err
}

// lacks reads in the transcripts of the engines that were sent the message which
// of them do not hold it. One that cannot be read may.
func (o *owner) lacks(ctx context.Context, r run.State) (map[paceline.Engine]bool, error) {
	m, err := o.Store.Message(ctx, r.Message)
	if err != nil {
		return nil, err
	}
	runs, err := o.Store.Runs(ctx, o.thread.ID)
	if err != nil {
		return nil, err
	}
	out := map[paceline.Engine]bool{}
	for _, b := range runs {
		a := o.policy.Accounts[b.Engine.Account]
		h, ok := harness.Named(a.Harness)
		if b.Message != r.Message || !b.Sent || b.Conversation == "" || !ok {
			continue
		}
		sent, err := o.prompt(ctx, b, m.Message)
		if err != nil {
			return nil, err
		}
		there, _, err := h.Recover(harness.Launch{Account: a, Env: o.Env}, b.Conversation, sent, time.Now())
		out[b.Engine] = err == nil && !there || !harness.Keeps(h) // of several, the last one counts: it is what would be continued
	}
	return out, nil
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
		now := time.Now().Round(0) // without the clock that stands still in a suspend
		left := until.Sub(now)
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

// lifted reports whether nothing is held against an engine any more.
func (o *owner) lifted(ctx context.Context, e paceline.Engine) bool {
	limits, err := o.Store.Limits(ctx)
	if err != nil {
		return false
	}
	return !place.Held(held(limits, e), time.Now())
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

// returns is when the first engine of a chain comes back that only a limit
// keeps away, for a message that may wait until then.
func returns(chain []place.Candidate, m paceline.Message) (at time.Time, source paceline.ResetSource) {
	for _, c := range chain {
		if c.Unready == "" && c.Limit != nil && c.Limit.Reset.Known() && (at.IsZero() || c.Limit.Reset.At.Before(at)) {
			at, source = c.Limit.Reset.At, c.Limit.Reset.Source
		}
	}
	if m.Patience < 0 || m.Patience > 0 && at.Sub(m.At) > m.Patience {
		return time.Time{}, source
	}
	return at, source
}

// park holds a message that no engine can take now, until the first one is
// back. Its row is open, which is all that a restart needs to know.
func (o *owner) park(ctx context.Context, m store.Message, at time.Time, source paceline.ResetSource, why string, ch place.Choice) error {
	if o.parked != m.ID {
		o.parked = m.ID
		d := run.Decision{At: time.Now(), Event: "placed", What: fmt.Sprintf("wait until %s (%s)", at.UTC().Format(time.RFC3339), source), Why: why, Out: ch.Out}
		until := at.UTC()
		told := Event{Event: "waiting", At: time.Now(), Thread: o.thread.ID, Until: &until, From: source.String(), Why: why}
		err := o.commit(ctx, func(tx *store.Tx) ([]Event, error) {
			return []Event{told}, tx.AddDecision(ctx, o.thread.ID, d)
		})
		if err != nil {
			return err
		}
		o.decided(d)
	}
	return o.sleep(ctx, at.Add(100*time.Millisecond), func() bool {
		if o.asked(ctx) {
			return true
		}
		chain, err := o.candidates(ctx)
		now, _ := returns(chain, m.Message)
		return err == nil && !now.Equal(at) // moved, or nobody is limited any more
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
