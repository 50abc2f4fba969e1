package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/supervisor"
)

type seatOptions struct {
	*streams
	thread string
	wish   supervisor.Wish
	json   bool
}

func newHandover(s *streams) *cobra.Command {
	o := &seatOptions{streams: s, wish: supervisor.Wish{What: "handover"}}
	c := o.command("handover THREAD", "Move a thread to another engine, at the next idle boundary", `Move a thread to another engine, at the next idle boundary.

Its next message goes to that engine, below what was said and done before; the
conversation of the engine that had it is kept. Without -e it is the next one of
the chain that can serve. Nothing goes back by itself after a handover:
`+"`paceline home THREAD`"+` does that.`)
	c.Example = `  paceline handover t-0bq8f2m1kd4 -e codex
  paceline handover t-0bq8f2m1kd4 --dry-run`
	c.Flags().StringVarP(&o.wish.Engine, "engine", "e", "", "the `engine` that takes over; it need not be in the chain")
	c.Flags().StringVar(&o.wish.Model, "model", "", "the `model` that it is to use, as it names it")
	c.Flags().BoolVar(&o.wish.Force, "force", false, "do not wait for the turn to end: stop it, and go on elsewhere from what it did")
	c.Flags().BoolVar(&o.wish.Dry, "dry-run", false, "say what would be done, and do nothing")
	return c
}

func newHome(s *streams) *cobra.Command {
	o := &seatOptions{streams: s, wish: supervisor.Wish{What: "home"}}
	return o.command("home THREAD", "Take a thread back to the engine that it was moved from", `Take a thread back to the engine that it was moved from, at the next idle boundary.

Its next message goes on in the conversation that was set aside there, below what
was said and done meanwhile.`)
}

func newPark(s *streams) *cobra.Command {
	o := &seatOptions{streams: s, wish: supervisor.Wish{What: "park"}}
	return o.command("park THREAD", "Have a thread rest until its next message", `Have a thread rest until its next message.

A turn that runs goes to its end, and its program ends with it. The conversation
is kept, and messages that wait stay where they are. A message that is sent
afterwards goes on in the thread, behind them.`)
}

func (o *seatOptions) command(use, short, long string) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: args(cobra.ExactArgs(1), "name the thread; `paceline threads` lists them"),
		RunE: func(c *cobra.Command, a []string) error {
			o.thread = a[0]
			return seatRun(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

// seatAnswer is what these commands print as JSON.
type seatAnswer struct {
	Thread paceline.ThreadID `json:"thread"`
	run.Answer
	Dry bool `json:"dry_run"`
}

func seatRun(ctx context.Context, o *seatOptions) error {
	out := seatAnswer{Dry: o.wish.Dry}
	err := o.tell(ctx, o.thread, func(ctx context.Context, c *api.Conn, id paceline.ThreadID) (err error) {
		out.Thread = id
		out.Answer, err = c.Seat(ctx, id, o.wish)
		return err
	})
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(o.out).Encode(out)
	}
	line := fmt.Sprintf("%s: %s", out.Thread, out.What)
	if out.When != "" && out.Change {
		line += ", " + out.When
	}
	if o.wish.Dry {
		line = "would do: " + line
	}
	fmt.Fprintln(o.out, line)
	if !out.Change {
		return nil
	}
	switch {
	case o.wish.What == "park":
		fmt.Fprintf(o.out, "Its conversation is kept. `paceline send %s TEXT` goes on in it.\n", out.Thread)
	case out.From != "" && out.From != out.To:
		fmt.Fprintf(o.out, "The conversation of %s is kept.\n", out.From)
	}
	for _, x := range out.Out {
		fmt.Fprintf(o.out, "  not %s: %s\n", x.Engine, x.Why)
	}
	return nil
}
