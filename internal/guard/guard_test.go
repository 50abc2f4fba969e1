//go:build linux

package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// TestMain makes this binary three things: the tests, the guard that they start,
// and the badly behaved programs that the guard has to end.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guard" {
		unix.Exit(Main(os.Args[2:])) // at once: under the race detector os.Exit takes a second
	}
	if len(os.Args) > 2 && os.Args[1] == "as" {
		unix.Exit(roles[os.Args[2]](os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

var roles = map[string]func(args []string) int{
	"server":   server,
	"headless": headless,
	"try":      try,
	"signals":  signals,
	"flood": func([]string) int {
		line := []byte(strings.Repeat("x", 99) + "\n")
		for range flood / len(line) {
			os.Stdout.Write(line)
		}
		return 7
	},
}

const flood = 50_000_000

// server starts what its standard input says, and then does nothing until it
// is killed. It ignores what a server ignores.
func server([]string) int {
	signal.Ignore(unix.SIGHUP, unix.SIGINT)
	var s Spec
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		return 1
	}
	c, err := Start(self(), s)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(c.Pid(), c.cmd.Process.Pid)
	io.Copy(io.Discard, c.Stdout)
	return 0
}

// headless writes from a second thread after its first has ended: to whoever
// looks only at the process, it is a zombie.
func headless(args []string) int {
	if unix.Gettid() != os.Getpid() {
		return 1
	}
	// The processor of a thread that ends so is lost to the runtime: the other
	// one must run, on another, before.
	runtime.LockOSThread()
	runtime.GOMAXPROCS(4)
	begun := make(chan struct{})
	go func() {
		close(begun)
		for range 9999 {
			f, _ := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			f.WriteString("x\n")
			f.Close()
			time.Sleep(5 * time.Millisecond)
		}
		unix.Exit(0)
	}()
	<-begun
	unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	return 1
}

func signals([]string) int {
	status, _ := os.ReadFile("/proc/self/status")
	os.Stdout.Write(status)
	return 0
}

func self() string {
	bin, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return bin
}

var runs atomic.Int64

// order is a Spec that runs a shell script in a folder of its own.
func order(t *testing.T, script string) Spec {
	t.Helper()
	dir := t.TempDir()
	return Spec{
		Run: fmt.Sprintf("r%d-%d", os.Getpid(), runs.Add(1)), Dir: dir, Lock: filepath.Join(dir, "lock"),
		Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "SELF=" + self()},
		Grace: Grace{Interrupt: 200 * time.Millisecond, Term: 200 * time.Millisecond},
	}
}

func start(t *testing.T, s Spec) *Child {
	t.Helper()
	c, err := Start(self(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill(t.Context())
		kill(t, c)
		if _, err := Sweep(s.Run); err != nil {
			t.Error(err)
		}
		c.Stdout.Close()
		if said, _ := io.ReadAll(c.Stderr); strings.Contains(string(said), "DATA RACE") {
			t.Errorf("the guard races:\n%s", said)
		}
		c.Stderr.Close()
	})
	return c
}

func kill(t *testing.T, c *Child) Ended {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	e, err := c.Kill(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); !is(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("never came: %s", what)
		}
	}
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// write is a shell loop that writes to a file a hundred times a second; should a
// broken guard let it escape, not for ever.
func write(file string) string {
	return `i=0; while [ $((i=i+1)) -lt 9999 ]; do echo x >>` + file + `; sleep 0.01; done`
}

// hidden starts a script where no process group, session or parent leads to it.
func hidden(script string) string { return `(setsid sh -c '` + script + `' </dev/null &)` }

// tick passes when another process had the time to write some thirty times.
func tick(t *testing.T) {
	t.Helper()
	f := filepath.Join(t.TempDir(), "tick")
	cmd := exec.Command("sh", "-c", write(f))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	eventually(t, "a tick", func() bool { return size(f) >= 60 })
}

func sizes(dir string, files ...string) string {
	var out []string
	for _, f := range files {
		out = append(out, f+"="+strconv.FormatInt(size(filepath.Join(dir, f)), 10))
	}
	return strings.Join(out, " ")
}

func written(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		eventually(t, "a few lines in "+f, func() bool { return size(filepath.Join(dir, f)) > 6 })
	}
}

func marks(run string) []proc {
	s := search{entry: Marker + "=" + run}
	for until := time.Now().Add(unsure); ; {
		if found, sure := s.look(); sure || len(found) > 0 || time.Now().After(until) {
			return found
		}
	}
}

func held(t *testing.T, s Spec) bool {
	t.Helper()
	h, err := Held(s.Lock)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func names(ps []Process) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}
