package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/health"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/supervisor"
)

type healthOptions struct {
	*streams
	json bool
}

func newHealth(s *streams) *cobra.Command {
	o := &healthOptions{streams: s}
	c := &cobra.Command{
		Use: "health", Short: "List the routes to vendors that are not well, and when each is tried again",
		Args: args(cobra.NoArgs, "`paceline health reset ROUTE` forgets what one did"),
		RunE: func(c *cobra.Command, _ []string) error { return healthRun(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON, one route a line")
	reset := &cobra.Command{
		Use: "reset ROUTE", Short: "Forget what a route did; new work goes there again",
		Args: args(cobra.ExactArgs(1), "name the route as `paceline health` does"),
		RunE: func(c *cobra.Command, a []string) error { return healthReset(c.Context(), o, a[0]) },
	}
	reset.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.AddCommand(reset)
	return c
}

// healthRow is a route that is not healthy, as `health --json` and `status
// --json` print it.
type healthRow struct {
	Route    string `json:"route"`
	Endpoint string `json:"endpoint"` // host:port
	Phase    string `json:"phase"`
	// Errors counts what the connection or the vendor's servers did within the
	// window.
	Errors int    `json:"errors"`
	Model  string `json:"last_model,omitempty"`
	Code   string `json:"code,omitempty"` // the vendor's own word
	// Next is when somebody may try it: an estimate, since nobody knows when it is
	// back.
	Next  *time.Time  `json:"next_check,omitempty"`
	Trial *healthTest `json:"trial,omitempty"`
	Why   string      `json:"why,omitempty"` // why new work keeps off
	Line  string      `json:"line"`
}

// healthTest is the run that tries a route.
type healthTest struct {
	Run   string    `json:"run"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// excludedRow is an account that new work keeps off for its route.
type excludedRow struct {
	Account string `json:"account"`
	Why     string `json:"why"`
}

// routes reads how the routes stand that are not well.
func routes(ctx context.Context, st *store.Store, p health.Policy, now time.Time) ([]healthRow, error) {
	records, err := st.Health(ctx)
	if err != nil || !p.Enabled {
		return nil, err
	}
	var out []healthRow
	for _, r := range records {
		r, _ = health.Age(r, now, p)
		line := health.Says(r, now, p)
		if line == "" {
			continue
		}
		row := healthRow{
			Route: r.Route.Name(), Endpoint: r.Route.Endpoint, Phase: r.Phase.String(), Errors: health.Errors(r, now, p),
			Model: r.Model, Code: r.Code, Line: line,
		}
		if n := len(r.Fails); row.Code == "" && n > 0 && row.Errors > 0 {
			row.Code = r.Fails[n-1].Code
		}
		if row.Why, _ = health.Denies(r, now, p); row.Why == "" {
			row.Why = health.Keeps(r, now, p)
		}
		if !r.Until.IsZero() {
			at := r.Until.UTC()
			row.Next = &at
		}
		if r.Trial.Who != "" {
			row.Trial = &healthTest{Run: r.Trial.Who, Since: r.Trial.Since.UTC(), Until: r.Trial.Until.UTC()}
		}
		out = append(out, row)
	}
	return out, nil
}

// excluded lists the accounts that new work keeps off, by the route that failed.
func excluded(ctx context.Context, st *store.Store, policy config.Policy, env harness.Environment, now time.Time) ([]excludedRow, error) {
	records, err := st.Health(ctx)
	if err != nil || !policy.Fallback.Health.Enabled {
		return nil, err
	}
	var out []excludedRow
	for _, name := range policy.Names() {
		a := policy.Accounts[name]
		h, ok := harness.Named(a.Harness)
		if !ok {
			continue
		}
		s := supervisor.Standing(records, harness.Route(h, a, env), now, policy.Fallback.Health)
		switch {
		case s.Down == "":
		case s.Shared:
			out = append(out, excludedRow{name, s.Down})
		default:
			out = append(out, excludedRow{name, name + ": " + s.Down})
		}
	}
	return out, nil
}

func healthRun(ctx context.Context, o *healthOptions) error {
	policy, err := o.policy()
	if err != nil {
		return err
	}
	var rows []healthRow
	switch st, err := o.open(ctx); {
	case unmade(err): // nothing was run yet
	case err != nil:
		return err
	default:
		rows, err = routes(ctx, st, policy.Fallback.Health, time.Now())
		if err = errors.Join(err, st.Close()); err != nil {
			return err
		}
	}
	enc := json.NewEncoder(o.out)
	for _, r := range rows {
		if o.json {
			if err := enc.Encode(r); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(o.out, r.Line)
		if r.Next != nil {
			fmt.Fprintf(o.out, "  next health check %s (estimate); `paceline health reset %s` forgets it\n", when(*r.Next, time.Now()), r.Route)
		}
	}
	if len(rows) > 0 || o.json {
		return nil
	}
	if f := policy.Fallback; !f.Enabled || !f.Health.Enabled {
		fmt.Fprintln(o.err, "health is switched off (fallback.enabled and fallback.health.enabled)")
		return nil
	}
	fmt.Fprintln(o.err, "every route is healthy")
	return nil
}

func healthReset(ctx context.Context, o *healthOptions, name string) error {
	var known, found []health.Route
	var names []string
	switch st, err := o.open(ctx); {
	case unmade(err):
	case err != nil:
		return err
	default:
		records, err := st.Health(ctx)
		if err = errors.Join(err, st.Close()); err != nil {
			return err
		}
		for _, r := range records {
			known = append(known, r.Route)
			names = append(names, r.Route.Name())
		}
	}
	for _, r := range known {
		if name == r.Name() || name == r.String() || name == r.Endpoint {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		hint := "nothing is on record of any route"
		if len(names) > 0 {
			hint = "there are: " + strings.Join(names, ", ")
		}
		return usage(fmt.Sprintf("nothing is on record of a route %q", name), hint)
	}
	c, err := o.connect(ctx, false, o.note)
	if err != nil {
		return err
	}
	for _, r := range found {
		err = errors.Join(err, c.ask(ctx, func(c *api.Conn) error { return c.Heal(ctx, r) }))
	}
	if err = errors.Join(err, c.close()); err == nil && o.json {
		err = json.NewEncoder(o.out).Encode(map[string]string{"reset": name})
	}
	return err
}
