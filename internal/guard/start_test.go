//go:build linux

package guard

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func output(t *testing.T, s Spec) (string, Ended) {
	t.Helper()
	c := start(t, s)
	out, err := io.ReadAll(c.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), c.Wait()
}

func TestTheHarnessGetsItsEnvironmentTheMarkerAndThreeFiles(t *testing.T) {
	s := order(t, "")
	s.Env = append(s.Env, Marker+"=another", "A=b c")
	s.Argv = []string{"env"} // a shell would drop what is there twice
	env, _ := output(t, s)
	for _, want := range []string{"A=b c", Marker + "=" + s.Run} {
		if !strings.Contains("\n"+env+"\n", "\n"+want+"\n") {
			t.Errorf("its environment lacks %s:\n%s", want, env)
		}
	}
	if strings.Contains(env, "another") {
		t.Errorf("its environment holds another's marker:\n%s", env)
	}
	s.Argv = []string{"sh", "-c", `ls -l /proc/self/fd; pwd`}
	rest, _ := output(t, s)
	// 0, 1, 2 and the one that ls reads the folder by.
	if n := strings.Count(rest, " -> "); n != 4 || strings.Contains(rest, "lock") {
		t.Errorf("it has %d files open:\n%s", n, rest)
	}
	if !strings.HasSuffix(rest, s.Dir+"\n") {
		t.Errorf("it runs elsewhere:\n%s", rest)
	}
}

func TestTheGuardSharesNothingWithItsServer(t *testing.T) {
	t.Setenv("SECRET_OF_THE_SERVER", "x")
	s := order(t, `read line`)
	c := start(t, s)
	guard := c.cmd.Process.Pid
	if sid, err := unix.Getsid(guard); err != nil || sid != guard {
		t.Errorf("its session is %d, %v", sid, err)
	}
	env, err := slurp(fmt.Sprintf("/proc/%d/environ", guard))
	args, err2 := slurp(fmt.Sprintf("/proc/%d/cmdline", guard))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if all := string(env) + string(args); strings.Contains(all, "SECRET") || strings.Contains(all, s.Run) {
		t.Errorf("it shows what is not for everyone to see: %q", all)
	}
}

func TestTheHarnessIgnoresNoSignalOfOurs(t *testing.T) {
	s := order(t, "")
	// A server that ignores them must not make its children deaf: the guard is
	// started by a shell that ignores everything.
	deaf := filepath.Join(s.Dir, "deaf")
	script := "#!/bin/sh\ntrap '' HUP INT QUIT TERM\nexec " + self() + " \"$@\"\n"
	if err := os.WriteFile(deaf, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Argv = []string{self(), "as", "signals"}
	c, err := Start(deaf, s)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(c.Stdout)
	c.Wait()
	for line := range strings.Lines(string(out)) {
		mask, ok := strings.CutPrefix(line, "SigIgn:\t")
		if !ok {
			continue
		}
		// Others may be ignored by whoever started these tests, which is theirs.
		ours := uint64(1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGINT-1) | 1<<(syscall.SIGQUIT-1) | 1<<(syscall.SIGTERM-1))
		if bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64); err != nil || bits&ours != 0 {
			t.Errorf("it ignores %s (%v)", mask, err)
		}
	}
	if !strings.Contains(string(out), "SigIgn") {
		t.Fatalf("no status: %q", out)
	}
}

func TestEveryByteArrives(t *testing.T) {
	s := order(t, `exec "$SELF" as flood`)
	c := start(t, s)
	n, err := io.Copy(io.Discard, c.Stdout)
	if err != nil || n != flood {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if e := c.Wait(); e.Exit != 7 {
		t.Errorf("ended as %+v", e)
	}
	s = order(t, `cat; cat >&2 <<-E
		told
		E`)
	c = start(t, s)
	fmt.Fprint(c.Stdin, "said")
	c.Stdin.Close()
	out, _ := io.ReadAll(c.Stdout)
	errs, _ := io.ReadAll(c.Stderr)
	if string(out) != "said" || string(errs) != "told\n" {
		t.Errorf("out %q, err %q", out, errs)
	}
}

func TestAHarnessThatClosesItsOutputIsSeenTo(t *testing.T) {
	s := order(t, `exec >&-; read line`)
	c := start(t, s)
	if out, err := io.ReadAll(c.Stdout); err != nil || len(out) > 0 {
		t.Errorf("read %q, %v", out, err)
	}
	if !held(t, s) {
		t.Error("it has ended")
	}
}

func TestALockHasOneHolder(t *testing.T) {
	s := order(t, `read line`)
	if held(t, s) {
		t.Error("a missing lock is held")
	}
	c := start(t, s)
	if !held(t, s) {
		t.Error("a living guard holds no lock")
	}
	if _, err := Start(self(), s); err == nil || !strings.Contains(err.Error(), "another guard holds it") {
		t.Errorf("a second guard started: %v", err)
	}
	if !held(t, s) {
		t.Error("the refused guard took the lock along")
	}
	kill(t, c)
	if held(t, s) {
		t.Error("the lock of the dead is held")
	}
	if _, err := Held(filepath.Join(s.Lock, "x")); err == nil {
		t.Error("a lock that cannot be looked at is free")
	}
}

func TestToAskForALockKeepsItFromNobody(t *testing.T) {
	s := order(t, `read line`)
	stop := make(chan struct{})
	var askers sync.WaitGroup
	if err := os.WriteFile(s.Lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		askers.Go(func() {
			for range 2000 {
				if held, err := Held(s.Lock); held || err != nil {
					t.Errorf("one who asks is taken for the holder: %t, %v", held, err)
					return
				}
			}
		})
	}
	askers.Wait()
	for range 4 {
		askers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					Held(s.Lock)
				}
			}
		})
	}
	for range 5 {
		c := start(t, s)
		kill(t, c)
	}
	close(stop)
	askers.Wait()
	if held(t, s) {
		t.Error("held")
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"unknown program":   {func(s *Spec) { s.Argv[0] = "no-such-program" }, "no-such-program is not on the PATH"},
		"relative PATH":     {func(s *Spec) { s.Env, s.Argv[0] = []string{"PATH=:.:" + s.Dir + "/none"}, "planted" }, "planted is not on the PATH"},
		"missing folder":    {func(s *Spec) { s.Dir = "/no/such/folder" }, "start sh in /no/such/folder: no such file"},
		"lock nowhere":      {func(s *Spec) { s.Lock = "/no/such/folder/lock" }, "open lock"},
		"no run":            {func(s *Spec) { s.Run = "" }, "order names no run"},
		"nothing to run":    {func(s *Spec) { s.Argv = nil }, "or nothing to run"},
		"cage of no folder": {func(s *Spec) { s.Cage = &Cage{Writable: []string{"relative"}} }, `"relative" is not absolute`},
	} {
		t.Run(name, func(t *testing.T) {
			s := order(t, "exit")
			t.Chdir(s.Dir)
			if err := os.WriteFile("planted", []byte("#!/bin/sh\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			c.change(&s)
			_, err := Start(self(), s)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if held(t, s) {
				t.Error("its lock is held")
			}
		})
	}
	if _, err := Start("/no/such/guard", order(t, "exit")); err == nil {
		t.Error("a guard that is not there was started")
	}
	if _, err := Start("/bin/true", order(t, "exit")); err == nil || !strings.Contains(err.Error(), "start guard") {
		t.Errorf("a guard that is none was started: %v", err)
	}
}

func TestByHandTheGuardRefuses(t *testing.T) {
	if got := Main([]string{"x"}); got != 2 {
		t.Errorf("got %d", got)
	}
}
