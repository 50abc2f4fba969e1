package supervisor

import (
	"context"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/witness"
)

// looking begins the first look at the tree. A program whose own word proves
// that it did nothing is looked past while it starts; of every other the look is
// taken when it has started, since some write to the tree before they were asked
// for anything.
func (o *owner) looking(ctx context.Context, h harness.Harness) func() witness.Look {
	if !harness.Proves(h) {
		return func() witness.Look { return witness.At(ctx, o.thread.Tree) }
	}
	seen := make(chan witness.Look, 1)
	go func() { seen <- witness.At(ctx, o.thread.Tree) }()
	return func() witness.Look { return <-seen }
}

// witnessed asks the tree whether no work was done. It never makes work that
// was seen undone.
func (d *drive) witnessed(ctx context.Context, f paceline.Failure) paceline.Failure {
	if f.Work != paceline.WorkNone {
		return f
	}
	seen := paceline.Evidence{Frame: "tree", Says: "nothing in it was touched, except what it ignores", Means: "no work"}
	after := witness.At(context.WithoutCancel(ctx), d.thread.Tree)
	switch what := ""; {
	case d.before.Known() && after.Known():
		if what = after.Since(d.before); what != "" {
			f.Work = paceline.WorkUnknown
			seen.Says, seen.Means = what, "work unknown"
		}
	default:
		what = d.before.Why()
		if d.before.Known() {
			what = after.Why()
		}
		seen.Says, seen.Means = what, "not seen"
		if !harness.Proves(d.harness) {
			f.Work, seen.Means = paceline.WorkUnknown, "work unknown"
		}
	}
	f.Evidence = append(f.Evidence, seen)
	return f
}
