package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/place"
)

type limitsOptions struct {
	*streams
	json bool
}

func newLimits(s *streams) *cobra.Command {
	o := &limitsOptions{streams: s}
	c := &cobra.Command{
		Use: "limits", Short: "List what is held against engines, and where it was read",
		Args: args(cobra.NoArgs, "`paceline limits clear ENGINE` drops one"),
		RunE: func(c *cobra.Command, _ []string) error { return limitsRun(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON, one limit a line")
	drop := &cobra.Command{
		Use: "clear ENGINE", Short: "Drop what is held against an engine; whoever waits for it goes on",
		Args: args(cobra.ExactArgs(1), "name the engine as `paceline limits` does"),
		RunE: func(c *cobra.Command, a []string) error { return limitsClear(c.Context(), o, a[0]) },
	}
	drop.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.AddCommand(drop)
	return c
}

// limitRow is a limit as `limits --json` prints it.
type limitRow struct {
	Engine  string     `json:"engine"`
	Cause   string     `json:"cause"`
	Held    bool       `json:"held"` // it has not lifted yet
	ResetAt *time.Time `json:"reset_at,omitempty"`
	Source  string     `json:"reset_source,omitempty"`
	Scope   string     `json:"scope,omitempty"`
	Seen    time.Time  `json:"seen"`
	Run     string     `json:"run"`
}

func limitsRun(ctx context.Context, o *limitsOptions) error {
	limits, err := o.limits(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	enc := json.NewEncoder(o.out)
	for _, l := range limits {
		r := limitRow{
			Engine: l.Engine.String(), Cause: l.Cause.String(), Held: place.Held(&l, now), Source: l.Reset.Source.String(),
			Scope: l.Scope, Seen: l.Seen.UTC(), Run: string(l.Run),
		}
		if l.Reset.Known() {
			at := l.Reset.At.UTC()
			r.ResetAt = &at
		}
		switch {
		case o.json:
			if err := enc.Encode(r); err != nil {
				return err
			}
		case !r.Held:
			fmt.Fprintf(o.out, "%s was limited (%s): lifted %s\n", r.Engine, r.Cause, when(*r.ResetAt, now))
		case r.ResetAt == nil:
			fmt.Fprintf(o.out, "%s is limited (%s), until somebody clears it; read in %s\n", r.Engine, r.Cause, r.Run)
		default:
			fmt.Fprintf(o.out, "%s is limited (%s): lifts %s, %s; read in %s\n", r.Engine, r.Cause, when(*r.ResetAt, now), r.Source, r.Run)
		}
	}
	if len(limits) == 0 && !o.json {
		fmt.Fprintln(o.err, "nothing is held against any engine")
	}
	return nil
}

// limits reads the ledger; where nothing was run yet it is empty.
func (s *streams) limits(ctx context.Context) ([]paceline.Limit, error) {
	st, err := s.open(ctx)
	if unmade(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.Limits(ctx)
}

func limitsClear(ctx context.Context, o *limitsOptions, engine string) error {
	limits, err := o.limits(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, l := range limits {
		if l.Engine.String() != engine {
			names = append(names, l.Engine.String())
			continue
		}
		c, err := o.connect(ctx, false, o.note)
		if err != nil {
			return err
		}
		err = c.ask(ctx, func(c *api.Conn) error { return c.Clear(ctx, l.Engine) })
		if err = errors.Join(err, c.close()); err == nil && o.json {
			err = json.NewEncoder(o.out).Encode(map[string]string{"cleared": engine})
		}
		return err
	}
	hint := "nothing is held against any engine"
	if len(names) > 0 {
		hint = "held are: " + strings.Join(names, ", ")
	}
	return usage(fmt.Sprintf("nothing is held against %q", engine), hint)
}
