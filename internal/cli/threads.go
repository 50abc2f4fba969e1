package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/daemon"
	"github.com/paceline/paceline/internal/store"
)

// open opens the store for reading. Nothing is made and nothing is started: a
// machine on which nothing ran yet has none, and that is said.
func (s *streams) open(ctx context.Context) (*store.Store, error) {
	state, err := daemon.StateDir(s.environ)
	if err != nil {
		return nil, err
	}
	st, err := daemon.ReadStore(ctx, state, s.environ)
	if errors.Is(err, daemon.ErrNothing) {
		return nil, &UserError{Msg: "nothing was run here yet", Hint: `paceline run "fix the failing test" begins`, Code: exitFailed}
	}
	return st, err
}

type threadsOptions struct {
	*streams
	json bool
}

func newThreads(s *streams) *cobra.Command {
	o := &threadsOptions{streams: s}
	c := &cobra.Command{
		Use: "threads", Short: "List the threads", Args: args(cobra.NoArgs, "`paceline show THREAD` shows one"),
		RunE: func(c *cobra.Command, _ []string) error { return threadsRun(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON, one thread a line")
	return c
}

// threadRow is a thread as `threads --json` prints it.
type threadRow struct {
	Thread  string    `json:"thread"`
	Title   string    `json:"title"`
	Dir     string    `json:"dir"`
	Mode    string    `json:"mode"`
	Chain   []string  `json:"chain"`
	Status  string    `json:"status"` // of its last message
	Updated time.Time `json:"updated"`
	Host    string    `json:"host,omitempty"` // where several share a database
	dir     string    // as people read it
}

func threadsRun(ctx context.Context, o *threadsOptions) error {
	st, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	threads, err := st.Threads(ctx)
	if err != nil {
		return err
	}
	var rows []threadRow
	for _, th := range threads {
		messages, err := st.Messages(ctx, th.ID)
		if err != nil {
			return err
		}
		r := threadRow{Thread: string(th.ID), Title: th.Title, Dir: th.Dir, Mode: th.Mode.String(), Updated: th.Updated.UTC(), Host: th.Host, Chain: []string{}}
		r.dir = tilde(th.Dir, o.environ)
		if st.Mine(th) != nil {
			r.dir = th.Host + ":" + th.Dir
		}
		for _, e := range th.Chain {
			r.Chain = append(r.Chain, e.String())
		}
		if n := len(messages); n > 0 {
			r.Status = messages[n-1].Status.String()
		}
		rows = append(rows, r)
	}
	if o.json {
		enc := json.NewEncoder(o.out)
		for _, r := range rows {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		fmt.Fprintln(o.err, "no threads yet")
		return nil
	}
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	now := time.Now()
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Thread, r.Status, distance(r.Updated.Sub(now)), r.dir, printable(r.Title))
	}
	return w.Flush()
}
