package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/store"
)

type sendOptions struct {
	*streams
	thread, text string
	steer        bool
	json         bool
}

func newSend(s *streams) *cobra.Command {
	o := &sendOptions{streams: s}
	c := &cobra.Command{
		Use: "send THREAD TEXT|-", Short: "Queue a message behind what a thread is doing",
		Args: args(cobra.ExactArgs(2), "name the thread, then the message in quotes; `paceline threads` lists them"),
		RunE: func(c *cobra.Command, a []string) error {
			o.thread, o.text = a[0], a[1]
			return sendRun(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

func newSteer(s *streams) *cobra.Command {
	o := &sendOptions{streams: s, steer: true}
	c := &cobra.Command{
		Use: "steer THREAD TEXT|-", Short: "Add a message to what a thread is doing",
		Long: `Add a message to what a thread is doing. The engine takes it up at its next step.
Where nothing runs, or the turn is just over, it waits for its turn as with send.
A steered run is not failed over: only its first prompt could be sent again.`,
		Args: args(cobra.ExactArgs(2), "name the thread, then the message in quotes; `paceline threads` lists them"),
		RunE: func(c *cobra.Command, a []string) error {
			o.thread, o.text = a[0], a[1]
			return sendRun(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

func sendRun(ctx context.Context, o *sendOptions) error {
	text, err := readPrompt(o.text, true, o.in)
	if err != nil {
		return err
	}
	st, th, err := o.find(ctx, o.thread, false)
	if err != nil {
		return err
	}
	st.Close()
	policy, err := (&runOptions{streams: o.streams}).load(th.Dir)
	if err != nil {
		return err
	}
	r := &runOptions{streams: o.streams, detach: true, json: o.json}
	l, err := o.connect(ctx, false, o.note)
	if err != nil {
		return err
	}
	ask := api.Prompt{ID: paceline.MessageID(store.NewID("m")), Text: text, Thread: th.ID, Steer: o.steer, Client: o.client(policy, true)}
	return errors.Join(r.stay(ctx, l, newPrinter(o.streams, o.json), ask, policy), l.close())
}

// note says something about the server.
func (s *streams) note(text string) { fmt.Fprintln(s.err, text) }
