package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/supervisor"
)

type attachOptions struct {
	*streams
	thread string
	last   bool
	after  string
	json   bool
}

func newAttach(s *streams) *cobra.Command {
	o := &attachOptions{streams: s}
	c := &cobra.Command{
		Use: "attach THREAD", Short: "Stay with a thread again, from its beginning",
		Args: args(cobra.MaximumNArgs(1), "`paceline threads` lists the threads"),
		RunE: func(c *cobra.Command, a []string) error {
			o.thread = strings.Join(a, "")
			return attachRun(c.Context(), o)
		},
	}
	c.Flags().BoolVarP(&o.last, "continue", "c", false, "the last thread of this directory")
	c.Flags().StringVar(&o.after, "after", "", "go on behind this `offset` of an event")
	c.Flags().BoolVar(&o.json, "json", false, "print events as JSON, one a line")
	return c
}

func attachRun(ctx context.Context, o *attachOptions) error {
	if _, err := supervisor.ParseOffset(o.after); err != nil {
		return usage(err.Error(), "it stands as \"offset\" in the events that --json prints")
	}
	st, th, err := o.find(ctx, o.thread, o.last)
	if err != nil {
		return err
	}
	_, err = st.Team(ctx, th.ID)
	st.Close()
	stay := watch
	switch {
	case err == nil:
		stay = watchTeam
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	p := newPrinter(o.streams, o.json)
	l, err := o.connect(ctx, false, p.note)
	if err != nil {
		return err
	}
	return errors.Join(stay(ctx, l, p, api.Accepted{Thread: th.ID, After: o.after}), l.close())
}

// lasting is a context that outlives Ctrl-C, which has stop called: the stream goes
// on, and ends with what became of it. A terminal that goes away ends it, with
// errHangup for its cause, unless the server is in this process. over ends it.
func (l *link) lasting(ctx context.Context, stop func(context.Context) error) (lasting context.Context, over func()) {
	lasting, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	done := make(chan struct{})
	hangup := make(chan os.Signal, 1)
	if l.here == nil {
		signal.Notify(hangup, syscall.SIGHUP)
	}
	go func() {
		select {
		case <-ctx.Done():
			if err := stop(lasting); err != nil {
				cut(context.Canceled)
			}
		case <-hangup:
			cut(errHangup)
		case <-done:
		}
	}()
	return lasting, func() {
		signal.Stop(hangup)
		close(done)
		cut(nil)
	}
}

// watch shows a thread's events until its message is settled, or nothing in it
// is open. Ctrl-C stops what runs. A terminal that goes away stops nothing: the
// server goes on, and the next command says so.
func watch(ctx context.Context, l *link, p *printer, got api.Accepted) error {
	lasting, over := l.lasting(ctx, func(ctx context.Context) error { return l.conn.Stop(ctx, got.Thread) })
	defer over()
	code, found, warned := 0, false, false
	err := l.follow(lasting, got.Thread, got.After, p.tty != nil, func(e supervisor.Event) bool {
		p.feed(e)
		switch {
		case e.Event == "waiting" && !l.last && !warned:
			warned = true
			p.note("  (not across logout or reboot: `paceline init --service` writes a unit that is)")
		case e.Event == "approval" && p.tty != nil:
			go func() { _ = l.conn.Answer(lasting, got.Thread, e.ID, p.ask("Allow it? [y/N] ")) }()
		case e.Event == "finished" && e.Exit != nil && (got.Message == "" || e.Message == got.Message):
			code, found = *e.Exit, true
			return got.Message == ""
		}
		return true
	})
	p.close()
	switch {
	case errors.Is(context.Cause(lasting), errHangup):
		return exitCode(128 + int(syscall.SIGHUP))
	case err != nil:
		return err
	case !found:
		code, err = l.outcome(ctx, got.Thread, got.Message)
	}
	if err == nil && code != 0 {
		err = exitCode(code)
	}
	return err
}

var errHangup = errors.New("the terminal went away")

// outcome is the exit code of a message, the last one where none is named.
func (l *link) outcome(ctx context.Context, id paceline.ThreadID, m paceline.MessageID) (int, error) {
	ctx = context.WithoutCancel(ctx)
	st, err := l.open(ctx)
	if err != nil {
		return 0, err
	}
	defer st.Close()
	var of store.Message
	messages, err := st.Messages(ctx, id)
	for _, row := range messages {
		if of.ID != m || m == "" {
			of = row
		}
	}
	if err != nil || of.ID == "" || of.Status == run.Answered {
		return 0, err
	}
	return supervisor.Exit(of.Status), nil
}
