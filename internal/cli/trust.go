package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/supervisor"
)

type trustOptions struct {
	*streams
	dir string
	yes bool
}

func newTrust(s *streams) *cobra.Command {
	o := &trustOptions{streams: s}
	c := &cobra.Command{
		Use: "trust [DIR]", Short: "Agree to the hooks, settings and tool servers that a project brings",
		Long: `Agree to the hooks, settings and tool servers that a project brings.

Engines act on these files by themselves as soon as they start in the project. A
run in a project whose files nobody agreed to asks first, and without a terminal
it ends (exit 5). When one of them changes, it is asked again.`,
		Args: args(cobra.MaximumNArgs(1), "name one directory"),
		RunE: func(c *cobra.Command, a []string) error {
			o.dir = strings.Join(a, "")
			return trustRun(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.yes, "yes", false, "agree without being asked")
	return c
}

func trustRun(ctx context.Context, o *trustOptions) error {
	dir, err := workDir(o.dir, false)
	if err != nil {
		return err
	}
	p := newPrinter(o.streams, false)
	l, err := o.connect(ctx, false, p.note)
	if err != nil {
		return err
	}
	err = l.trusting(ctx, p, o.yes, func(digest string) error {
		return l.ask(ctx, func(c *api.Conn) error { return c.Trust(ctx, dir, harness.Tree(dir), digest) })
	})
	if err == nil {
		fmt.Fprintln(o.out, "agreed to")
	}
	return errors.Join(err, l.close())
}

// trusting does something that may be refused because nobody agreed to the
// project's files. A person at a terminal is asked, and then it is done again.
func (l *link) trusting(ctx context.Context, p *printer, yes bool, do func(digest string) error) error {
	err := do("")
	var why *supervisor.Refusal
	if !errors.As(err, &why) || why.Untrusted == nil {
		return err
	}
	p.note(sentence(why.Msg) + ":")
	for _, f := range why.Untrusted.Files {
		p.note("  " + f)
	}
	if !yes && (p.tty == nil || !p.ask("Agree to them? [y/N] ")) {
		return err
	}
	return do(why.Untrusted.Digest)
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
