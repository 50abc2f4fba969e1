package supervisor

import (
	"context"
	"log/slog"
	"os/exec"
	"syscall"
	"time"

	"github.com/paceline/paceline/internal/logkey"
	"github.com/paceline/paceline/internal/store"
)

// notifying bounds the operator's command. Nothing waits for it.
const notifying = 10 * time.Second

// notable is the line that the operator's command is given for an event; ""
// where it is not told of it. A night that blocks must not be silent until the
// morning.
func notable(e Event) string {
	switch e.Event {
	case "failover", "rollover":
		return "Switched to " + e.ToEngine + " after " + e.FromEngine + " " + e.Why + "."
	case "home":
		return "Back on " + e.Engine + "."
	case "waiting":
		if e.Until == nil {
			return ""
		}
		return "Waiting until " + e.Until.Local().Format("2 Jan 15:04 MST") + "."
	case "finished":
		if e.Text != "" {
			return "Finished: " + e.Status + ": " + e.Text + "."
		}
		return "Finished: " + e.Status + "."
	}
	return ""
}

// commit writes what do does, with the events that it returns, and has the
// operator told of them.
func (o *owner) commit(ctx context.Context, do func(tx *store.Tx) ([]Event, error)) error {
	var told []Event
	err := o.journal.commit(ctx, o.thread.ID, func(tx *store.Tx) (_ []Event, err error) {
		told, err = do(tx)
		return told, err
	})
	if err == nil {
		o.notify(told)
	}
	return err
}

// notify runs the operator's command for what it is to be told of: in a session
// of its own, with the line as its argument, and what happened in its
// environment. Prompts and answers are not among it.
func (o *owner) notify(told []Event) {
	if o.policy.Notify == "" {
		return
	}
	for _, e := range told {
		line := notable(e)
		if line == "" || o.lane.who != "" && e.Event == "finished" && e.Message != "" { // a round of many
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), notifying)
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", o.policy.Notify+` "$1"`, "sh", line)
		cmd.Dir, cmd.WaitDelay = o.Dir, time.Second
		cmd.Env = o.Env.With("PACELINE_EVENT="+e.Event, "PACELINE_THREAD="+string(e.Thread), "PACELINE_STATUS="+e.Status)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		go func() {
			defer cancel()
			if err := cmd.Run(); err != nil {
				o.Log.LogAttrs(ctx, slog.LevelWarn, "the notify command failed", slog.String(logkey.Event, e.Event), slog.Any(logkey.Error, err))
			}
		}()
	}
}
