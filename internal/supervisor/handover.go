package supervisor

import (
	"context"
	"slices"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/wire"
)

// seized reports whether the user moves the seat without waiting for the turn to
// end.
func (d *drive) seized(ctx context.Context) bool {
	return d.look(ctx) == nil && d.seat.Next != nil && d.seat.Next.Now && d.seat.Next.Engine != d.engine
}

// handOver ends the turn in the middle, with everything that it started, and has
// its message go on where its user wants the seat (Z91).
func (d *drive) handOver(ctx context.Context) error {
	last, _ := d.breakOff(ctx, func(context.Context) {})
	last.Failure = d.witnessed(ctx, last.Failure)
	seen, err := d.around(ctx)
	if err != nil {
		return err
	}
	seen.silent, seen.kept = d.silent(), d.kept
	return d.handedOver(ctx, d.id, last, seen)
}

// handedOver records that the seat was moved in the middle of a run. No child of
// it lives.
func (o *owner) handedOver(ctx context.Context, id paceline.RunID, last wire.Ending, seen facts) error {
	if seen.asked == nil { // taken back while the turn was ended: it goes on where it was
		return o.end(ctx, id, wire.Ending{Outcome: paceline.OutcomeFailed, Failure: paceline.Failure{
			Cause: paceline.CauseCrash, Work: last.Failure.Work, Notice: "it was ended for a handover that its user took back",
		}}, nil)
	}
	after, _, err := o.decide(ctx, id, run.HandedOver{Ending: last}, seen)
	switch {
	case err != nil:
		return err
	case after.Claim.Phase == run.Pending:
		point("after-handover")
		return o.dispatch(ctx, after)
	case after.Waiting():
		return o.stays(ctx, *seen.asked)
	}
	return nil
}

// stays gives up the move to an engine that cannot take the seat.
func (o *owner) stays(ctx context.Context, c place.Candidate) error {
	if o.seat.Next == nil {
		return nil
	}
	ch := place.Choose([]place.Candidate{c}, place.Ask{Now: time.Now(), Weaker: place.WeakerAnnounce})
	if ch.Found {
		return nil // it could; what stands against it passes
	}
	return o.keptBack(ctx, *o.seat.Next, ch.Out)
}

// took has the seat stand where its user wanted it, in the transaction that makes
// the run there.
func (o *owner) took(ctx context.Context, tx *store.Tx, e paceline.Engine) error {
	th, err := tx.Thread(ctx, o.thread.ID)
	if err != nil || th.Seat.Next == nil || th.Seat.Next.Engine != e {
		return err
	}
	o.seat = th.Seat.Took(*th.Seat.Next)
	return tx.SetSeat(ctx, o.thread.ID, o.seat)
}

// leftBehind is lacks, where an earlier engine of the message was left because its
// user moved the seat: its conversation may go on.
func (o *owner) leftBehind(ctx context.Context, r run.State) (lacks, grown map[paceline.Engine]bool, err error) {
	runs, err := o.Store.Runs(ctx, o.thread.ID)
	if err != nil || !slices.ContainsFunc(runs, func(b run.State) bool { return b.Message == r.Message && b.Claim.Asked }) {
		return nil, nil, err
	}
	return o.lacks(ctx, r)
}
