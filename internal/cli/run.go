package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/daemon"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/supervisor"
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
}

func newRun(s *streams) *cobra.Command {
	o := &runOptions{streams: s}
	c := &cobra.Command{
		Use:   "run [PROMPT|-]",
		Short: "Send a message and stay with it until it is answered",
		Long: `Send a message and stay with it until it is answered, through failover.

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
	f.BoolVar(&o.fore, "foreground", false, "serve it inside this command (the only way in this build)")
	f.BoolVar(&o.json, "json", false, "print events as JSON, one a line")
	return c
}

func runRun(ctx context.Context, o *runOptions) error {
	if o.last && o.thread != "" {
		return usage("-c and -t name two threads", "use one of them")
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
	state, err := daemon.StateDir(o.environ)
	if err != nil {
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
	d, err := daemon.Open(ctx, daemon.Options{
		State: state, Environ: o.environ, Pass: policy.Pass, Version: ourVersion(), Feed: p.feed, Ask: p.ask,
	})
	if err != nil {
		return err
	}
	defer d.Close()
	th, err := o.pick(ctx, d, dir, policy, prompt, again)
	if err != nil {
		return err
	}
	p.follow(th.ID)
	if !again {
		o.announce(p, th, policy)
	}
	if prompt != "" {
		m := paceline.Message{
			ID: paceline.MessageID(store.NewID("m")), Thread: th.ID, Kind: paceline.KindPrompt, Sender: "user",
			Text: prompt, UUID: harness.UUID(), At: time.Now(), Opener: !again,
		}
		if strings.HasPrefix(strings.TrimSpace(prompt), "/") {
			m.Kind = paceline.KindSlash
		}
		if err := d.Sup.Accept(ctx, &th, m); err != nil {
			return err
		}
	}
	left, err := d.CarryOn(ctx, th.ID)
	if err != nil {
		return err
	}
	for _, id := range left {
		p.note(fmt.Sprintf("Also carrying on %s, which was left open by a paceline that died.", id))
	}
	if err := d.Sup.Serve(ctx, th.ID); err != nil {
		return err
	}
	p.close()
	d.Wait()
	return o.outcome(ctx, d.Store, th.ID)
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

// pick finds the thread, or makes a new one in this directory.
func (o *runOptions) pick(ctx context.Context, d *daemon.Daemon, dir string, policy config.Policy, prompt string, again bool) (store.Thread, error) {
	if again {
		return pickThread(ctx, d.Store, o.thread, o.last, harness.Tree(dir))
	}
	chain := policy.Chain
	if len(chain) == 0 {
		e, err := o.firstEngine(ctx, d, policy)
		if err != nil {
			return store.Thread{}, err
		}
		chain = []paceline.Engine{e}
	}
	if err := usable(chain, policy, harness.Children(o.environ, policy.Pass)); err != nil {
		return store.Thread{}, err
	}
	now := time.Now()
	th := store.Thread{
		ID: paceline.ThreadID(store.NewID("t")), Dir: dir, Tree: harness.Tree(dir), Title: titled(prompt),
		Mode: policy.Mode, Chain: chain, Created: now, Updated: now,
	}
	err := th.SetPolicy(policy)
	return th, err
}

// firstEngine is the first harness, in the order claude, codex, that is
// installed and signed in.
func (o *runOptions) firstEngine(ctx context.Context, d *daemon.Daemon, policy config.Policy) (paceline.Engine, error) {
	var notes []string
	installed := false
	for _, h := range harness.All() {
		a, ok := policy.Accounts[h.Name()]
		if !ok || a.Disabled {
			continue
		}
		p := d.Sup.Look(ctx, h, a)
		if p.Note == "" {
			return paceline.Engine{Account: a.Name}, nil
		}
		installed = installed || !errors.Is(findErr(h, harness.Children(o.environ, policy.Pass)), harness.ErrNotInstalled)
		notes = append(notes, h.Name()+": "+p.Note)
	}
	for _, name := range harness.Stray(o.environ) {
		notes = append(notes, name+" is set, but not used: it would spend by the token. Declare an account with posture = \"metered\" and key_env = \""+name+"\" to allow it")
	}
	code := exitSignIn
	if !installed {
		code = exitUsage
	}
	return paceline.Engine{}, &UserError{Msg: "no engine is ready", Hint: strings.Join(notes, "\n"), Code: code}
}

func findErr(h harness.Harness, env harness.Environment) error {
	_, err := h.Find(env)
	return err
}

// usable refuses a chain of which nothing is installed.
func usable(chain []paceline.Engine, policy config.Policy, env harness.Environment) error {
	var notes []string
	for _, e := range chain {
		a := policy.Accounts[e.Account]
		h, ok := harness.Named(a.Harness)
		switch {
		case !ok:
			notes = append(notes, fmt.Sprintf("%s: this build does not drive %q", e, a.Harness))
		case a.Disabled:
			notes = append(notes, fmt.Sprintf("%s is disabled", e))
		case findErr(h, env) != nil:
			notes = append(notes, fmt.Sprintf("%s is not installed: %s", e, h.Install()))
		default:
			return nil
		}
	}
	return &UserError{Msg: "nothing in the chain can be used", Hint: strings.Join(notes, "\n"), Code: exitUsage}
}

// announce says, before anything starts, who serves and what happens at a
// limit.
func (o *runOptions) announce(p *printer, th store.Thread, policy config.Policy) {
	if p.json {
		return
	}
	names := make([]string, len(th.Chain))
	for i, e := range th.Chain {
		names[i] = e.String()
	}
	if len(names) == 1 {
		other := "codex"
		if th.Chain[0].Account == "codex" {
			other = "claude"
		}
		p.note(fmt.Sprintf("%s · %s on %s, %s mode. At its limit this run ends with its reset time; --chain %s,%s would go on.",
			th.ID, "run", names[0], th.Mode, names[0], other))
		return
	}
	p.note(fmt.Sprintf("%s · run on %s, then %s; %s mode.", th.ID, names[0], strings.Join(names[1:], ", then "), th.Mode))
	if !policy.Fallback.Enabled {
		p.note("Failover is switched off (fallback.enabled = false).")
	}
}

// outcome is the exit code of the thread's last message.
func (o *runOptions) outcome(ctx context.Context, st *store.Store, id paceline.ThreadID) error {
	messages, err := st.Messages(context.WithoutCancel(ctx), id)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		return nil
	}
	if status := messages[len(messages)-1].Status; status != run.Answered {
		return exitCode(supervisor.Exit(status))
	}
	return nil
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
