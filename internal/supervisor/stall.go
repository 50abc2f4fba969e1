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

// confirming is how long the end of a tree is waited for (R17).
const confirming = 60 * time.Second

// stalled ends a turn that was silent past its deadline. The order is that of
// R12: it is marked, then interrupted and its whole tree ended, and only then
// published. What arrives after the mark cannot overwrite the failure (R15); it
// can still be evidence of work.
func (d *drive) stalled(ctx context.Context, f paceline.Failure) error {
	d.announce(ctx, d.id, fmt.Sprintf("%s is given up: %s.", d.harness.Name(), f.Notice))
	end, stopped := d.breakOff(ctx, func(ctx context.Context) {
		if f.Cause == paceline.CauseThrottle {
			f = d.turn.Settle(ctx, f) // while somebody is there to ask
		}
	})
	if !stopped {
		// R17: it was active until now. Its guard goes on, and holds its lock for as
		// long as anything of it lives, so nothing is sent on meanwhile.
		f.Work = paceline.WorkUnknown
		f.Evidence = append(f.Evidence, end.Failure.Evidence...)
		return d.end(ctx, d.id, wire.Ending{Outcome: paceline.OutcomeFailed, Failure: f}, d)
	}
	f.Work = end.Failure.Work
	f.Evidence = append(end.Failure.Evidence, f.Evidence...)
	return d.end(ctx, d.id, wire.Ending{Outcome: paceline.OutcomeFailed, Failure: d.witnessed(ctx, f)}, d)
}

// breakOff ends a turn in the middle, with its whole tree, and returns its last word:
// what its program still said of its work. stopped is false where something of it
// may still live; its guard sees to that. last is done first, while the program can
// still be asked.
func (d *drive) breakOff(ctx context.Context, last func(context.Context)) (end wire.Ending, stopped bool) {
	ctx = context.WithoutCancel(ctx)
	// Its events are read meanwhile: a full pipe would keep it from answering.
	word := make(chan wire.Ending, 1)
	go func() {
		end := wire.Ending{Failure: paceline.Failure{Work: paceline.WorkUnknown}} // without a last word nobody can say
		for e := range d.turn.Events {
			switch e.Kind {
			case wire.Ended:
				end = *e.Ending
			case wire.Worked, wire.Tool, wire.File, wire.ToolDone, wire.Unknown:
				_, _ = d.observe(ctx, e)
			case wire.Opened, wire.Acked, wire.Text, wire.Approval, wire.Retrying, wire.Limited, wire.Announcement, wire.Overage:
			}
		}
		word <- end
	}()
	last(ctx)
	d.turn.Interrupt(ctx)
	stopping, cancel := context.WithTimeout(ctx, confirming)
	defer cancel()
	ended, err := d.turn.Stop(stopping)
	if err != nil {
		return wire.Ending{Failure: paceline.Failure{Work: paceline.WorkUnknown, Evidence: []paceline.Evidence{
			{Frame: "stop", Says: "not confirmed within " + confirming.String(), Means: "it may still work"},
		}}}, false
	}
	end = <-word
	d.keep(ctx)
	d.left(ctx, ended)
	return end, true
}
