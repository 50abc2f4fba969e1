package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/api"
)

func newStop(s *streams) *cobra.Command {
	return &cobra.Command{
		Use: "stop THREAD", Short: "Stop what runs in a thread, and what waits behind it",
		Args: args(cobra.ExactArgs(1), "name the thread; `paceline threads` lists them"),
		RunE: func(c *cobra.Command, a []string) error {
			return s.tell(c.Context(), a[0], func(ctx context.Context, conn *api.Conn, id paceline.ThreadID) error {
				return conn.Stop(ctx, id)
			})
		},
	}
}

func newApprove(s *streams) *cobra.Command {
	return s.answer("approve", "Allow what a run asks for", true)
}

func newDeny(s *streams) *cobra.Command {
	return s.answer("deny", "Refuse what a run asks for; it goes on without", false)
}

func (s *streams) answer(name, short string, allow bool) *cobra.Command {
	return &cobra.Command{
		Use: name + " THREAD REQUEST", Short: short,
		Args: args(cobra.ExactArgs(2), "name the thread, then the request as it was shown"),
		RunE: func(c *cobra.Command, a []string) error {
			return s.tell(c.Context(), a[0], func(ctx context.Context, conn *api.Conn, id paceline.ThreadID) error {
				return conn.Answer(ctx, id, paceline.RequestID(a[1]), allow)
			})
		},
	}
}

// tell has the server do something about a thread.
func (s *streams) tell(ctx context.Context, thread string, what func(context.Context, *api.Conn, paceline.ThreadID) error) error {
	st, th, err := s.find(ctx, thread, false)
	if err != nil {
		return err
	}
	st.Close()
	l, err := s.connect(ctx, false, s.note)
	if err != nil {
		return err
	}
	return errors.Join(l.ask(ctx, func(c *api.Conn) error { return what(ctx, c, th.ID) }), l.close())
}
