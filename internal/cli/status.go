package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/daemon"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

type statusOptions struct {
	*streams
	json  bool
	watch bool
	scans scans
}

// every is how often a status that is watched is drawn anew.
const every = 2 * time.Second

func newStatus(s *streams) *cobra.Command {
	o := &statusOptions{streams: s, scans: scans{}}
	c := &cobra.Command{
		Use: "status", Short: "Show the engines, and what is held against them",
		Args: args(cobra.NoArgs, "`paceline show THREAD` shows one thread"),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.watch {
				return statusWatch(c.Context(), o)
			}
			return statusRun(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().BoolVar(&o.watch, "watch", false, "draw it anew every two seconds, until Ctrl-C; with --json a line each time")
	return c
}

// status is what `status --json` prints.
type status struct {
	Engines []engineStatus       `json:"engines"`
	Limits  []limitStatus        `json:"limits"`
	Windows []windowStatus       `json:"windows"`
	Open    []openStatus         `json:"open"`
	Seats   []seatStatus         `json:"seats"`
	Unknown []store.UnknownFrame `json:"unknown_frames"`
	Effects map[string]int       `json:"unknown_effects,omitempty"`
	// Health and Excluded are there only where something is not well.
	Health   []healthRow   `json:"health,omitempty"`
	Excluded []excludedRow `json:"excluded,omitempty"`
}

type engineStatus struct {
	Engine  string `json:"engine"`
	Harness string `json:"harness"`
	State   string `json:"state"` // ready, unready, or not asked yet
	Why     string `json:"why,omitempty"`
	Posture string `json:"posture"`
	Version string `json:"version,omitempty"`
}

type limitStatus struct {
	Engine  string     `json:"engine"`
	Cause   string     `json:"cause"`
	ResetAt *time.Time `json:"reset_at"`
	Source  string     `json:"reset_source"`
	Scope   string     `json:"scope,omitempty"`
	Run     string     `json:"run"`
}

type openStatus struct {
	Thread string `json:"thread"`
	Run    string `json:"run"`
	Engine string `json:"engine"`
	Phase  string `json:"phase"`
	Claim  string `json:"claim,omitempty"`
	// Until, For and Source are there while it waits.
	Until  *time.Time `json:"until,omitempty"`
	For    string     `json:"waits_for,omitempty"`
	Source string     `json:"source,omitempty"`
	// Heard is when its program last gave a sign of life; only a server that runs
	// can tell.
	Heard *time.Time `json:"heard,omitempty"`
	// Silent is how many seconds ago that was.
	Silent *float64 `json:"silent_s,omitempty"`
}

// seatStatus is a seat of which its user asked something that is still to be
// done, or that he parked.
type seatStatus struct {
	Thread     paceline.ThreadID `json:"thread"`
	Engine     string            `json:"engine,omitempty"` // who holds it
	Generation int               `json:"generation"`
	run.Seat
	line string
}

// statusWatch shows the status live. Where nobody looks at a terminal each one
// follows the one before.
func statusWatch(ctx context.Context, o *statusOptions) error {
	out, terminal := o.out.(*os.File)
	terminal = terminal && isatty(out) && !o.json
	for {
		if terminal {
			fmt.Fprint(o.out, "\x1b[H\x1b[2J")
		}
		if err := statusRun(ctx, o); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

func statusRun(ctx context.Context, o *statusOptions) error {
	policy, err := o.policy()
	if err != nil {
		return err
	}
	state, err := daemon.StateDir(o.environ)
	if err != nil {
		return err
	}
	var accounts []store.AccountRow
	out := status{Engines: []engineStatus{}, Limits: []limitStatus{}, Open: []openStatus{}, Seats: []seatStatus{}, Unknown: []store.UnknownFrame{}}
	st, err := daemon.ReadStore(ctx, state, o.environ)
	switch {
	case errors.Is(err, daemon.ErrNothing): // a machine on which nothing ran yet has engines too
	case err != nil:
		return err
	default:
		defer st.Close()
		if accounts, err = o.recorded(ctx, st, &out); err != nil {
			return err
		}
		if out.Health, err = routes(ctx, st, policy.Fallback.Health, time.Now()); err != nil {
			return err
		}
		if out.Excluded, err = excluded(ctx, st, policy, harness.Children(o.environ, policy.Pass), time.Now()); err != nil {
			return err
		}
	}
	if len(out.Open) > 0 {
		heard, now := o.heard(ctx), time.Now()
		for i, r := range out.Open {
			if at, ok := heard[paceline.ThreadID(r.Thread)]; ok {
				silent := max(0, now.Sub(at).Seconds())
				out.Open[i].Heard, out.Open[i].Silent = &at, &silent
			}
		}
	}
	if out.Windows = o.scans.windows(ctx, policy, harness.Children(o.environ, policy.Pass), state); out.Windows == nil {
		out.Windows = []windowStatus{}
	}
	out.Engines = engines(policy, harness.Children(o.environ, policy.Pass), accounts)
	if o.json {
		return json.NewEncoder(o.out).Encode(out)
	}
	return o.people(out)
}

// recorded reads what the store knows.
func (o *statusOptions) recorded(ctx context.Context, st *store.Store, out *status) ([]store.AccountRow, error) {
	limits, err := st.Limits(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for _, l := range limits {
		if !place.Held(&l, now) {
			continue
		}
		row := limitStatus{Engine: l.Engine.String(), Cause: l.Cause.String(), Source: l.Reset.Source.String(), Scope: l.Scope, Run: string(l.Run)}
		if l.Reset.Known() {
			at := l.Reset.At.UTC()
			row.ResetAt = &at
		}
		out.Limits = append(out.Limits, row)
	}
	orphans, err := st.Orphans(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range orphans {
		row := openStatus{
			Thread: string(r.Thread), Run: string(r.ID), Engine: r.Engine.String(), Phase: r.Phase.String(), Claim: r.Claim.Phase.String(),
		}
		if r.Waiting() {
			until := r.Wait.Until.UTC()
			row.Until, row.For, row.Source = &until, r.Wait.For.String(), r.Wait.Source.String()
		}
		out.Open = append(out.Open, row)
	}
	threads, err := st.Threads(ctx)
	if err != nil {
		return nil, err
	}
	for _, th := range threads {
		if th.Archived || th.Seat.Next == nil && th.Seat.Parked.IsZero() {
			continue
		}
		runs, err := st.Runs(ctx, th.ID)
		if err != nil {
			return nil, err
		}
		row := seatStatus{Thread: th.ID, Generation: run.Generation(runs), Seat: th.Seat, line: seatLine(th.Seat, runs, now)}
		for _, r := range runs {
			if r.Holds() {
				row.Engine = r.Engine.String()
			}
		}
		out.Seats = append(out.Seats, row)
	}
	if out.Unknown, err = st.UnknownFrames(ctx); err != nil {
		return nil, err
	}
	return st.Accounts(ctx)
}

// heard asks a server that runs for its programs' last signs of life. None is
// started to ask.
func (s *streams) heard(ctx context.Context) map[paceline.ThreadID]time.Time {
	opts, err := s.daemon(0)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, i, err := daemon.Find(ctx, opts.State, opts.Version)
	if err != nil {
		return nil
	}
	defer c.Close()
	return i.Heard
}

// engines lists every account with what is known of it. Nothing is started to
// find out: what was not asked yet is said to be so.
func engines(policy config.Policy, env harness.Environment, known []store.AccountRow) []engineStatus {
	rows := map[string]store.AccountRow{}
	for _, r := range known {
		rows[r.Name] = r
	}
	var out []engineStatus
	for _, name := range policy.Names() {
		a := policy.Accounts[name]
		e := engineStatus{Engine: name, Harness: a.Harness, State: "not asked yet", Posture: a.Posture.String()}
		h, ok := harness.Named(a.Harness)
		r, seen := rows[name]
		if seen {
			e.Version = r.Version
			if a.Posture == paceline.PostureUnknown {
				e.Posture = r.Posture.String()
			}
		}
		var missing error
		if ok {
			_, missing = h.Find(env)
		}
		switch {
		case !ok:
			e.State, e.Why = "unready", "this build does not drive "+a.Harness
		case a.Disabled:
			e.State, e.Why = "unready", "it is disabled"
		case missing != nil:
			e.State, e.Why = "unready", "it is not installed: "+h.Install()
		case seen && r.Note != "":
			e.State, e.Why = "unready", r.Note
		case seen && r.SignedIn:
			e.State = "ready"
		}
		out = append(out, e)
	}
	return out
}

func (o *statusOptions) people(s status) error {
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	limited := map[string]bool{}
	for _, l := range s.Limits {
		limited[l.Engine] = true
	}
	for _, e := range s.Engines {
		state := e.State
		if limited[e.Engine] && state == "ready" {
			state = "limited"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.Engine, state, e.Posture, e.Version, e.Why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	now := time.Now()
	for _, l := range s.Limits {
		until := "it did not say until when"
		if l.ResetAt != nil {
			until = "lifts " + when(*l.ResetAt, now) + ", " + l.Source
		}
		fmt.Fprintf(o.out, "%s is limited (%s): %s; `paceline why %s`\n", l.Engine, l.Cause, until, l.Run)
	}
	for _, w := range s.Windows {
		fmt.Fprintln(o.out, w.line(now))
	}
	for _, r := range s.Health {
		fmt.Fprintln(o.out, r.Line)
	}
	for _, x := range s.Excluded {
		fmt.Fprintf(o.out, "excluded %s: %s\n", x.Account, x.Why)
	}
	for _, r := range s.Open {
		line := fmt.Sprintf("%s: %s on %s is %s", r.Thread, r.Run, r.Engine, r.Phase)
		if r.Claim != "" {
			line += ", its claim " + r.Claim
		}
		if r.Until != nil {
			line = fmt.Sprintf("%s waits for %s until %s, %s", r.Thread, r.For, when(*r.Until, now), r.Source)
		}
		if r.Heard != nil {
			line += ", last heard of " + distance(r.Heard.Sub(now))
		}
		fmt.Fprintln(o.out, line)
	}
	for _, r := range s.Seats {
		fmt.Fprintf(o.out, "%s: %s\n", r.Thread, r.line)
	}
	for _, u := range s.Unknown {
		fmt.Fprintf(o.out, "%s %s sent %q, which this build does not know, %d times: such a run is never sent again\n", u.Harness, u.Version, u.Frame, u.Count)
	}
	return nil
}
