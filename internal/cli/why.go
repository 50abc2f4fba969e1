package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

type whyOptions struct {
	*streams
	of   string
	last bool
	json bool
}

func newWhy(s *streams) *cobra.Command {
	o := &whyOptions{streams: s}
	c := &cobra.Command{
		Use: "why RUN|THREAD", Short: "Show each decision: what, why, what else was possible, and the evidence",
		Args: args(cobra.MaximumNArgs(1), "`paceline threads` lists the threads"),
		RunE: func(c *cobra.Command, a []string) error {
			o.of = strings.Join(a, "")
			return whyRun(c.Context(), o)
		},
	}
	c.Flags().BoolVarP(&o.last, "continue", "c", false, "the last thread of this directory")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON, one decision a line")
	return c
}

func whyRun(ctx context.Context, o *whyOptions) error {
	st, runs, decisions, err := o.gather(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	if o.json {
		enc := json.NewEncoder(o.out)
		for _, d := range decisions {
			if err := enc.Encode(d); err != nil {
				return err
			}
		}
		return nil
	}
	byID := map[paceline.RunID]run.State{}
	for _, r := range runs {
		byID[r.ID] = r
	}
	last := paceline.RunID("none yet")
	for _, d := range decisions {
		if d.Run != last {
			o.heading(byID[d.Run], d.Run)
			last = d.Run
		}
		writeDecision(o.out, d)
	}
	return nil
}

// gather finds what is asked about: a run, or a thread with all of its runs.
func (o *whyOptions) gather(ctx context.Context) (*store.Store, []run.State, []run.Decision, error) {
	if strings.HasPrefix(o.of, "r-") {
		st, err := o.open(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		r, err := st.Run(ctx, paceline.RunID(o.of))
		if err != nil {
			st.Close()
			return nil, nil, nil, usage(fmt.Sprintf("there is no run %q", o.of), "`paceline show THREAD` lists its runs")
		}
		d, err := st.RunDecisions(ctx, r.ID)
		return st, []run.State{r}, d, err
	}
	st, th, err := o.find(ctx, o.of, o.last)
	if err != nil {
		return nil, nil, nil, err
	}
	runs, err := st.Runs(ctx, th.ID)
	if err != nil {
		return st, nil, nil, err
	}
	d, err := st.Decisions(ctx, th.ID)
	return st, runs, d, err
}

func (o *whyOptions) heading(r run.State, id paceline.RunID) {
	if r.ID == "" {
		fmt.Fprintf(o.out, "%s\n", id)
		return
	}
	fmt.Fprintf(o.out, "%s on %s, %s\n", r.ID, r.Engine, r.Phase)
	fmt.Fprintf(o.out, "  held in: %s\n", containment(r.Containment))
	fmt.Fprintf(o.out, "  work: %s%s\n", r.Work, witnessed(r))
}

// containment says where a run may write, and what sees to it.
func containment(c paceline.Containment) string {
	var out string
	switch {
	case c.Mode == paceline.ModeFull:
		out = "full mode, may write anywhere"
	case len(c.Writable) == 0:
		out = c.Mode.String() + " mode"
	default:
		out = fmt.Sprintf("%s mode, may write in %s", c.Mode, strings.Join(c.Writable, ", "))
	}
	out += "; by " + c.By
	if c.Weaker != "" {
		out += "; weaker than the mode asks: " + c.Weaker
	}
	return out
}

func witnessed(r run.State) string {
	if w := r.WorkedBy; w.Frame != "" {
		return ", by " + evidence(w)
	}
	return ""
}

func evidence(e paceline.Evidence) string {
	out := e.Frame
	if e.Says != "" {
		out += " " + e.Says
	}
	if e.Line > 0 {
		out += fmt.Sprintf(" (line %d)", e.Line)
	}
	if e.Means != "" {
		out += " = " + e.Means
	}
	return printable(out)
}

func writeDecision(w io.Writer, d run.Decision) {
	fmt.Fprintf(w, "  %s  %s", d.At.Local().Format(time.TimeOnly), d.What)
	if d.Why != "" {
		fmt.Fprintf(w, ": %s", d.Why)
	}
	fmt.Fprintln(w)
	for _, x := range d.Out {
		fmt.Fprintf(w, "            not %s: %s\n", x.Engine, x.Why)
	}
	for _, e := range d.Evidence {
		fmt.Fprintf(w, "            saw %s\n", evidence(e))
	}
}
