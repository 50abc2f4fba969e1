package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/stall"
	"github.com/paceline/paceline/internal/wire"
)

// retrying tells clients what the program waits for, and until when we do.
func (d *drive) retrying(e wire.Event, w stall.Watch) {
	n, _, _ := w.Retry()
	until := w.Deadline().UTC()
	d.Feed(Event{
		Event: "retrying", At: time.Now(), Thread: d.thread.ID, Run: d.id,
		Cause: e.Cause.String(), Code: e.Code, Attempt: n, Until: &until,
	})
}

// stalled ends a turn that was silent past its deadline. The order is that of
// R12: it is marked, then interrupted and its whole tree ended, and only then
// published. What arrives after the mark cannot overwrite the failure (R15); it
// can still be evidence of work.
func (d *drive) stalled(ctx context.Context, f paceline.Failure) error {
	d.announce(ctx, d.id, fmt.Sprintf("%s is given up: %s.", d.harness.Name(), f.Notice))
	ending := context.WithoutCancel(ctx)
	// Its events are read meanwhile: a full pipe would keep it from answering.
	last := make(chan wire.Ending, 1)
	go func() {
		end := wire.Ending{Failure: paceline.Failure{Work: paceline.WorkUnknown}} // without a last word nobody can say
		for e := range d.turn.Events {
			switch e.Kind {
			case wire.Ended:
				end = *e.Ending
			case wire.Worked, wire.Tool, wire.File, wire.ToolDone, wire.Unknown:
				_, _ = d.observe(ending, e)
			case wire.Opened, wire.Acked, wire.Text, wire.Approval, wire.Retrying, wire.Limited, wire.Announcement, wire.Overage:
			}
		}
		last <- end
	}()
	if f.Cause == paceline.CauseThrottle {
		f = d.turn.Settle(ending, f) // while somebody is there to ask
	}
	d.turn.Interrupt(ending)
	ended, err := d.turn.Stop(ending)
	if err != nil {
		return err
	}
	end := <-last
	d.keep(ctx)
	d.left(ctx, ended)
	f.Work = end.Failure.Work
	f.Evidence = append(end.Failure.Evidence, f.Evidence...)
	return d.end(ctx, d.id, wire.Ending{Outcome: paceline.OutcomeFailed, Failure: f}, d)
}
