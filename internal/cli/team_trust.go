package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/api"
)

func newTeamTrust(s *streams) *cobra.Command {
	o := &teamOptions{streams: s}
	yes := false
	c := &cobra.Command{
		Use: "trust", Short: "Agree to participants that go beyond what you configured",
		Long: `Agree to participants that go beyond what you configured.

A participant's file lies in the project, so until you agree to it it only narrows:
it may name engines of your chain and your mode or less. What you agree to is the file
as it is now; when it changes, it is asked again.`,
		Args: args(cobra.NoArgs, "it takes none; --from names another folder"),
		RunE: func(c *cobra.Command, _ []string) error { return teamTrust(c.Context(), o, yes) },
	}
	o.listed(c)
	c.Flags().BoolVar(&yes, "yes", false, "agree without being asked")
	return c
}

func teamTrust(ctx context.Context, o *teamOptions, yes bool) error {
	tree, _, all, err := o.roster(ctx)
	if err != nil {
		return err
	}
	p := newPrinter(o.streams, o.json)
	var digests, ids []string
	for _, l := range all {
		if l.Trusted || l.Problem != "" {
			continue
		}
		p.note(fmt.Sprintf("@%s (%s)", l.ID, tilde(l.Path, o.environ)))
		for _, w := range l.Widens {
			p.note("  " + w)
		}
		digests, ids = append(digests, l.Digest), append(ids, l.ID)
	}
	if len(digests) > 0 && !yes && (p.tty == nil || !p.ask("Agree to them? [y/N] ")) {
		return &UserError{Msg: "nobody agreed", Hint: "`paceline team trust --yes` agrees without being asked", Code: exitPerson}
	}
	if len(digests) > 0 {
		l, err := o.connect(ctx, false, p.note)
		if err != nil {
			return err
		}
		err = l.ask(ctx, func(c *api.Conn) error { return c.TrustTeam(ctx, tree, digests) })
		if err := errors.Join(err, l.close()); err != nil {
			return err
		}
	}
	if o.json {
		return json.NewEncoder(o.out).Encode(map[string][]string{"agreed": append([]string{}, ids...)})
	}
	if len(digests) == 0 {
		fmt.Fprintln(o.out, "nothing goes beyond what you configured")
		return nil
	}
	fmt.Fprintln(o.out, "agreed to")
	return nil
}
