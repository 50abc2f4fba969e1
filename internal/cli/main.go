// Package cli is the commands: a file a command, each with its options, a
// constructor and a function that runs it.
//
// What a command was asked for goes to stdout, and nothing else: an answer, a
// table, JSON. Everything that is said about it goes to stderr. An error says
// what happened, then what to try, and never prints a stack.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/guard"
)

// streams are a command's three files, and what it knows of its surroundings.
type streams struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
}

// Main runs one command line and returns its exit code.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	if len(args) > 0 && args[0] == "guard" {
		return guard.Main(args[1:]) // before anything else is set up: it is started for every child
	}
	// A lost terminal is no reason to lose the night's work.
	signal.Ignore(syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends us at once
	}()
	s := &streams{in: in, out: out, err: errw, environ: os.Environ()}
	root := newRoot(s)
	root.SetArgs(args)
	return s.exit(root.ExecuteContext(ctx))
}

func newRoot(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "paceline",
		Short: "Keep AI coding-agent work going",
		Long: `Paceline runs a prompt on Claude Code or Codex and keeps it going: when the
engine hits its limit, is signed out or cannot be reached before it did any
work, the same prompt goes once to the next engine of your chain.

  paceline run "fix the failing test" --chain claude,codex
  paceline why -c`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage(err.Error(), fmt.Sprintf("`%s --help` lists the flags", c.CommandPath()))
	})
	root.AddCommand(
		newRun(s), newTeam(s), newAttach(s), newSend(s), newSteer(s), newStop(s), newApprove(s), newDeny(s), newReconcile(s),
		newHandover(s), newHome(s), newPark(s),
		newThreads(s), newShow(s), newWhy(s), newStatus(s), newLimits(s), newHealth(s), newReport(s),
		newDoctor(s), newInit(s), newTrust(s), newReplay(s), newNotice(s), newConfig(s), newServe(s), newServer(s), newVersion(s),
	)
	return root
}

// args wraps a cobra argument check so that its complaint is a usage error.
func args(check cobra.PositionalArgs, hint string) cobra.PositionalArgs {
	return func(c *cobra.Command, a []string) error {
		if err := check(c, a); err != nil {
			return usage(err.Error(), hint)
		}
		return nil
	}
}

// exit prints what went wrong and returns the exit code.
func (s *streams) exit(err error) int {
	if err == nil {
		return 0
	}
	var silent exitCode
	if errors.As(err, &silent) {
		return int(silent)
	}
	var ue *UserError
	if !errors.As(err, &ue) {
		ue = explain(err)
	}
	fmt.Fprintf(s.err, "paceline: %s\n", ue.Msg)
	for line := range strings.Lines(ue.Hint) {
		fmt.Fprintf(s.err, "  %s\n", strings.TrimRight(line, "\n"))
	}
	return ue.Code
}
