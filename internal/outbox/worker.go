package outbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/paceline/paceline"
)

const (
	// A job that lasts longer is cut off, and given to somebody else after
	// rescueAfter: that is the only way in which a dead worker is noticed.
	jobTimeout  = 20 * time.Second
	rescueAfter = 45 * time.Second
	// fetchCooldown is the least time between two looks for jobs.
	fetchCooldown = 10 * time.Millisecond
	// attempts bounds how often a job is tried. A claim gives itself up long
	// before, after five refusals or ten minutes.
	attempts = 100
	// cutting is how long jobs that were cut off may take to notice.
	cutting = 5 * time.Second
)

// waits are the pauses before the second attempt, the third, and so on; the
// last one repeats. A lock that was held for a moment is gone at once, a thread
// that another process serves is not.
var waits = []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}

// dispatch is the job of a run.Dispatch. Its name and fields are in files that
// newer and older builds read.
type dispatch struct {
	Run paceline.RunID `json:"run"`
}

func (dispatch) Kind() string { return "dispatch" }

// InsertOpts names the states in which a job stands in the way of another one
// for the same run: none that is over.
func (dispatch) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		MaxAttempts: attempts,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
	}
}

// dispatcher works dispatch jobs.
type dispatcher struct {
	river.WorkerDefaults[dispatch]
	perform Performer
}

func (d *dispatcher) Work(ctx context.Context, job *river.Job[dispatch]) error {
	return d.perform(ctx, job.Args.Run, job.Attempt)
}

// stranger stands for a kind that this build does not know. It is never worked,
// since nobody takes jobs from its queue; it is here because the queue's
// maintenance discards a stuck job of a kind that has no worker, and leaves one
// alone that may last for ever.
type stranger struct{ kind string }

func (s stranger) Kind() string { return s.kind }

type keeper struct{ river.WorkerDefaults[stranger] }

func (keeper) Timeout(*river.Job[stranger]) time.Duration { return -1 }

func (keeper) Work(context.Context, *river.Job[stranger]) error { return river.JobSnooze(time.Hour) }

// workers registers every kind that this build knows, and a keeper for each
// other one.
func (o *Outbox) workers(kinds []Kind) *river.Workers {
	w := river.NewWorkers()
	river.AddWorker(w, &dispatcher{perform: o.perform})
	for _, k := range kinds {
		if !k.Known {
			river.AddWorkerArgs(w, stranger{k.Name}, keeper{})
		}
	}
	return w
}

func (o *Outbox) config(kinds []Kind) *river.Config {
	return &river.Config{
		Logger:               o.log,
		Workers:              o.workers(kinds),
		Queues:               map[string]river.QueueConfig{o.queue: {MaxWorkers: 4}},
		JobTimeout:           jobTimeout,
		RescueStuckJobsAfter: rescueAfter,
		FetchCooldown:        fetchCooldown,
		RetryPolicy:          policy{},
		// A kind that turned up after the start and was discarded all the same is
		// not deleted: Pending goes on to name it.
		DiscardedJobRetentionPeriod: -1,
	}
}

// policy spaces out the attempts at a job.
type policy struct{}

// NextRetry implements river.ClientRetryPolicy. Attempt is the one that failed.
func (policy) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(waits[min(max(job.Attempt, 1), len(waits))-1])
}

// quiet drops what River has to say about a working day.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }
