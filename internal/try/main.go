// Command try runs the main job with no account at all: the real Claude Code
// hits its usage limit, the real Codex takes the prompt over and writes the
// file. The vendors are scripted and on loopback; where root allows it, there is
// no other network.
//
// It writes nothing outside the checkout, and leaves nothing running.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := try(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "try:", err)
		stop()
		os.Exit(1)
	}
}

const prompt = "Write a file named hello.txt that greets the reader."

func try(ctx context.Context) error {
	if done, err := alone(ctx); done || err != nil {
		return err
	}
	checkout, err := os.Getwd()
	if err != nil {
		return err
	}
	dir := filepath.Join(checkout, ".try")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	project, home := filepath.Join(dir, "project"), filepath.Join(dir, "home")
	for _, d := range []string{filepath.Join(project, ".git"), home, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	step("starting the scripted vendors on loopback")
	file := filepath.Join(project, "hello.txt")
	vendors, err := fakeapi.Start(ctx, fakeapi.Script{
		Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(2*time.Hour + 10*time.Minute)}),
		OpenAI: fakeapi.Steps(
			fakeapi.Write(file, "Hello, reader.\n"),
			fakeapi.Text{Text: "I wrote hello.txt; it greets the reader.", Chunks: 6},
		),
	})
	if err != nil {
		return err
	}
	defer vendors.Close()
	env, err := environment(vendors, checkout, dir, home)
	if err != nil {
		return err
	}
	paceline := func(args ...string) error {
		fmt.Printf("\n$ paceline %s\n", quoted(args))
		cmd := exec.CommandContext(ctx, filepath.Join(checkout, "bin", "paceline"), args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = project, env, os.Stdout, os.Stdout
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		return cmd.Run()
	}
	step("running the main job with the real Claude Code and the real Codex")
	began := time.Now()
	if err := paceline("run", "--foreground", "--chain", "claude,codex", prompt); err != nil {
		return fmt.Errorf("the run did not end well: %w", err)
	}
	took := time.Since(began)
	for _, args := range [][]string{{"why", "-c"}, {"status"}} {
		if err := paceline(args...); err != nil {
			return err
		}
	}
	return verify(vendors, file, home, took)
}

// verify looks at what is left, rather than at what was said.
func verify(vendors *fakeapi.Server, file, home string, took time.Duration) error {
	fmt.Println()
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("codex did not write the file: %w", err)
	}
	asked := map[fakeapi.Vendor]int{}
	for _, r := range vendors.Requests() {
		if r.Main && r.Opens && !r.Retry {
			asked[r.Vendor]++
		}
	}
	if asked[fakeapi.Anthropic] != 1 || asked[fakeapi.OpenAI] != 1 {
		return fmt.Errorf("the prompt arrived %d times at claude's vendor and %d times at codex's, not once each",
			asked[fakeapi.Anthropic], asked[fakeapi.OpenAI])
	}
	left, err := running(home)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("left running: %s", strings.Join(left, ", "))
	}
	fmt.Printf("The file holds %q. The prompt arrived once at each vendor. It took %.1fs, and nothing is left running.\n",
		strings.TrimSpace(string(text)), took.Seconds())
	return nil
}

// environment is a new user's, whose programs are the pinned ones and whose
// accounts are made up.
func environment(vendors *fakeapi.Server, checkout, dir, home string) ([]string, error) {
	claude, err := vendors.ClaudeEnv(home)
	if err != nil {
		return nil, err
	}
	codex, err := vendors.CodexEnv(home)
	if err != nil {
		return nil, err
	}
	env := append(claude, codex...)
	return append(env,
		"HOME="+home, "TMPDIR="+filepath.Join(dir, "tmp"), "LANG=C.UTF-8", "TZ="+os.Getenv("TZ"),
		"PATH="+filepath.Join(checkout, "node_modules", ".bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"PACELINE_STATE="+filepath.Join(dir, "state"),
	), nil
}

// running lists processes that carry a run's marker and this rehearsal's home.
func running(home string) ([]string, error) {
	var left []string
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left = nil
		procs, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			return nil, err
		}
		for _, p := range procs {
			b, err := os.ReadFile(p)
			if err == nil && strings.Contains(string(b), "PACELINE_RUN=") && strings.Contains(string(b), "HOME="+home+"\x00") {
				left = append(left, filepath.Base(filepath.Dir(p)))
			}
		}
		if len(left) == 0 || time.Now().After(until) {
			return left, nil
		}
	}
}

// alone starts this program again in a network namespace that holds loopback
// and nothing else, where root allows that. It reports whether the other one
// did the work.
func alone(ctx context.Context) (done bool, err error) {
	if os.Geteuid() != 0 || os.Getenv("PACELINE_TRY_ALONE") != "" {
		return false, raise()
	}
	self, err := os.Executable()
	if err != nil {
		return false, nil
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), "PACELINE_TRY_ALONE=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	isolate(cmd)
	err = cmd.Start()
	if err != nil {
		step("this machine allows no network namespace; the programs could reach the network, and have no reason to")
		return false, nil
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	return true, err
}

func step(text string) { fmt.Printf("· %s\n", text) }

func quoted(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		if out[i] = a; strings.Contains(a, " ") {
			out[i] = `"` + a + `"`
		}
	}
	return strings.Join(out, " ")
}
