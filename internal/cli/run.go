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
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/store"
)

type runOptions struct {
	*streams
	prompt string
	given  bool

	thread string
	last   bool
	engine string
	chain  string
	mode   string
	cd     string
	json   bool
	fore   bool
	detach bool
	noWait bool
	most   time.Duration
}

func newRun(s *streams) *cobra.Command {
	o := &runOptions{streams: s}
	c := &cobra.Command{
		Use:   "run [PROMPT|-]",
		Short: "Send a message and stay with it until it is answered",
		Long: `Send a message and stay with it until it is answered, through failover,
waiting and return.

Without -t or -c a new thread begins in this directory. With them and without
a prompt, a thread that was left open is carried on.`,
		Example: `  paceline run "fix the failing test" --chain claude,codex
  paceline run - < task.md
  paceline run -c "now add a test for it"`,
		Args: args(cobra.MaximumNArgs(1), "put the prompt in quotes"),
		RunE: func(c *cobra.Command, a []string) error {
			if o.given = len(a) == 1; o.given {
				o.prompt = a[0]
			}
			return runRun(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.thread, "thread", "t", "", "send it to this `thread`")
	f.BoolVarP(&o.last, "continue", "c", false, "send it to the last thread of this directory")
	f.StringVarP(&o.engine, "engine", "e", "", "run on this `engine` and no other")
	f.StringVar(&o.chain, "chain", "", "the `engines` that may serve, in order: claude,codex")
	f.StringVar(&o.mode, "mode", "", "what it may do: read, ask, edit or full (default edit)")
	f.StringVar(&o.cd, "cd", "", "work in this `directory`")
	f.BoolVar(&o.fore, "foreground", false, "be the server inside this command, for CI and containers")
	f.BoolVar(&o.detach, "detach", false, "print the thread and leave; `attach` shows it")
	f.BoolVar(&o.noWait, "no-wait", false, "end where no engine can serve now (exit 3), rather than wait for one")
	f.DurationVar(&o.most, "wait-max", 0, "wait for `so long` in all: 90m, 8h")
	f.BoolVar(&o.json, "json", false, "print events as JSON, one a line")
	return c
}

func runRun(ctx context.Context, o *runOptions) error {
	if o.last && o.thread != "" {
		return usage("-c and -t name two threads", "use one of them")
	}
	if o.detach && o.fore {
		return usage("--foreground serves inside this command and --detach leaves it", "use one of them")
	}
	if o.most < 0 || o.noWait && o.most > 0 {
		return usage("--wait-max names a time to wait, and --no-wait none", "use one of them")
	}
	if o.engine != "" && o.chain != "" {
		return usage("-e pins one engine and --chain names several", "use one of them")
	}
	again := o.last || o.thread != ""
	if again && (o.engine != "" || o.chain != "" || o.mode != "") {
		return usage("a thread keeps the engines and the mode that it began with", "leave out -e, --chain and --mode, or start a new thread")
	}
	prompt, err := "", error(nil)
	if o.given || !again || !terminal(o.in) {
		prompt, err = readPrompt(o.prompt, o.given, o.in)
	}
	if err != nil && !(again && !o.given) {
		return err
	}
	dir, err := workDir(o.cd, !again && o.mode != "read")
	if err != nil {
		return err
	}
	policy, err := o.load(dir)
	if err != nil {
		return err
	}
	p := newPrinter(o.streams, o.json)
	ask := api.Prompt{ID: paceline.MessageID(store.NewID("m")), Text: prompt, Patience: o.patience(), Client: o.client(policy, o.detach || p.tty != nil)}
	if again {
		th, err := o.pick(ctx, harness.Tree(dir))
		if err != nil {
			return err
		}
		ask.Thread = th.ID
	} else {
		ask.Begin = &api.Begin{Dir: dir, Tree: harness.Tree(dir), Policy: policy}
	}
	l, err := o.connect(ctx, o.fore, p.note)
	if err != nil {
		return err
	}
	err = o.stay(ctx, l, p, ask, policy)
	return errors.Join(err, l.close())
}

// stay sends the prompt and stays with its thread until it is answered.
func (o *runOptions) stay(ctx context.Context, l *link, p *printer, ask api.Prompt, policy config.Policy) error {
	var got api.Accepted
	err := l.trusting(ctx, p, false, func(digest string) error {
		ask.Trust = digest
		return l.ask(ctx, func(c *api.Conn) (err error) {
			if ask.Text == "" {
				got.Thread = ask.Thread
				return c.Wake(ctx, ask.Thread, ask.Client)
			}
			got, err = c.Prompt(ctx, ask)
			return err
		})
	})
	if err != nil {
		return err
	}
	if ask.Begin != nil {
		o.announce(p, got, policy)
	}
	if o.detach {
		if o.json {
			return json.NewEncoder(o.out).Encode(got)
		}
		if ask.Steer && !got.Steered {
			p.note("Nothing runs that could be steered; it waits for its turn.")
		}
		_, err := fmt.Fprintln(o.out, got.Thread)
		return err
	}
	return watch(ctx, l, p, got)
}

// load reads the policy for this directory.
func (o *runOptions) load(dir string) (config.Policy, error) {
	src := config.Find(o.environ, harness.Environment(o.environ).Get("HOME"), harness.Tree(dir))
	src.Flags = config.Flags{Mode: o.mode, Engine: o.engine}
	if o.chain != "" {
		src.Flags.Chain = strings.Split(o.chain, ",")
	}
	p, _, err := config.Load(src)
	return p, err
}

// atLimit says what happens where there is one engine.
func (o *runOptions) atLimit() string {
	if o.noWait {
		return "ends with its reset time"
	}
	return "waits for its reset"
}

// patience is how long the message may wait.
func (o *runOptions) patience() time.Duration {
	if o.noWait {
		return -1
	}
	return o.most
}

// pick finds the thread that was named, or the last one of the tree.
func (o *runOptions) pick(ctx context.Context, tree string) (store.Thread, error) {
	st, err := o.open(ctx)
	if err != nil {
		return store.Thread{}, err
	}
	defer st.Close()
	return pickThread(ctx, st, o.thread, o.last, tree)
}

// announce says, before anything starts, who serves and what happens at a
// limit.
func (o *runOptions) announce(p *printer, got api.Accepted, policy config.Policy) {
	if p.json || len(got.Chain) == 0 {
		return
	}
	if names := got.Chain; len(names) == 1 {
		other := "codex"
		if strings.HasPrefix(names[0], "codex") {
			other = "claude"
		}
		p.note(fmt.Sprintf("%s · run on %s, %s mode. At its limit it %s; --chain %s,%s would go on.",
			got.Thread, names[0], got.Mode, o.atLimit(), names[0], other))
		return
	}
	p.note(fmt.Sprintf("%s · run on %s, then %s; %s mode.", got.Thread, got.Chain[0], strings.Join(got.Chain[1:], ", then "), got.Mode))
	if !policy.Fallback.Enabled {
		p.note("Failover is switched off (fallback.enabled = false).")
	}
}

// pickThread finds a thread by id, by the beginning of one, or the last one of
// a tree.
func pickThread(ctx context.Context, st *store.Store, id string, last bool, tree string) (store.Thread, error) {
	if last {
		th, err := st.LastThreadIn(ctx, tree)
		if errors.Is(err, store.ErrNotFound) {
			return th, usage("there is no thread in this directory yet", "`paceline threads` lists them all")
		}
		return th, err
	}
	threads, err := st.Threads(ctx)
	if err != nil {
		return store.Thread{}, err
	}
	var found []store.Thread
	for _, th := range threads {
		if string(th.ID) == id {
			return th, nil
		}
		if strings.HasPrefix(string(th.ID), id) {
			found = append(found, th)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return store.Thread{}, usage(fmt.Sprintf("%q fits %d threads", id, len(found)), "write more of its id")
	}
	return store.Thread{}, usage(fmt.Sprintf("there is no thread %q", id), "`paceline threads` lists them")
}
