package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/supervisor"
)

type reconcileOptions struct {
	*streams
	thread    string
	took, not []int64
	json      bool
}

func newReconcile(s *streams) *cobra.Command {
	o := &reconcileOptions{streams: s}
	c := &cobra.Command{
		Use: "reconcile THREAD", Short: "Settle calls of which nobody knows whether they took effect",
		Long: `Settle calls of which nobody knows whether they took effect.

A call that began and never reported halts a thread: done again it might happen
twice, taken as done it might never happen. Without --took and --not the calls
are shown with what changed in the tree since. Once each is settled, the work
goes on with a packet that says what you found.`,
		Example: `  paceline reconcile t-0bq8f2m1kd4
  paceline reconcile t-0bq8f2m1kd4 --took 7 --not 9`,
		Args: args(cobra.ExactArgs(1), "name the thread; `paceline threads` lists them"),
		RunE: func(c *cobra.Command, a []string) error {
			o.thread = a[0]
			return reconcileRun(c.Context(), o)
		},
	}
	c.Flags().Int64SliceVar(&o.took, "took", nil, "the call of this `number` took effect")
	c.Flags().Int64SliceVar(&o.not, "not", nil, "the call of this `number` did not")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

// halted is what `reconcile --json` prints.
type halted struct {
	Thread  paceline.ThreadID `json:"thread"`
	Run     paceline.RunID    `json:"run"`
	Calls   []silentCall      `json:"calls"`
	Changed []string          `json:"changed"`
}

type silentCall struct {
	Item  int64  `json:"item"`
	About string `json:"about"`
}

func reconcileRun(ctx context.Context, o *reconcileOptions) error {
	if len(o.took)+len(o.not) == 0 {
		return o.look(ctx)
	}
	took := map[int64]bool{}
	for _, n := range o.not {
		took[n] = false
	}
	for _, n := range o.took {
		if _, both := took[n]; both {
			return usage(fmt.Sprintf("--took and --not both name %d", n), "a call took effect or it did not")
		}
		took[n] = true
	}
	var id paceline.ThreadID
	err := o.tell(ctx, o.thread, func(ctx context.Context, conn *api.Conn, th paceline.ThreadID) error {
		id = th
		return conn.Reconcile(ctx, th, took)
	})
	if err == nil {
		o.note(fmt.Sprintf("%s goes on: `paceline attach %s` shows it.", id, id))
	}
	return err
}

// look shows what is to be settled. It ends with 5: a person is needed.
func (o *reconcileOptions) look(ctx context.Context) error {
	st, th, err := o.find(ctx, o.thread, false)
	if err != nil {
		return err
	}
	defer st.Close()
	h, ok, err := supervisor.Halted(ctx, st, th)
	if err != nil {
		return err
	}
	if !ok {
		return &UserError{Msg: fmt.Sprintf("nothing in %s is to be settled", th.ID), Hint: "`paceline show " + string(th.ID) + "` shows it", Code: exitFailed}
	}
	whole := halted{Thread: th.ID, Run: h.Run.ID, Calls: []silentCall{}, Changed: supervisor.Changed(th.Tree, h.Run.Began)}
	hint := "paceline reconcile " + string(th.ID)
	for _, c := range h.Silent {
		whole.Calls = append(whole.Calls, silentCall{c.Item, c.About})
		hint += " --took " + strconv.FormatInt(c.Item, 10)
	}
	if o.json {
		if err := json.NewEncoder(o.out).Encode(whole); err != nil {
			return err
		}
	} else {
		for _, c := range whole.Calls {
			fmt.Fprintf(o.out, "[%d] %s of %s began and never reported: %s\n", c.Item, h.Run.ID, h.Run.Engine, printable(c.About))
		}
		for i, line := range whole.Changed {
			if i == 0 {
				fmt.Fprintln(o.out, "\nChanged in the tree since that run began:")
			}
			fmt.Fprintf(o.out, "  %s\n", printable(line))
		}
	}
	return &UserError{Msg: "somebody has to say what took effect", Hint: "look, then: " + hint + "   (--not where it did not)", Code: exitPerson}
}
