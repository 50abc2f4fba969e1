package daemon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/supervisor"
)

// starting is how long a server may take to answer. The one before it may still
// be ending what it ran.
const starting = 30 * time.Second

// Find returns a way to the server that runs, or api.ErrNobody.
func Find(ctx context.Context, state, version string) (*api.Conn, api.Info, error) {
	c := api.Dial(Socket(state), version)
	i, err := c.Info(ctx)
	return c, i, err
}

// Start returns a way to the server, which is started where there is none.
func Start(ctx context.Context, o Options) (*api.Conn, api.Info, error) {
	c, i, err := Find(ctx, o.State, o.Version)
	if err == nil || ctx.Err() != nil {
		return c, i, err
	}
	if err := own(o.State); err != nil {
		return nil, i, err
	}
	deadline := time.Now().Add(starting)
	var died <-chan error
	var again time.Time // when to start one, where nobody answers
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		if died == nil && time.Now().After(again) {
			if died, err = spawn(o); err != nil {
				return nil, i, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, i, ctx.Err()
		case why := <-died:
			if why != nil {
				return nil, i, why
			}
			// Another one was quicker, or is just leaving.
			died, again = nil, time.Now().Add(200*time.Millisecond)
		case <-time.After(wait):
		}
		if i, err = c.Info(ctx); err == nil {
			return c, i, nil
		}
		if time.Now().After(deadline) {
			return nil, i, &supervisor.Refusal{
				Msg: "the server does not answer", Code: 1,
				Hint: "`paceline serve` in another terminal shows why; `--foreground` does without it",
			}
		}
	}
}

// spawn starts a server in the background. What it says is in server.err, and
// comes back where it failed; nil is one that left because it is not needed.
func spawn(o Options) (<-chan error, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own binary: %w", err)
	}
	said, err := os.OpenFile(filepath.Join(o.State, "server.err"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	defer said.Close()
	begin, _ := said.Seek(0, 2)
	cmd := exec.Command(self, "serve", "--auto")
	cmd.Dir, cmd.Stderr = o.State, said
	// It outlives this terminal, and keeps nothing of this shell but what a server
	// may need to find its way.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = harness.Children(o.Environ, nil).With("PACELINE_STATE=" + o.State)
	for _, kv := range o.Environ {
		if strings.HasPrefix(kv, "PACELINE_") && !strings.HasPrefix(kv, "PACELINE_RUN=") && !strings.HasPrefix(kv, "PACELINE_STATE=") {
			cmd.Env = append(cmd.Env, rooted(kv))
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	died := make(chan error, 1)
	go func() {
		if cmd.Wait() == nil {
			died <- nil
			return
		}
		died <- failure(filepath.Join(o.State, "server.err"), begin)
	}()
	return died, nil
}

// rooted is a variable as it reads from another folder: the server does not work
// in its starter's.
func rooted(kv string) string {
	file, ok := strings.CutPrefix(kv, "PACELINE_CONFIG=")
	if !ok || file == "" || strings.HasPrefix(file, "~/") {
		return kv
	}
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	return "PACELINE_CONFIG=" + file
}

// failure is what a server that could not start said last.
func failure(path string, from int64) error {
	b, err := os.ReadFile(path)
	if err == nil && int64(len(b)) > from {
		b = b[from:]
	}
	msg, hint, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if msg = strings.TrimPrefix(msg, "paceline: "); msg == "" {
		msg = "the server ended at once"
	}
	return &supervisor.Refusal{Msg: msg, Hint: strings.TrimSpace(hint), Code: 1}
}

// Gone waits until the server of that process id has left.
func Gone(ctx context.Context, state string, pid int) error {
	c := api.Dial(Socket(state), "")
	defer c.Close()
	for {
		i, err := c.Info(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && i.Pid != pid {
			return nil // its successor answers
		}
		if err != nil {
			// The lock is given back last.
			if lock, err := take(filepath.Join(state, "server.lock")); err == nil {
				return lock.Close()
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
