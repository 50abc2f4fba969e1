package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/daemon"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/supervisor"
)

// link is a command's connection to its server, which may be followed by
// another one while the command lasts.
type link struct {
	*streams
	opts daemon.Options
	conn *api.Conn
	note func(string) // told what a person should know of the server
	last bool         // it outlives a logout and a reboot
	here *daemon.Daemon
}

// connect finds the server, or starts one: in the background, or inside this
// command.
func (s *streams) connect(ctx context.Context, foreground bool, note func(string)) (*link, error) {
	opts, err := s.daemon(staying)
	if err != nil {
		return nil, err
	}
	l := &link{streams: s, opts: opts, note: note}
	if foreground {
		l.opts.Stay = 0
		l.here, err = daemon.Open(ctx, l.opts)
		switch {
		case errors.Is(err, daemon.ErrTaken):
			note("A server is running already; this command joins it.")
		case err != nil:
			return nil, err
		}
	}
	if err := l.find(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// find finds the server, and says what is to be said of it. One of another
// version is drained, and its successor used.
func (l *link) find(ctx context.Context) error {
	name, err := daemon.StoreName(l.opts.State, l.environ)
	if err != nil {
		return err
	}
	for {
		c, i, err := daemon.Start(ctx, l.opts)
		if err != nil {
			return err
		}
		if l.conn != nil {
			l.conn.Close()
		}
		l.conn, l.last = c, i.Lasting
		if hello, err := c.Hello(ctx); err == nil {
			i.Lost = hello.Lost
		}
		if i.Store != "" && i.Store != name {
			return &UserError{
				Msg:  fmt.Sprintf("the server that runs keeps its state in %s, and store.url names %s", i.Store, name),
				Hint: "`paceline server drain` ends it when its runs have ended; the next one uses what store.url names", Code: exitFailed,
			}
		}
		for _, id := range i.Carried {
			l.note(fmt.Sprintf("Carrying on %s, which a server that ended had left open.", id))
		}
		for _, id := range i.Lost {
			l.note(fmt.Sprintf("%s goes on, although its terminal went away: `paceline attach %s` shows it.", id, id))
		}
		if i.Version == l.opts.Version && !i.Draining {
			return nil
		}
		if i.Version != l.opts.Version {
			l.note(fmt.Sprintf("The server is of version %s and this is %s: it is drained, and this version takes over.", i.Version, l.opts.Version))
		}
		if i.Serving > 0 {
			l.note(fmt.Sprintf("It has %d threads at work, and leaves when their turns have ended.", i.Serving))
		}
		if err := c.Drain(ctx); err != nil && !errors.Is(err, api.ErrLeaving) && !errors.Is(err, api.ErrCut) && !errors.Is(err, api.ErrNobody) {
			return err
		}
		if err := daemon.Gone(ctx, l.opts.State, i.Pid); err != nil {
			return err
		}
	}
}

// ask asks the server something, and the next one where this one leaves or is
// lost. What is asked must be safe to say twice.
func (l *link) ask(ctx context.Context, what func(*api.Conn) error) error {
	for deadline := time.Now().Add(time.Minute); ; {
		err := what(l.conn)
		again := errors.Is(err, api.ErrLeaving) || errors.Is(err, api.ErrCut) || errors.Is(err, api.ErrNobody)
		if !again || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if err := l.find(ctx); err != nil {
			return err
		}
	}
}

// follow shows a thread's events behind an offset, from whichever server tells
// them. It returns nil where nothing in the thread is open any more.
func (l *link) follow(ctx context.Context, id paceline.ThreadID, after string, terminal bool, take func(supervisor.Event) bool) error {
	return l.ask(ctx, func(c *api.Conn) error {
		return c.Follow(ctx, id, after, terminal, func(e supervisor.Event) bool {
			after = e.Offset
			return take(e)
		})
	})
}

// close gives the connection up; a server inside this command first finishes
// what it has.
func (l *link) close() error {
	if l.conn != nil {
		l.conn.Close()
	}
	if l.here == nil {
		return nil
	}
	l.here.Wait(context.Background())
	return l.here.Close()
}

// client is who we are, as the server is told.
func (s *streams) client(policy config.Policy, attended bool) api.Client {
	c := api.Client{Env: harness.Children(s.environ, policy.Pass), Attended: attended}
	for _, name := range policy.Names() {
		key := policy.Accounts[name].KeyEnv
		if v := harness.Environment(s.environ).Get(key); key != "" && v != "" {
			c.Keys = append(c.Keys, key+"="+v)
		}
	}
	return c
}
