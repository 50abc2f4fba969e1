package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/supervisor"
	"github.com/paceline/paceline/internal/team"
)

type teamStartOptions struct {
	teamOptions
	task   string
	given  bool
	mode   string
	rules  team.Rules
	fore   bool
	detach bool
}

func newTeamStart(s *streams) *cobra.Command {
	o := &teamStartOptions{teamOptions: teamOptions{streams: s}, rules: team.DefaultRules()}
	c := &cobra.Command{
		Use: "start TASK|-", Short: "Begin a team's work on a task, and stay with it until it is done",
		Long: `Begin a team's work on a task, and stay with it until it is done (exit 0), a person
has to decide something (5), or it was given up (1, 3) or stopped (130).`,
		Args: args(cobra.MaximumNArgs(1), "put the task in quotes"),
		RunE: func(c *cobra.Command, a []string) error {
			if o.given = len(a) == 1; o.given {
				o.task = a[0]
			}
			return teamStart(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "read the participants of this `folder`, such as .autodev/participants")
	f.StringVar(&o.mode, "mode", "", "what participants may do that do not say it: read, ask, edit or full (default edit)")
	f.IntVar(&o.rules.MaxIterations, "max-iterations", o.rules.MaxIterations, "pause after so many rounds; 0 is no bound")
	f.DurationVar(&o.rules.MaxRuntime, "max-runtime", o.rules.MaxRuntime, "pause after so much `time` in rounds; sleep is not counted")
	f.DurationVar(&o.rules.MaxWait, "max-wait", o.rules.MaxWait, "how `long` one participant may ask to wait in a row")
	f.BoolVar(&o.fore, "foreground", false, "be the server inside this command, for CI and containers")
	f.BoolVar(&o.detach, "detach", false, "print the thread and leave; `attach` shows it")
	f.BoolVar(&o.json, "json", false, "print events as JSON, one a line")
	return c
}

func teamStart(ctx context.Context, o *teamStartOptions) error {
	switch r := o.rules; {
	case o.detach && o.fore:
		return usage("--foreground serves inside this command and --detach leaves it", "use one of them")
	case r.MaxIterations < 0 || r.MaxRuntime < 0 || r.MaxWait < 0:
		return usage("a bound cannot be negative", "0 is no bound")
	}
	task, err := readPrompt(o.task, o.given, o.in)
	if err != nil {
		return err
	}
	dir, tree, from, err := o.place()
	if err != nil {
		return err
	}
	policy, err := (&runOptions{streams: o.streams, mode: o.mode}).load(dir)
	if err != nil {
		return err
	}
	p := newPrinter(o.streams, o.json)
	l, err := o.connect(ctx, o.fore, p.note)
	if err != nil {
		return err
	}
	ask := api.Team{Dir: dir, Tree: tree, From: from, Task: task, Rules: o.rules, Policy: policy, Client: o.client(policy, o.detach || p.tty != nil)}
	var got api.Accepted
	err = l.trusting(ctx, p, false, func(digest string) (err error) {
		ask.Trust = digest
		got, err = l.conn.BeginTeam(ctx, ask)
		return err
	})
	switch {
	case err != nil:
	case o.detach && o.json:
		err = json.NewEncoder(o.out).Encode(got)
	case o.detach:
		_, err = fmt.Fprintln(o.out, got.Thread)
	default:
		p.note(fmt.Sprintf("%s · a team at work, %s mode where nothing else is said.", got.Thread, got.Mode))
		err = watchTeam(ctx, l, p, got)
	}
	return errors.Join(err, l.close())
}

// watchTeam shows a team's rounds until nothing goes on by itself. Ctrl-C stops
// it.
func watchTeam(ctx context.Context, l *link, p *printer, got api.Accepted) error {
	lasting, over := l.lasting(ctx, func(ctx context.Context) error {
		_, err := l.conn.Tell(ctx, got.Thread, supervisor.Word{What: "stop"}, api.Client{})
		return err
	})
	defer over()
	code, said := -1, ""
	err := l.follow(lasting, got.Thread, got.After, p.tty != nil, func(e supervisor.Event) bool {
		if e.Event == "finished" && e.Message == "" && e.Exit != nil {
			code = *e.Exit // a round's own ending is a step, and not the team's
			if said == e.Text && !p.json {
				e.Text = ""
			}
			p.ended(e)
		} else if e.Event != "finished" || p.json {
			p.feed(e)
		}
		if e.Event == "announcement" {
			said = e.Text
		}
		return true
	})
	p.close()
	switch {
	case errors.Is(context.Cause(lasting), errHangup):
		return exitCode(128 + int(syscall.SIGHUP))
	case err != nil:
		return err
	case code < 0:
		if code, err = l.rested(ctx, got.Thread); err != nil {
			return err
		}
	}
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

// rested is the exit code of a team of which nothing more is told.
func (l *link) rested(ctx context.Context, id paceline.ThreadID) (int, error) {
	st, err := l.open(context.WithoutCancel(ctx))
	if err != nil {
		return 0, err
	}
	defer st.Close()
	s, err := st.Team(context.WithoutCancel(ctx), id)
	return teamCode(s), err
}

// ended says how a team's run came to rest.
func (p *printer) ended(e supervisor.Event) {
	if p.json {
		p.feed(e)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
	if e.Text != "" {
		p.say("%s.", e.Text)
	}
	if e.Hint != "" {
		p.say("  %s", e.Hint)
	}
}

// teamCode is the exit code of a team that does not go on by itself.
func teamCode(s team.State) int {
	switch {
	case s.Phase == team.Finished:
		return 0
	case s.Phase == team.Stopped:
		return exitStopped
	case s.Gate != nil, s.Phase == team.Paused:
		return exitPerson
	}
	return 0
}

// since is a time for people, in the log.
func since(t time.Time) string { return t.Local().Format("15:04:05") }
