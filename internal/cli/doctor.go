package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/daemon"
	"github.com/paceline/paceline/internal/guard"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/store"
)

type doctorOptions struct {
	*streams
	json bool
}

func newDoctor(s *streams) *cobra.Command {
	o := &doctorOptions{streams: s}
	c := &cobra.Command{
		Use: "doctor", Short: "Look at everything that a run needs, and say what is missing",
		Args: args(cobra.NoArgs, "`paceline doctor` takes none"),
		RunE: func(c *cobra.Command, _ []string) error { return doctorRun(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

// checkup is what doctor found, as `--json` prints it.
type checkup struct {
	Version  string           `json:"version"`
	State    string           `json:"state"`
	Server   string           `json:"server"`
	Cage     string           `json:"cage"` // "" where there is none
	Config   []string         `json:"config_problems"`
	Accounts []accountChecked `json:"accounts"`
	Chain    []string         `json:"chain"`
	// Undeclared ones are installed, and serve nobody before an account names them.
	Undeclared []string             `json:"undeclared"`
	Stray      []string             `json:"stray"` // keys in the environment that are not used
	Unknown    []store.UnknownFrame `json:"unknown_frames"`
	Health     []healthRow          `json:"health,omitempty"` // only where something is not well
}

// accountChecked is one account, asked just now.
type accountChecked struct {
	Account string `json:"account"`
	Harness string `json:"harness"`
	Ready   bool   `json:"ready"`
	Version string `json:"version,omitempty"`
	Tested  string `json:"tested,omitempty"`
	Posture string `json:"posture"`
	Route   string `json:"route,omitempty"`
	Lacks   string `json:"lacks,omitempty"`
	Terms   string `json:"terms,omitempty"` // what its vendor says of being driven by us
	vendor  string
}

// askFor bounds how long a program may take to say who is signed in.
const askFor = 20 * time.Second

func doctorRun(ctx context.Context, o *doctorOptions) error {
	c := checkup{Version: ourVersion(), Config: []string{}, Accounts: []accountChecked{}, Chain: []string{}, Stray: harness.Stray(o.environ), Unknown: []store.UnknownFrame{}}
	policy, err := o.policy()
	var problems config.Problems
	if errors.As(err, &problems) {
		for line := range strings.Lines(problems.Error()) {
			c.Config = append(c.Config, strings.TrimRight(line, "\n"))
		}
		// A file that cannot be used hides nothing else that is wrong.
		policy, _, err = config.Load(config.Sources{})
	}
	if err != nil {
		return err
	}
	if abi, err := guard.CageAvailable(); err == nil {
		c.Cage = abi
	}
	c.Accounts = o.ask(ctx, policy)
	c.Undeclared = append([]string{}, undeclared(o.streams, policy)...)
	for _, e := range policy.Chain {
		c.Chain = append(c.Chain, e.String())
	}
	if err := o.state(ctx, &c, policy); err != nil {
		return err
	}
	if o.json {
		err = json.NewEncoder(o.out).Encode(c)
	} else {
		o.print(c)
	}
	return errors.Join(err, c.verdict())
}

// ask asks every account's program, all at once.
func (o *doctorOptions) ask(ctx context.Context, policy config.Policy) []accountChecked {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	env := harness.Children(o.environ, policy.Pass)
	out := make([]accountChecked, len(policy.Names()))
	var group sync.WaitGroup
	for i, name := range policy.Names() {
		group.Go(func() { out[i] = check(ctx, policy.Accounts[name], env) })
	}
	group.Wait()
	return out
}

func check(ctx context.Context, a paceline.Account, env harness.Environment) accountChecked {
	c := accountChecked{Account: a.Name, Harness: a.Harness, Posture: a.Posture.String()}
	h, ok := harness.Named(a.Harness)
	if !ok {
		c.Lacks = "this build does not drive " + a.Harness
		return c
	}
	c.Tested, c.Route, c.vendor, c.Terms = harness.Tested(h), h.Route(a, env), h.Vendor(), harness.Terms(h)
	if _, err := h.Find(env); err != nil {
		c.Lacks = "not installed: " + h.Install()
		return c
	}
	c.Version = harness.Version(ctx, h, env)
	p, err := h.Probe(ctx, a, env)
	if a.Posture == paceline.PostureUnknown {
		c.Posture = p.Posture.String()
	}
	switch {
	case a.Disabled:
		c.Lacks = "it is disabled"
	case ctx.Err() != nil:
		c.Lacks = "it does not say whether it is signed in: start it by hand once"
	case p.Note != "":
		c.Lacks = p.Note
	case err != nil:
		c.Lacks = err.Error()
	}
	c.Ready = c.Lacks == ""
	return c
}

// state looks at what is kept and at who serves, and makes nothing.
func (o *doctorOptions) state(ctx context.Context, c *checkup, policy config.Policy) error {
	opts, err := o.daemon(0)
	if err != nil {
		return err
	}
	c.State = opts.State
	switch _, i, err := daemon.Find(ctx, opts.State, opts.Version); {
	case errors.Is(err, api.ErrNobody):
		c.Server = "not running; the first run starts it"
	case err != nil:
		c.Server = err.Error()
	case i.Version != opts.Version:
		c.Server = fmt.Sprintf("running, of another version (%s): `paceline server drain` ends it", i.Version)
	default:
		c.Server = "running"
	}
	st, err := o.open(ctx)
	if unmade(err) {
		return nil // nothing was run here yet
	}
	if err != nil {
		return err
	}
	defer st.Close()
	if c.Health, err = routes(ctx, st, policy.Fallback.Health, time.Now()); err != nil {
		return err
	}
	c.Unknown, err = st.UnknownFrames(ctx)
	return err
}

func (o *doctorOptions) print(c checkup) {
	fmt.Fprintf(o.out, "paceline %s; state in %s; server %s\n", c.Version, tilde(c.State, o.environ), c.Server)
	if c.Cage == "" {
		fmt.Fprintln(o.out, "cage: none on this machine; read, ask and edit are held by the programs' own means, and work does not move to where that is less")
	} else {
		fmt.Fprintf(o.out, "cage: %s\n", c.Cage)
	}
	for _, a := range c.Accounts {
		line := fmt.Sprintf("%s (%s): ", a.Account, a.Harness)
		if a.Ready {
			line += "ready, " + a.Posture
		} else {
			line += "not ready: " + a.Lacks
		}
		fmt.Fprintln(o.out, line)
		if a.Terms != "" {
			fmt.Fprintln(o.out, "  terms: "+a.Terms)
		}
		switch {
		case a.Version == "":
		case a.Version != a.Tested:
			fmt.Fprintf(o.out, "  version %s; this build was tested with %s\n", a.Version, a.Tested)
		default:
			fmt.Fprintf(o.out, "  version %s, as tested\n", a.Version)
		}
		if a.Ready && a.Route != "" {
			fmt.Fprintf(o.out, "  talks to %s\n", a.Route)
		}
	}
	for _, name := range c.Undeclared {
		fmt.Fprintf(o.out, "%s is installed and not used: whose money it spends is yours to say. %s\n", name, declare(name))
	}
	if len(c.Chain) > 0 {
		fmt.Fprintf(o.out, "chain: %s\n", strings.Join(c.Chain, ", then "))
		if twice := c.twice(); twice != "" {
			fmt.Fprintf(o.out, "  two accounts of %s stand in it: whether its terms allow that is for you to check\n", twice)
		}
	} else {
		fmt.Fprintln(o.out, "chain: none; a run has one engine, unless --chain names more. `paceline init` writes one down")
	}
	for _, name := range c.Stray {
		fmt.Fprintf(o.out, "%s is set and not used: it would spend by the token. An account with posture = \"metered\" and key_env = %q uses it\n", name, name)
	}
	for _, u := range c.Unknown {
		fmt.Fprintf(o.out, "unknown frame of %s %s, seen %d times: %s. Runs with it count as having done work\n", u.Harness, u.Version, u.Count, printable(u.Frame))
	}
	for _, r := range c.Health {
		fmt.Fprintln(o.out, r.Line)
	}
	for _, p := range c.Config {
		fmt.Fprintln(o.out, p)
	}
}

// undeclared names what is installed beside the accounts.
func undeclared(s *streams, policy config.Policy) []string {
	return harness.Undeclared(harness.Children(s.environ, policy.Pass), slices.Collect(maps.Values(policy.Accounts)))
}

// declare is how an installed program comes into a chain.
func declare(name string) string {
	return fmt.Sprintf("In the configuration: [accounts.%s] with harness = %q and posture = \"subscription\", \"metered\" or \"local\"; then it may stand in a chain", name, name)
}

// twice names a vendor with two accounts in the chain; "" where there is none.
func (c checkup) twice() string {
	vendor := map[string]string{}
	for _, a := range c.Accounts {
		vendor[a.Account] = a.vendor
	}
	by := map[string]string{}
	for _, e := range c.Chain {
		account, _, _ := strings.Cut(e, ":")
		v := vendor[account]
		if other, ok := by[v]; ok && other != account && v != "" {
			return v
		}
		by[v] = account
	}
	return ""
}

// verdict is the exit code: whether a run could start at all.
func (c checkup) verdict() error {
	installed := false
	for _, a := range c.Accounts {
		if a.Ready && len(c.Config) == 0 {
			return nil
		}
		installed = installed || !strings.HasPrefix(a.Lacks, "not installed")
	}
	if len(c.Config) > 0 || !installed {
		return exitCode(exitUsage)
	}
	return exitCode(exitSignIn)
}
