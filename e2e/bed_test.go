// Package e2e drives the whole of Paceline: the real binary, the real Claude
// Code and the real Codex, real files, processes and signals. Only the vendors
// are scripted, on a network that holds loopback alone.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

const inside = "PACELINE_E2E_INSIDE"

// binary is the paceline under test, built with its crash points.
var binary string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agy" {
		os.Exit(fakeapi.Agy(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == "stand-in" {
		deltas, _ := strconv.Atoi(os.Args[2])
		if err := fakeapi.StandIn(os.Stdin, os.Stdout, deltas); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if code, moved := alone(); moved {
		os.Exit(code)
	}
	code := func() int {
		dir, err := os.MkdirTemp("", "paceline-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		defer database.Stop()
		binary = filepath.Join(dir, "paceline")
		build := exec.Command("go", "build", "-tags", "crashpoints", "-o", binary, "../cmd/paceline")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build paceline: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}()
	os.Exit(code)
}

// alone runs these tests again in a network of their own, where root allows it.
// The module proxy is out of reach there, so everything must be built before.
func alone() (code int, moved bool) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 || os.Getenv(inside) != "" || exec.Command("unshare", "-n", "true").Run() != nil {
		return 0, false
	}
	if out, err := exec.Command("go", "mod", "download").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "download modules: %v\n%s", err, out)
		return 1, true
	}
	cmd := exec.Command("unshare", append([]string{"-n", "sh", "-c", `ip link set lo up 2>/dev/null || ifconfig lo up || exit 97; exec "$@"`, "sh", os.Args[0]}, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case err == nil:
		return 0, true
	case errors.As(err, &exit) && exit.ExitCode() == 97:
		return 0, false
	case errors.As(err, &exit):
		return exit.ExitCode(), true
	}
	return 1, true
}

// bed is one user: a home, a project, made-up accounts, scripted vendors.
type bed struct {
	t       *testing.T
	vendors *fakeapi.Server
	dir     string
	project string
	env     []string
	// server has `run` use the server in the background. Otherwise it is the
	// server itself, so that a test can kill the one with the other.
	server bool
	// waits has `run` wait where no engine can serve. Most tests want to see what
	// happens at once.
	waits bool
	// between is what happens between a server's death and the next one; nil is
	// nothing.
	between func()
}

func newBed(t *testing.T, script fakeapi.Script) *bed {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "node_modules", ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "claude")); err != nil {
		t.Skip("not run: the pinned CLIs are not installed; `make test` installs them")
	}
	dir := t.TempDir()
	b := &bed{t: t, dir: dir, project: filepath.Join(dir, "project")}
	home := filepath.Join(dir, "home")
	for _, d := range []string{filepath.Join(b.project, ".git"), home, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if b.vendors, err = fakeapi.Start(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.vendors.Close() })
	claude, err := b.vendors.ClaudeEnv(home)
	if err != nil {
		t.Fatal(err)
	}
	codex, err := b.vendors.CodexEnv(home)
	if err != nil {
		t.Fatal(err)
	}
	b.env = slices.Concat(claude, codex, []string{
		"HOME=" + home, "TMPDIR=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8", "TZ=UTC",
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"PACELINE_STATE=" + filepath.Join(dir, "state"),
	})
	t.Cleanup(b.quiet)
	return b
}

// quiet checks that nothing of this user is left running.
func (b *bed) quiet() {
	left := b.marked()
	for until := time.Now().Add(20 * time.Second); len(left) > 0 && time.Now().Before(until); left = b.marked() {
		time.Sleep(50 * time.Millisecond)
	}
	for _, p := range left {
		b.t.Errorf("left running: %d %s", p.pid, p.cmd)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

type process struct {
	pid int
	cmd string
}

// marked lists the processes that carry a run's marker and this user's home.
func (b *bed) marked() (out []process) {
	procs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range procs {
		env, err := os.ReadFile(p)
		if err != nil || !bytes.Contains(env, []byte("PACELINE_RUN=")) || !bytes.Contains(env, []byte("HOME="+filepath.Join(b.dir, "home")+"\x00")) {
			continue
		}
		var pid int
		fmt.Sscanf(filepath.Base(filepath.Dir(p)), "%d", &pid)
		cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		out = append(out, process{pid, strings.ReplaceAll(string(cmd), "\x00", " ")})
	}
	return out
}

// result is what one command came to.
type result struct {
	code     int
	out, err string
}

func (r result) String() string { return fmt.Sprintf("exit %d\n%s\n%s", r.code, r.out, r.err) }

func (b *bed) command(ctx context.Context, args ...string) (*exec.Cmd, *buffer, *buffer) {
	if args[0] == "run" && !b.server {
		args = slices.Insert(slices.Clone(args), 1, "--foreground")
	}
	if args[0] == "run" && !b.waits {
		args = slices.Insert(slices.Clone(args), 1, "--no-wait")
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	out, errs := &buffer{}, &buffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.project, slices.Clone(b.env), out, errs
	cmd.WaitDelay = 5 * time.Second
	return cmd, out, errs
}

// paceline runs one command to its end.
func (b *bed) paceline(args ...string) result { return b.with(nil, nil, args...) }

// with runs one command with more variables and something on its stdin.
func (b *bed) with(env []string, stdin io.Reader, args ...string) result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 3*time.Minute)
	defer cancel()
	cmd, out, errs := b.command(ctx, args...)
	cmd.Env, cmd.Stdin = append(cmd.Env, env...), stdin
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		b.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// want runs a command that must end with this code.
func (b *bed) want(code int, args ...string) result {
	b.t.Helper()
	r := b.paceline(args...)
	if r.code != code {
		b.t.Fatalf("paceline %s: want exit %d, got %s", strings.Join(args, " "), code, r)
	}
	return r
}

// has fails unless a text holds all the parts.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing from:\n%s", p, text)
		}
	}
}

// lacks fails if a text holds any of the parts.
func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%q should not be in:\n%s", p, text)
		}
	}
}

// sent counts how often a vendor was given the prompt as a prompt. A program's
// own retries of the same request are not deliveries.
func (b *bed) sent(v fakeapi.Vendor, prompt string) (n int) {
	for _, r := range b.vendors.Requests() {
		if r.Main && r.Opens && !r.Retry && r.Vendor == v && strings.Contains(r.Prompt, prompt) {
			n++
		}
	}
	return n
}

// once fails unless the prompt arrived so often at each vendor.
func (b *bed) once(prompt string, claude, codex int) {
	b.t.Helper()
	if got := b.sent(fakeapi.Anthropic, prompt); got != claude {
		b.t.Errorf("the prompt arrived %d times at claude's vendor, want %d", got, claude)
	}
	if got := b.sent(fakeapi.OpenAI, prompt); got != codex {
		b.t.Errorf("the prompt arrived %d times at codex's vendor, want %d", got, codex)
	}
}

// repository makes the project a real one, whose tree can be looked at.
func (b *bed) repository() {
	b.t.Helper()
	if err := os.RemoveAll(filepath.Join(b.project, ".git")); err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command("git", "init", "-q", b.project)
	cmd.Env = b.env
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
}

func (b *bed) path(name string) string { return filepath.Join(b.project, name) }

func (b *bed) file(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// shown is the part of `show --json` that tests look at.
type shown struct {
	Messages []struct {
		Status string `json:"status"`
	} `json:"messages"`
	Runs []struct {
		ID           string `json:"id"`
		Phase        string `json:"phase"`
		Conversation string `json:"conversation"`
		Work         string `json:"work"`
		Engine       struct {
			Account string `json:"account"`
		} `json:"engine"`
		Claim struct {
			Phase string `json:"phase"`
			Why   string `json:"why"`
		} `json:"claim"`
		Failure *struct {
			Cause string `json:"cause"`
			Reset struct {
				At     time.Time `json:"at"`
				Source string    `json:"source"`
			} `json:"reset"`
		} `json:"failure"`
	} `json:"runs"`
}

func (b *bed) show() (s shown) {
	b.t.Helper()
	r := b.want(0, "show", "-c", "--json")
	if err := json.Unmarshal([]byte(r.out), &s); err != nil {
		b.t.Fatalf("%v in %s", err, r.out)
	}
	return s
}

// buffer may be read while a process writes to it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
