package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

// crash runs the main job in a server that kills itself at a point, and then
// starts another one, which carries on.
func crash(b *bed, point string) result {
	b.t.Helper()
	return crashIn(b, point, "run", "--chain", "claude,codex", prompt)
}

// crashIn runs a command in a server that kills itself at a point, and then
// starts another one, which carries on.
func crashIn(b *bed, point string, args ...string) result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	cmd, out, errs := b.command(ctx, args...)
	cmd.Env = append(cmd.Env, "PACELINE_CRASH_POINT="+point)
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		b.t.Fatalf("it did not die at %s: %v\n%s%s", point, err, out, errs)
	}
	if b.between != nil {
		b.between()
	}
	return b.with(nil, strings.NewReader(""), "run", "-c")
}

// limited is the main job's script: Claude's vendor answers with a limit.
func limited() fakeapi.Script {
	return fakeapi.Script{
		Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
		OpenAI:    fakeapi.Steps(fakeapi.Shell("echo hello >> hello.txt"), fakeapi.Text{Text: "I wrote it."}),
	}
}

// carried has the main job cut at a point and carried on, and holds both to
// what was promised.
func carried(b *bed, point string) {
	t := b.t
	t.Helper()
	r := crash(b, point)
	claude, codex := b.sent(fakeapi.Anthropic, prompt), b.sent(fakeapi.OpenAI, prompt)
	if claude > 1 || codex > 1 {
		t.Fatalf("asked claude's vendor %d times and codex's %d times\n%s", claude, codex, r)
	}
	s := b.show()
	last := s.Messages[len(s.Messages)-1].Status
	switch {
	case r.code == 0 && codex == 1 && last == "answered":
	case point == "prompt-written" || point == "before-running":
		// The server died with the prompt in Claude's hands. Claude is ended
		// with it, perhaps before its transcript could prove anything: then a
		// crash is reported, and nothing is sent again.
		if r.code != 1 || last != "failed" || codex != 0 {
			t.Errorf("neither answered once nor a reported crash: codex %d, %s, %s", codex, last, r)
		}
	default:
		t.Errorf("codex was asked %d times, the message is %s: %s\n%s", codex, last, r, b.want(0, "why", "-c").out)
	}
	for _, run := range s.Runs {
		if run.Claim.Phase == "pending" {
			t.Errorf("P3 the claim of %s is still pending", run.ID)
		}
	}
}

func TestKilledAnywhere(t *testing.T) {
	// Where Claude's vendor answers with a limit, the prompt must reach Codex's
	// once, from the commit of the failure on and, since Claude's transcript
	// proves it, before.
	for _, point := range []string{
		"starting", "sending-committed", "prompt-written", "before-running", "failure-frame", "after-tx1", "during-dispatch", "after-tx2",
	} {
		t.Run("P1 P3 F31 killed at "+point+": never twice, and once in the end", func(t *testing.T) {
			carried(newBed(t, limited()), point)
		})
	}
}

// TestPacketKilledAnywhere kills the server around the sending of a packet. It
// goes out once, as it was composed.
func TestPacketKilledAnywhere(t *testing.T) {
	const second = "And the second one."
	for _, point := range []string{"after-tx1", "during-dispatch", "after-tx2"} {
		t.Run("P1 F28 F40 a follow-up's failover, killed at "+point, func(t *testing.T) {
			b := newBed(t, fakeapi.Script{
				Anthropic: fakeapi.Steps(fakeapi.Text{Text: "First answer."}, limit()),
				OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Second answer."}),
			})
			b.want(0, "run", "--chain", "claude,codex", prompt)
			if r := crashIn(b, point, "run", "-c", second); r.code != 0 {
				t.Fatal(r)
			}
			got := b.opened(fakeapi.OpenAI)
			if len(got) != 1 || strings.Count(got[0], second) != 1 || !strings.Contains(got[0], "| First answer.") {
				t.Errorf("%q", got)
			}
		})
		t.Run("P1 Z29 a rollover, killed at "+point, func(t *testing.T) {
			b := newBed(t, fakeapi.Script{
				Anthropic: fakeapi.Steps(fakeapi.Shell("printf claude > one.txt"), limit()),
				OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Went on."}),
			})
			if r := crash(b, point); r.code != 0 {
				t.Fatal(r)
			}
			got := b.opened(fakeapi.OpenAI)
			if len(got) != 1 || !strings.Contains(got[0], "printf claude > one.txt") || b.vendors.Count(prompt) != 1 {
				t.Errorf("%q", got)
			}
		})
	}
	for _, point := range []string{"starting", "sending-committed", "prompt-written", "before-running"} {
		t.Run("P1 F31 F40 Z44 Z54 Z64 the packet's own run, killed at "+point, func(t *testing.T) {
			b := newBed(t, fakeapi.Script{
				Anthropic: fakeapi.Steps(fakeapi.Text{Text: "First answer."}, limit()),
				OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Second answer."}),
			})
			b.want(0, "run", "--chain", "claude,codex", prompt)
			b.want(3, "run", "-e", "claude", "In another thread.") // claude is limited from here on
			r := crashIn(b, point, "run", "-t", b.threads()[1], second)
			got := b.opened(fakeapi.OpenAI)
			if len(got) > 1 {
				t.Fatalf("it went out %d times: %q", len(got), got)
			}
			s := b.show()
			switch last := s.Messages[len(s.Messages)-1].Status; {
			case r.code == 0 && len(got) == 1 && last == "answered":
			case (point == "prompt-written" || point == "before-running") && r.code == 1 && last == "failed":
			default:
				t.Errorf("sent %d times, the message is %s: %s", len(got), last, r)
			}
		})
	}
}

func TestNoWriterOutlivesItsServer(t *testing.T) {
	for engine, script := range map[string]func(fakeapi.Answer) fakeapi.Script{
		"claude": func(a fakeapi.Answer) fakeapi.Script { return fakeapi.Script{Anthropic: fakeapi.Steps(a)} },
		"codex":  func(a fakeapi.Answer) fakeapi.Script { return fakeapi.Script{OpenAI: fakeapi.Steps(a)} },
	} {
		t.Run("P4 "+engine+"'s command writes every 10 ms; its server is killed; the next start finds it dead", func(t *testing.T) {
			b := newBed(t, script(fakeapi.Shell("i=0; while [ $i -lt 6000 ]; do echo x >> beat.txt; sleep 0.01; i=$((i+1)); done")))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd, out, errs := b.command(ctx, "run", "-e", engine, prompt)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			size := func() int64 {
				info, err := os.Stat(b.path("beat.txt"))
				if err != nil {
					return 0
				}
				return info.Size()
			}
			for until := time.Now().Add(time.Minute); size() < 20; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(until) {
					t.Fatalf("the command never wrote\n%s%s", out, errs)
				}
			}
			b.recorded("tool")
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			r := b.with(nil, strings.NewReader(""), "run", "-c")
			at := size() // whoever carries on has looked only after the last write
			if r.code != 5 || !strings.Contains(r.err, "paceline reconcile") {
				t.Errorf("a run that was cut in the middle of a call needs a person: %s", r)
			}
			time.Sleep(300 * time.Millisecond)
			if now := size(); now != at {
				t.Errorf("it still writes: %d bytes, then %d", at, now)
			}
			if s := b.show(); s.Runs[0].Work == "none" || s.Runs[0].Claim.Phase != "" {
				t.Errorf("work %s, claim %s", s.Runs[0].Work, s.Runs[0].Claim.Phase)
			}
			b.t.Logf("%d bytes", at)
		})
	}
}
