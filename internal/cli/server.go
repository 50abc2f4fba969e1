package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/daemon"
)

// staying is how long a server that a command started stays without work. The
// next command finds it warm.
const staying = 30 * time.Second

// daemon is how this command's server is found or started.
func (s *streams) daemon(stay time.Duration) (daemon.Options, error) {
	state, err := daemon.StateDir(s.environ)
	return daemon.Options{State: state, Environ: s.environ, Version: ourVersion(), Stay: stay}, err
}

type serveOptions struct {
	*streams
	auto bool
}

func newServe(s *streams) *cobra.Command {
	o := &serveOptions{streams: s}
	c := &cobra.Command{
		Use: "serve", Short: "Be the server, in the foreground", Args: args(cobra.NoArgs, "`paceline run` starts a server by itself"),
		Long: `Be the server, in the foreground, until it is stopped. Commands start one by
themselves where none runs; this is for a service manager, and for looking at
what a server says.`,
		RunE: func(c *cobra.Command, _ []string) error { return serveRun(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.auto, "auto", false, "leave when there is nothing to do")
	_ = c.Flags().MarkHidden("auto")
	return c
}

func serveRun(ctx context.Context, o *serveOptions) error {
	stay := time.Duration(-1)
	if o.auto {
		stay = staying
	}
	opts, err := o.daemon(stay)
	if err != nil {
		return err
	}
	d, err := daemon.Open(ctx, opts)
	switch {
	case errors.Is(err, daemon.ErrTaken) && o.auto:
		return nil // somebody else was quicker: his will do
	case errors.Is(err, daemon.ErrTaken):
		return &UserError{Msg: "a server is running already", Hint: "`paceline server status` shows it, `paceline server drain` ends it when its runs have ended", Code: exitFailed}
	case err != nil:
		return err
	}
	if !o.auto {
		fmt.Fprintf(o.err, "serving on %s\n", tilde(daemon.Socket(opts.State), o.environ))
	}
	d.Wait(ctx)
	return d.Close()
}

type serverOptions struct {
	*streams
	json bool
}

func newServer(s *streams) *cobra.Command {
	o := &serverOptions{streams: s}
	c := &cobra.Command{
		Use: "server", Short: "Look at the server, drain it or stop it",
		Args: args(cobra.NoArgs, "`paceline server status`, `drain` or `stop`"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	status := &cobra.Command{
		Use: "status", Short: "Say whether a server runs, and what it does", Args: args(cobra.NoArgs, "it takes none"),
		RunE: func(c *cobra.Command, _ []string) error { return serverStatus(c.Context(), o) },
	}
	status.Flags().BoolVar(&o.json, "json", false, "print JSON")
	drain := &cobra.Command{
		Use: "drain", Short: "Start no new run, and leave when the turns have ended", Args: args(cobra.NoArgs, "it takes none"),
		RunE: func(c *cobra.Command, _ []string) error { return serverEnd(c.Context(), o, (*api.Conn).Drain) },
	}
	stop := &cobra.Command{
		Use: "stop", Short: "End the server now; what is open is carried on by the next", Args: args(cobra.NoArgs, "it takes none"),
		RunE: func(c *cobra.Command, _ []string) error { return serverEnd(c.Context(), o, (*api.Conn).Leave) },
	}
	c.AddCommand(status, drain, stop)
	return c
}

func serverStatus(ctx context.Context, o *serverOptions) error {
	opts, err := o.daemon(0)
	if err != nil {
		return err
	}
	c, i, err := daemon.Find(ctx, opts.State, opts.Version)
	if errors.Is(err, api.ErrNobody) {
		if o.json {
			return json.NewEncoder(o.out).Encode(struct {
				Running bool `json:"running"`
			}{})
		}
		fmt.Fprintln(o.out, "no server is running; the next command that needs one starts it")
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if o.json {
		return json.NewEncoder(o.out).Encode(struct {
			Running bool `json:"running"`
			api.Info
		}{true, i})
	}
	fmt.Fprintf(o.out, "running since %s, process %d, version %s\n", when(i.Since, time.Now()), i.Pid, i.Version)
	if i.Away != nil {
		fmt.Fprintf(o.out, "%s has not answered since %s; runs go on, and what happens is kept until it does\n", i.Store, when(*i.Away, time.Now()))
	}
	switch {
	case i.Draining:
		fmt.Fprintf(o.out, "being drained: %d still at work\n", i.Serving)
	case i.Serving == 0:
		fmt.Fprintln(o.out, "nothing to do")
	default:
		fmt.Fprintf(o.out, "%d at work\n", i.Serving)
	}
	return nil
}

// serverEnd has the server end, and waits until it has.
func serverEnd(ctx context.Context, o *serverOptions, how func(*api.Conn, context.Context) error) error {
	opts, err := o.daemon(0)
	if err != nil {
		return err
	}
	c, i, err := daemon.Find(ctx, opts.State, opts.Version)
	if errors.Is(err, api.ErrNobody) {
		fmt.Fprintln(o.err, "no server is running")
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if err := how(c, ctx); err != nil && !errors.Is(err, api.ErrLeaving) && !errors.Is(err, api.ErrCut) {
		return err
	}
	if i.Serving > 0 {
		fmt.Fprintf(o.err, "%d at work; waiting\n", i.Serving)
	}
	return daemon.Gone(ctx, opts.State, i.Pid)
}
