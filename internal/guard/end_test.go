//go:build linux

package guard

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
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// writers is a tree of four that write: one plain, one in a session of its own,
// one that lost its parents, one whose first thread has ended.
var (
	writers = strings.Join([]string{
		`trap "" INT TERM HUP`,
		"sh -c '" + write("plain") + "' &",
		"setsid sh -c '" + write("session") + "' &",
		hidden(write("orphan")),
		`"$SELF" as headless headless &`,
		write("root"),
	}, "\n")
	files = []string{"plain", "session", "orphan", "headless", "root"}
)

func TestP4AFrozenTreeWritesNothing(t *testing.T) {
	s := order(t, writers)
	s.Grace = Grace{Interrupt: time.Hour, Term: time.Hour}
	c := start(t, s)
	written(t, s.Dir, files...)
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	before := sizes(s.Dir, files...)
	tick(t)
	if after := sizes(s.Dir, files...); after != before {
		t.Errorf("frozen, it wrote on: %s, then %s", before, after)
	}
	if !held(t, s) {
		t.Error("the lock of a frozen tree is free")
	}
	// A frozen tree is never let go again, however it is ended.
	if _, err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := sizes(s.Dir, files...); after != before {
		t.Errorf("ended while frozen, it wrote: %s, then %s", before, after)
	}
	if left := marks(s.Run); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
	if err := c.Freeze(); err != nil {
		t.Errorf("to freeze the dead: %v", err)
	}
}

// served starts an order under a server of its own, which can be killed.
func served(t *testing.T, s Spec) (srv *exec.Cmd, guard int) {
	t.Helper()
	order, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	srv = exec.Command(self(), "as", "server")
	srv.Stdin = bytes.NewReader(order)
	out, err := srv.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		srv.Process.Kill()
		srv.Wait()
		eventually(t, "a free lock", func() bool { return !held(t, s) })
		if _, err := Sweep(s.Run); err != nil {
			t.Error(err)
		}
	})
	var harness int
	if _, err := fmt.Fscan(out, &harness, &guard); err != nil {
		t.Fatal(err)
	}
	return srv, guard
}

func TestP4AFrozenTreeStaysFrozenWhenItsHarnessDies(t *testing.T) {
	s := order(t, writers)
	s.Grace = Grace{Interrupt: time.Hour, Term: time.Hour}
	c := start(t, s)
	written(t, s.Dir, files...)
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	before := sizes(s.Dir, files...)
	unix.Kill(c.Pid(), unix.SIGKILL)
	if e := c.Wait(); e.Signal != "SIGKILL" || len(e.Stopped) < len(files)-1 {
		t.Errorf("ended as %+v", e)
	}
	if after := sizes(s.Dir, files...); after != before {
		t.Errorf("frozen, it wrote on: %s, then %s", before, after)
	}
}

func TestP4NothingIsWrittenOnceTheLockIsFree(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		t.Run(fmt.Sprintf("frozen %t", frozen), func(t *testing.T) {
			s := order(t, writers)
			srv, guard := served(t, s)
			written(t, s.Dir, files...)
			if frozen {
				if _, err := (tree{root: guard}).freeze(); err != nil {
					t.Fatal(err)
				}
			}
			srv.Process.Kill()
			eventually(t, "a free lock", func() bool { return !held(t, s) })
			before := sizes(s.Dir, files...)
			if left := marks(s.Run); len(left) > 0 {
				t.Errorf("the lock is free and these live: %v", left)
			}
			tick(t)
			if after := sizes(s.Dir, files...); after != before {
				t.Errorf("the lock is free and it wrote on: %s, then %s", before, after)
			}
			eventually(t, "the guard's own end", func() bool { p, ok := look(guard); return !ok || p.dead() })
		})
	}
}

func TestP4AFrozenTreeStaysFrozenWhenItsGuardIsKilled(t *testing.T) {
	s := order(t, writers)
	srv, guard := served(t, s)
	written(t, s.Dir, files...)
	if _, err := (tree{root: guard}).freeze(); err != nil {
		t.Fatal(err)
	}
	srv.Process.Signal(unix.SIGSTOP) // it would sweep at once
	before := sizes(s.Dir, files...)
	unix.Kill(guard, unix.SIGKILL)
	tick(t)
	if after := sizes(s.Dir, files...); after != before {
		t.Errorf("frozen, it wrote on: %s, then %s", before, after)
	}
	swept, err := Sweep(s.Run)
	if err != nil || len(swept) < len(files)-1 {
		t.Errorf("swept %v, %v", swept, err)
	}
}

func TestAKilledGuardTakesTheHarnessAlongAndASweepTheRest(t *testing.T) {
	s := order(t, writers)
	c := start(t, s)
	written(t, s.Dir, files...)
	bystander := exec.Command("sleep", "100")
	bystander.Env = []string{"PATH=" + os.Getenv("PATH"), Marker + "=" + s.Run + "0", "ANOTHER_" + Marker + "=" + s.Run}
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer bystander.Wait()
	defer bystander.Process.Kill()

	unix.Kill(c.cmd.Process.Pid, unix.SIGKILL)
	e := c.Wait()
	if !e.Lost || e.Exit != -1 {
		t.Errorf("got %+v, want it lost", e)
	}
	if got := names(e.Stopped); !strings.Contains(got, "sh") {
		t.Errorf("swept %q, want the shells among them", got)
	}
	if p, ok := look(c.Pid()); ok && !p.dead() {
		t.Errorf("the harness outlived its guard: %v", p)
	}
	if left := marks(s.Run); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
	before := sizes(s.Dir, files...)
	tick(t)
	if after := sizes(s.Dir, files...); after != before {
		t.Errorf("swept, it wrote on: %s, then %s", before, after)
	}
	if held(t, s) {
		t.Error("the lock is held by nobody")
	}
	if p, ok := look(bystander.Process.Pid); !ok || p.dead() {
		t.Error("a process with another marker was swept")
	}
}

func TestTheHarnessDiesWithItsGuard(t *testing.T) {
	for name, cage := range map[string]*Cage{"free": nil, "caged": {Network: true}} {
		t.Run(name, func(t *testing.T) {
			s := order(t, "")
			s.Argv = []string{"env", "-i", "sleep", "100"} // without its marker a sweep cannot be what ends it
			s.Cage = cage
			c := start(t, s)
			eventually(t, "a sleep", func() bool { p, _ := look(c.Pid()); return p.name == "sleep" })
			unix.Kill(c.cmd.Process.Pid, unix.SIGKILL)
			eventually(t, "its end", func() bool { p, ok := look(c.Pid()); return !ok || p.dead() })
		})
	}
}

func TestStopAsksBeforeItKills(t *testing.T) {
	s := order(t, `trap 'echo int >>said' INT; trap 'echo term >>said; exit 3' TERM
		setsid sleep 101 &
		sh -c 'trap "" TERM; echo ready >said; while :; do sleep 1; done' &
		while :; do sleep 0.01; done`)
	c := start(t, s)
	said := func() string { b, _ := os.ReadFile(filepath.Join(s.Dir, "said")); return string(b) }
	eventually(t, "both traps", func() bool { return said() != "" })
	e, err := c.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := "ready\nint\nterm\n"; said() != want {
		t.Errorf("heard %q, want %q", said(), want)
	}
	if e.Exit != 3 || e.Signal != "" {
		t.Errorf("ended as %+v, want exit 3", e)
	}
	if got := names(e.Stopped); strings.Count(got, "sh") < 1 || !strings.Contains(got, "sleep") {
		t.Errorf("stopped %q, want the deaf shell and the sleep in its own session, and not the harness", got)
	}
	for _, p := range e.Stopped {
		if p.Pid == c.Pid() {
			t.Error("the harness is named as left over")
		}
	}
	again, err := c.Stop(t.Context())
	if err != nil || again.Exit != 3 {
		t.Errorf("stopped again: %+v, %v", again, err)
	}
	if c.Wait().Exit != 3 || c.Wait().Exit != 3 {
		t.Error("Wait does not repeat itself")
	}
}

func TestAHarnessThatObeysTheInterruptHearsNoMore(t *testing.T) {
	s := order(t, `trap 'exit 0' INT; trap 'echo term >said' TERM; echo >ready; while :; do sleep 0.01; done`)
	s.Grace = Grace{Interrupt: time.Minute, Term: time.Minute}
	c := start(t, s)
	exists(t, s.Dir, "ready")
	e, err := c.Stop(t.Context())
	if err != nil || e.Exit != 0 || e.Signal != "" {
		t.Errorf("ended as %+v, %v", e, err)
	}
	if size(filepath.Join(s.Dir, "said")) > 0 {
		t.Error("it was terminated as well")
	}
}

func exists(t *testing.T, dir, file string) {
	t.Helper()
	eventually(t, file, func() bool { return size(filepath.Join(dir, file)) > 0 })
}

func TestKillCutsAStopShort(t *testing.T) {
	s := order(t, `trap "" INT TERM; echo >ready; while :; do sleep 0.01; done`)
	s.Grace = Grace{Interrupt: time.Hour, Term: time.Hour}
	c := start(t, s)
	exists(t, s.Dir, "ready")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("stopped: %v", err)
	}
	if e := kill(t, c); e.Signal != "SIGKILL" || e.Exit != -1 {
		t.Errorf("ended as %+v", e)
	}
}

func TestAStopThatIsFrozenIsAKill(t *testing.T) {
	s := order(t, `trap "" INT TERM; echo >ready; while :; do sleep 0.01; done`)
	s.Grace = Grace{Interrupt: time.Hour, Term: time.Hour}
	c := start(t, s)
	exists(t, s.Dir, "ready")
	done := make(chan error, 1)
	go func() { _, err := c.Stop(t.Context()); done <- err }()
	tick(t)
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsLeftInTheBackgroundIsEndedAndNamed(t *testing.T) {
	s := order(t, hidden(`exec sleep 102`)+`; sleep 103 & read line; echo hello; exit 4`)
	c := start(t, s)
	eventually(t, "two sleeps", func() bool {
		n := 0
		for _, p := range marks(s.Run) {
			if p.name == "sleep" {
				n++
			}
		}
		return n == 2
	})
	c.Stdin.Close()
	// Both sleeps hold the pipe. It ends all the same.
	out, err := io.ReadAll(c.Stdout)
	if err != nil || string(out) != "hello\n" {
		t.Errorf("read %q, %v", out, err)
	}
	e := c.Wait()
	if e.Exit != 4 || names(e.Stopped) != "sleep sleep" {
		t.Errorf("ended as %+v", e)
	}
	if held(t, s) {
		t.Error("the lock is held after the end")
	}
}

func TestASuspendedJobLeftBehindHearsThatItIsOver(t *testing.T) {
	s := order(t, `sleep 105 & read line`)
	s.Grace = Grace{Interrupt: time.Hour, Term: time.Hour}
	c := start(t, s)
	var job proc
	eventually(t, "a suspended job", func() bool {
		for _, p := range marks(s.Run) {
			if p.name == "sleep" {
				job = p
				p.signal(unix.SIGSTOP)
			}
		}
		return job.pid > 0 && job.still(0)
	})
	c.Stdin.Close()
	if e := c.Wait(); len(e.Stopped) != 1 || e.Stopped[0].Pid != job.pid {
		t.Errorf("ended as %+v", e)
	}
}

func TestASignalReachesTheProcessMeantOrNobody(t *testing.T) {
	cmd := exec.Command("sleep", "106")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, ok := look(cmd.Process.Pid)
	if !ok {
		t.Fatal("it is not there")
	}
	older := p
	older.born--
	if err := older.signal(unix.SIGKILL); err != unix.ESRCH {
		t.Errorf("to an earlier process of that number: %v", err)
	}
	if err := p.signal(unix.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err.Error() != "signal: terminated" {
		t.Error(err)
	}
	if err := p.signal(unix.SIGTERM); err != unix.ESRCH {
		t.Errorf("to the dead: %v", err)
	}
}

func TestWithoutTheKernelsListTheTreeIsTheSame(t *testing.T) {
	s := order(t, writers)
	c := start(t, s)
	written(t, s.Dir, files...)
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	guard := c.cmd.Process.Pid
	kids := byParent()
	want := 0
	for at := []int{guard}; len(at) > 0; at = at[1:] {
		for _, pid := range kids(at[0]) {
			at = append(at, pid)
			if p, ok := look(pid); ok && !p.dead() {
				want++
			}
		}
	}
	if got := len((tree{root: guard}).descendants()); got != want || got < len(files) {
		t.Errorf("%d by the list, %d by their parents", got, want)
	}
}

func TestWhatCarriesTheMarkerIsEndedWhereverItLives(t *testing.T) {
	s := order(t, `read line`)
	c := start(t, s)
	stray := exec.Command("sleep", "104") // no child of the guard's
	stray.Env = []string{Marker + "=" + s.Run}
	stray.Path, _ = exec.LookPath("sleep")
	if err := stray.Start(); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan error, 1)
	go func() { reaped <- stray.Wait() }()
	eventually(t, "a marked sleep", func() bool { return len(marks(s.Run)) == 2 })
	c.Stdin.Close()
	e := c.Wait()
	if e.Exit != 1 || len(e.Stopped) != 1 || e.Stopped[0].Pid != stray.Process.Pid {
		t.Errorf("ended as %+v", e)
	}
	if err := <-reaped; err == nil {
		t.Error("it ended by itself")
	}
}

func TestATerminatedGuardEndsTheTree(t *testing.T) {
	s := order(t, `trap 'exit 9' INT; echo >ready; while :; do sleep 0.01; done`)
	c := start(t, s)
	exists(t, s.Dir, "ready")
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGHUP, unix.SIGQUIT} {
		unix.Kill(c.cmd.Process.Pid, sig)
	}
	tick(t)
	if p, ok := look(c.Pid()); !ok || p.dead() {
		t.Fatal("a terminal's signals ended it")
	}
	unix.Kill(c.cmd.Process.Pid, unix.SIGTERM)
	if e := c.Wait(); e.Exit != 9 || e.Lost {
		t.Errorf("ended as %+v", e)
	}
}

// A tree that forks while it is killed. Each is bounded, should it escape.
func TestATreeThatForksIsCaught(t *testing.T) {
	for name, script := range map[string]string{
		// Every generation is dead before it can be looked at twice.
		"a chain that never stands still": `echo 'echo x >>x; n=$1; [ $n -gt 0 ] && setsid sh hop $((n-1)) & exit' >hop; sh hop 20000; sleep 100`,
		"a bomb":                          `echo 'n=$1; echo x >>x; [ $n -gt 0 ] && { sh bomb $((n-1)) & setsid sh bomb $((n-1)) & }; while :; do echo x >>x; sleep 0.05; done' >bomb; sh bomb 5`,
		"a family that does nothing else": `while :; do (echo x >>x; sleep 0.2) & done`,
	} {
		for _, how := range []string{"kill", "freeze", "server gone", "guard killed"} {
			t.Run(name+", "+how, func(t *testing.T) {
				s := order(t, script)
				s.Grace = Grace{}
				c := start(t, s)
				eventually(t, "a crowd", func() bool { return size(filepath.Join(s.Dir, "x")) > 60 })
				switch how {
				case "freeze":
					if err := c.Freeze(); err != nil {
						t.Fatal(err)
					}
					before := sizes(s.Dir, "x")
					tick(t)
					if after := sizes(s.Dir, "x"); before != after {
						t.Errorf("frozen, it wrote on: %s, then %s", before, after)
					}
					kill(t, c)
				case "kill":
					kill(t, c)
				case "guard killed":
					unix.Kill(c.cmd.Process.Pid, unix.SIGKILL)
					c.Wait()
				default:
					c.tell.Lock()
					c.control.Close()
					c.tell.Unlock()
					c.Wait()
				}
				before := sizes(s.Dir, "x")
				if left := marks(s.Run); len(left) > 0 {
					t.Errorf("still there: %v", left)
				}
				tick(t)
				if after := sizes(s.Dir, "x"); before != after {
					t.Errorf("dead, it wrote on: %s, then %s", before, after)
				}
			})
		}
	}
}
