package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

// beating is a command that goes on in the background after its call has
// reported: every 10 ms it appends its generation to one file.
func beating(generation int) string {
	return fmt.Sprintf("(i=0; while [ $i -lt 3000 ]; do echo %d >> beat.txt; sleep 0.01; i=$((i+1)); done) >/dev/null 2>&1 & sleep 0.15", generation)
}

// fenced fails where an old generation wrote after the first line of a new one, and
// returns the newest; "" where none wrote.
func (b *bed) fenced() (newest string) {
	b.t.Helper()
	beat, _ := os.ReadFile(b.path("beat.txt"))
	for i, g := range strings.Fields(string(beat)) {
		if g < newest {
			b.t.Fatalf("P4 generation %s wrote line %d, after the first line of %s", g, i+1, newest)
		}
		newest = max(newest, g)
	}
	return newest
}

// twoServers begins a run in a server that is killed or halted at a point, and
// then has another one believe that the first is gone: its locks are taken away
// under it. A halted one wakes while the other works.
func twoServers(b *bed, point string, halt bool, asleep time.Duration, args ...string) (newest string) {
	t := b.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first, out, errs := b.command(ctx, args...)
	kind := "PACELINE_CRASH_POINT="
	if halt {
		kind = "PACELINE_STOP_POINT="
	}
	first.Env = append(first.Env, kind+point)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = first.Wait(); close(ended) }()
	if halt {
		until(t, "it is halted at "+point, func() bool {
			select {
			case <-ended:
				t.Fatalf("it ended before %s\n%s%s", point, out, errs)
			default:
			}
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", first.Process.Pid))
			_, state, _ := strings.Cut(string(stat), ") ")
			return strings.HasPrefix(state, "T")
		})
	} else {
		<-ended
		if first.ProcessState.Success() {
			t.Fatalf("it was not killed at %s\n%s%s", point, out, errs)
		}
	}
	state := filepath.Join(b.dir, "state")
	threads, _ := filepath.Glob(filepath.Join(state, "locks", "*.thread"))
	for _, lock := range append(threads, filepath.Join(state, "server.lock")) {
		_ = os.Remove(lock)
	}
	sockets, _ := filepath.Glob(filepath.Join(state, "*.sock"))
	for _, s := range sockets {
		_ = os.Remove(s)
	}
	second, _, _ := b.command(ctx, "run", "-c")
	second.Stdin = strings.NewReader("")
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	if halt {
		time.Sleep(asleep)
		if err := first.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		<-ended
	}
	_ = second.Wait()
	return b.fenced()
}

func TestTwoServers(t *testing.T) {
	points := []string{"starting", "sending-committed", "prompt-written", "failure-frame", "after-tx1", "during-dispatch", "after-tx2", "starting 2", "sending-committed 2", "prompt-written 2", "before-running 2", "before-running"}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	var moved atomic.Int32
	t.Cleanup(func() {
		if !t.Failed() && moved.Load() < 12 {
			t.Errorf("only %d of 48 came to a second generation: nothing was tried", moved.Load())
		}
	})
	for n := range 48 {
		point, halt, asleep := points[n%len(points)], n/len(points)%2 == 1, time.Duration(dice.IntN(1500))*time.Millisecond
		t.Run(fmt.Sprintf("Z49 Z51 P4 schedule %d, halted %t at %s for %s: no old generation writes after a new one", n, halt, point, asleep), func(t *testing.T) {
			t.Parallel()
			type turns = []fakeapi.AgyTurn
			b := agyBed(t, fakeapi.AgyScript{Turns: turns{{Shell: beating(1), Error: fakeapi.AgyQuota("2h")}}}, fakeapi.Script{})
			b.second(fakeapi.AgyScript{Turns: turns{{Shell: beating(2), Text: "I went on."}}})
			if twoServers(b, point, halt, asleep, "run", "--chain", "agy,other", prompt) == "2" {
				moved.Add(1)
			}
			if n := b.agyAsked(prompt + "\n"); n > 1 {
				t.Errorf("P1 the prompt was given %d times", n)
			}
		})
	}
}

// second gives the user another account of the scripted agy, with a home of its own.
func (b *bed) second(script fakeapi.AgyScript) {
	b.t.Helper()
	home := filepath.Join(b.dir, "home", "other")
	self, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(filepath.Join(b.dir, "unused"), 0o700)
	}
	if err == nil {
		err = fakeapi.InstallAgy(filepath.Join(b.dir, "unused"), home, self, script, "agy")
	}
	if err == nil {
		var f *os.File
		f, err = os.OpenFile(filepath.Join(b.dir, "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = fmt.Fprintf(f, "\n[accounts.other]\nharness = \"agy\"\nposture = \"subscription\"\nhome = %q\n\n[vendors.google]\nseveral_accounts = \"mine\"\n", filepath.Join(home, ".gemini"))
			f.Close()
		}
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestTwoServersReal is the same with the real programs.
func TestTwoServersReal(t *testing.T) {
	for point, halt := range map[string]bool{"after-tx1": false, "sending-committed 2": true} {
		t.Run(fmt.Sprintf("Z49 Z51 P4 claude and codex, halted %t at %s", halt, point), func(t *testing.T) {
			b := newBed(t, fakeapi.Script{
				Anthropic: fakeapi.Steps(fakeapi.Shell(beating(1)), limit()),
				OpenAI:    fakeapi.Steps(fakeapi.Shell(beating(2)), fakeapi.Text{Text: "I went on."}),
			})
			twoServers(b, point, halt, 700*time.Millisecond, "run", "--chain", "claude,codex", prompt)
			if n := b.sent(fakeapi.OpenAI, prompt); n > 1 {
				t.Errorf("P1 the packet was given %d times", n)
			}
			if n := b.sent(fakeapi.Anthropic, prompt); n != 1 {
				t.Errorf("P1 the prompt was given %d times", n)
			}
		})
	}
}

// TestHaltedGuard kills a server whose guard is halted, so that what it runs goes
// on writing: nothing follows before the guard has ended it.
func TestHaltedGuard(t *testing.T) {
	for _, tt := range []struct{ engine, program string }{{"claude", "stream-json"}, {"codex", "app-server"}} {
		t.Run("Z51 bug-67 P4 the server of a real "+tt.engine+" is killed and its guard halted: who carries on waits for the guard", func(t *testing.T) {
			beat := strings.Replace(beating(1), ") >/dev/null 2>&1 & sleep 0.15", ")", 1)
			steps := fakeapi.Steps(fakeapi.Shell(beat), fakeapi.Shell(beating(2)), fakeapi.Text{Text: "I looked, and went on."})
			b := newBed(t, fakeapi.Script{Anthropic: steps, OpenAI: steps})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			first, _, _ := b.command(ctx, "run", "-e", tt.engine, prompt)
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "it writes", func() bool { info, err := os.Stat(b.path("beat.txt")); return err == nil && info.Size() > 20 })
			b.recorded("tool")
			guards := guardsOf(first.Process.Pid)
			if len(guards) == 0 {
				t.Fatal("no guard was found")
			}
			for _, pid := range guards {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = first.Wait()
			second, out, errs := b.command(ctx, "run", "-c")
			second.Stdin = strings.NewReader("")
			if err := second.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { _ = second.Wait(); close(ended) }()
			select {
			case <-ended:
				t.Errorf("it did not wait for the guard\n%s%s", out, errs)
			case <-time.After(2 * time.Second):
			}
			for _, pid := range guards {
				_ = syscall.Kill(pid, syscall.SIGCONT)
			}
			<-ended
			if code := second.ProcessState.ExitCode(); code != 5 {
				t.Fatalf("exit %d\n%s%s", code, out, errs)
			}
			id := b.threads()[0]
			_, hint, _ := strings.Cut(b.want(5, "reconcile", id).err, "look, then: paceline ")
			hint, _, _ = strings.Cut(hint, "   (")
			b.server = true
			b.want(0, strings.Fields(hint)...)
			has(t, b.want(0, "attach", id).out, "I looked, and went on.")
			if newest := b.fenced(); newest != "2" {
				t.Errorf("generation %q was the last that wrote", newest)
			}
			b.want(0, "server", "stop")
		})
	}
}

// guardsOf lists the guards that a server started.
func guardsOf(server int) (out []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, p := range stats {
		stat, _ := os.ReadFile(p)
		_, rest, _ := strings.Cut(string(stat), ") ")
		var state string
		var parent, pid int
		fmt.Sscan(rest, &state, &parent)
		fmt.Sscan(string(stat), &pid)
		if parent == server {
			out = append(out, pid)
		}
	}
	return out
}
