package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/daemon"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/supervisor"
	"github.com/paceline/paceline/internal/team"
)

// teamOptions are those of every command of a team.
type teamOptions struct {
	*streams
	thread string // "" is the last team of this directory
	from   string // the folder of its participants; "" is the project's
	json   bool
}

func newTeam(s *streams) *cobra.Command {
	c := &cobra.Command{
		Use: "team", Short: "Have several participants work on one task, in turns",
		Long: `Have several participants work on one task, in turns.

A participant is a file, .paceline/participants/NAME.md: between two lines of dashes
its provider (or account), model, failover chain, mode and whether it is enabled, and
below them its role. One has the round at a time. What it says last is posted to the
others; its last line may be a move:

  MOVE: ask @name         the next round is theirs
  MOVE: wait 10m REASON   nothing to do before that, or before somebody posts
  MOVE: gate WHAT         a person has to approve WHAT before anybody goes on
  MOVE: done              the whole task is finished

A file goes beyond what you configured where it names an engine that your chain does
not, or a wider mode: then it is asked for your agreement first (exit 5).`,
		Example: `  paceline team init
  paceline team start "make the tests pass, then review the change"
  paceline team gate approve`,
	}
	c.AddCommand(
		newTeamInit(s), newTeamList(s), newTeamShow(s), newTeamEdit(s), newTeamTrust(s), newTeamStart(s), newTeamLog(s), newTeamPost(s), newTeamGate(s),
		newTeamWord(s, "pause", "Begin no further round; the one that is under way ends"),
		newTeamWord(s, "resume", "Go on, with as many rounds and as much time as at the start"),
		newTeamWord(s, "stop", "Stop the round that is under way, and begin none"),
	)
	return c
}

func (o *teamOptions) named(c *cobra.Command) {
	c.Flags().StringVarP(&o.thread, "thread", "t", "", "the team of this `thread`; the last one of this directory otherwise")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
}

func (o *teamOptions) listed(c *cobra.Command) {
	c.Flags().StringVar(&o.from, "from", "", "read the participants of this `folder`, such as .autodev/participants")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON, one participant a line")
}

// place is where the command works, and which folder its participants are in.
func (o *teamOptions) place() (dir, tree, from string, err error) {
	if dir, err = workDir("", false); err != nil {
		return "", "", "", err
	}
	tree = harness.Tree(dir)
	if o.from == "" {
		return dir, tree, supervisor.Participants(tree), nil
	}
	if from, err = filepath.Abs(o.from); err == nil {
		_, err = os.Stat(from)
	}
	if err != nil {
		return dir, tree, from, usage(o.from+" is not there", "name the folder that holds the participants' files")
	}
	return dir, tree, from, nil
}

// roster reads the participants, and what their user has agreed to.
func (o *teamOptions) roster(ctx context.Context) (tree, from string, all []supervisor.Listed, err error) {
	dir, tree, from, err := o.place()
	if err != nil {
		return "", "", nil, err
	}
	policy, err := (&runOptions{streams: o.streams}).load(dir)
	if err != nil {
		return "", "", nil, err
	}
	if all, err = supervisor.Roster(from, policy); err != nil {
		return "", "", nil, err
	}
	state, err := daemon.StateDir(o.environ)
	if err != nil {
		return "", "", nil, err
	}
	st, err := daemon.ReadStore(ctx, state, o.environ)
	switch {
	case errors.Is(err, daemon.ErrNothing): // nobody agreed to anything yet
		return tree, from, all, nil
	case err != nil:
		return "", "", nil, err
	}
	defer st.Close()
	return tree, from, all, supervisor.Agreed(ctx, st, tree, all)
}

func newTeamInit(s *streams) *cobra.Command {
	o := &teamOptions{streams: s}
	return &cobra.Command{
		Use: "init", Short: "Write two participants to begin with", Args: args(cobra.NoArgs, "`paceline team init` takes none"),
		RunE: func(*cobra.Command, []string) error { return teamInit(o) },
	}
}

// samples are the participants that init writes, by their providers.
var samples = []struct{ id, text string }{
	{"lead", "---\nprovider: %s\nfailover: [%s]\n---\nYou lead. You write the code, in small steps, and run the tests. When a step is done,\nask @reviewer to look at it. When the task is finished and reviewed, say so: MOVE: done\n"},
	{"reviewer", "---\nprovider: %[2]s\nfailover: [%[1]s]\nmode: read\n---\nYou review what @lead wrote, against the task and against the code around it. You write\nnothing. Say what is wrong and where, or that it is right, then ask @lead to go on.\n"},
}

func teamInit(o *teamOptions) error {
	dir, _, folder, err := o.place()
	if err != nil {
		return err
	}
	policy, err := (&runOptions{streams: o.streams}).load(dir)
	if err != nil {
		return err
	}
	one, two := "claude", "codex"
	if n := len(policy.Chain); n > 0 {
		one, two = policy.Chain[0].String(), policy.Chain[n-1].String()
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write the participants: %w", err)
	}
	for _, p := range samples {
		path := filepath.Join(folder, p.id+".md")
		if err := create(path, fmt.Sprintf(p.text, one, two)); err != nil {
			return err
		}
		fmt.Fprintf(o.out, "wrote %s\n", tilde(path, o.environ))
	}
	fmt.Fprintln(o.err, "Change their roles as you like, then `paceline team start TASK`.")
	return nil
}

func newTeamList(s *streams) *cobra.Command {
	o := &teamOptions{streams: s}
	c := &cobra.Command{
		Use: "list", Short: "List this project's participants", Args: args(cobra.NoArgs, "`paceline team show` shows a team at work"),
		RunE: func(c *cobra.Command, _ []string) error { return teamList(c.Context(), o) },
	}
	o.listed(c)
	return c
}

func teamList(ctx context.Context, o *teamOptions) error {
	_, from, all, err := o.roster(ctx)
	if err != nil {
		return err
	}
	if o.json {
		enc := json.NewEncoder(o.out)
		for _, l := range all {
			if err := enc.Encode(l); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		fmt.Fprintf(o.err, "no participants in %s; `paceline team init` writes two\n", tilde(from, o.environ))
		return nil
	}
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	for _, l := range all {
		mode, note := "the run's mode", ""
		if l.Mode != nil {
			mode = l.Mode.String()
		}
		switch {
		case l.Problem != "":
			note = "cannot be read: " + l.Problem
		case l.Off:
			note = "switched off"
		case !l.Trusted:
			note = "needs `paceline team trust`: " + strings.Join(l.Widens, "; ")
		case len(l.Unused) > 0:
			note = "not used here: " + strings.Join(l.Unused, ", ")
		}
		fmt.Fprintf(w, "@%s\t%s\t%s\t%s\n", l.ID, engineNames(l.Chain, " → "), mode, printable(note))
	}
	return w.Flush()
}

func engineNames(chain []paceline.Engine, between string) string {
	var out []string
	for _, e := range chain {
		out = append(out, e.String())
	}
	return strings.Join(out, between)
}

func newTeamEdit(s *streams) *cobra.Command {
	o := &teamOptions{streams: s}
	c := &cobra.Command{
		Use: "edit ID", Short: "Print the path of a participant's file", Args: args(cobra.ExactArgs(1), "name the participant"),
		RunE: func(c *cobra.Command, a []string) error {
			_, from, all, err := o.roster(c.Context())
			if err != nil {
				return err
			}
			id := strings.TrimPrefix(a[0], "@")
			i := slices.IndexFunc(all, func(l supervisor.Listed) bool { return l.ID == id })
			if i < 0 {
				if err := team.CheckID(id); err != nil {
					return usage(err.Error(), "choose another name")
				}
				return usage(fmt.Sprintf("there is no participant %q", id), "it would be "+filepath.Join(from, id+".md"))
			}
			if o.json {
				return json.NewEncoder(o.out).Encode(map[string]string{"id": id, "path": all[i].Path})
			}
			_, err = fmt.Fprintln(o.out, all[i].Path)
			return err
		},
	}
	o.listed(c)
	return c
}

// policyIn is the configuration that holds in a directory.
func (s *streams) policyIn(dir string) (config.Policy, error) {
	return (&runOptions{streams: s}).load(dir)
}
