package e2e

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

// opened lists what a vendor was given as the newest user text of a turn.
func (b *bed) opened(v fakeapi.Vendor) (out []string) {
	for _, r := range b.vendors.Requests() {
		if r.Main && r.Opens && !r.Retry && r.Vendor == v {
			out = append(out, r.Prompt)
		}
	}
	return out
}

// threads lists the threads, the one that changed last first.
func (b *bed) threads() (out []string) {
	for line := range strings.Lines(b.want(0, "threads", "--json").out) {
		var th struct{ Thread string }
		if err := json.Unmarshal([]byte(line), &th); err != nil {
			b.t.Fatal(err)
		}
		out = append(out, th.Thread)
	}
	return out
}

func limit() fakeapi.UsageLimit { return fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)} }

func TestHistory(t *testing.T) {
	t.Run("F28 F36 F39 F63 bug-60 a thread's second message hits the limit: Codex gets the history and the message, once, and the third follows", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf one > one.txt"), fakeapi.Text{Text: "I wrote one.txt."}, limit()),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Second, by codex."}, fakeapi.Text{Text: "Third, by codex."}),
		})
		b.want(0, "run", "--chain", "claude,codex", "You write files. Begin with one.txt.")
		r := b.want(0, "run", "-c", "And what is in it?")
		has(t, r.err, "Switched to codex after claude hit its usage limit.")
		has(t, r.out, "Second, by codex.")
		b.once("And what is in it?", 1, 1)
		got := b.opened(fakeapi.OpenAI)
		if len(got) != 1 {
			t.Fatalf("codex was asked %d times", len(got))
		}
		has(t, got[0], "[paceline] You take over a conversation that claude held until now; it hit its usage limit.",
			"[paceline] Item m1 is the standing instruction", "| You write files. Begin with one.txt.", "| I wrote one.txt.", "call of claude: completed\n| Bash: ", "printf one > one.txt")
		if !strings.HasSuffix(strings.TrimSpace(got[0]), "is the user's own.\nAnd what is in it?") || strings.Count(got[0], "And what is in it?") != 1 {
			t.Errorf("the message is not last, once: %s", got[0])
		}
		b.want(0, "run", "-c", "Thank you.")
		if got := b.opened(fakeapi.OpenAI); len(got) != 2 || got[1] != "Thank you." {
			t.Errorf("the third message: %q", got)
		}
		b.once("Thank you.", 0, 1)
		s := b.show()
		if len(s.Runs) != 4 || s.Runs[1].Work != "none" || s.Runs[1].Claim.Phase != "dispatched" {
			t.Errorf("%+v", s.Runs)
		}
	})
	t.Run("F63 a later message whose engine is limited already goes to the next with what was said", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "First, by claude."}, limit()),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Second, by codex."}),
		})
		b.want(0, "run", "--chain", "claude,codex", "First.")
		b.want(3, "run", "-e", "claude", "In another thread.") // this finds the limit
		first := b.threads()[1]
		r := b.want(0, "run", "-t", first, "Second.")
		has(t, r.err, "Starting on codex: claude cannot serve, it is limited until")
		got := b.opened(fakeapi.OpenAI)
		if len(got) != 1 {
			t.Fatal(got)
		}
		has(t, got[0], "| First, by claude.", "is the user's own.\nSecond.")
		b.once("Second.", 0, 1)
	})
	t.Run("F39 what did not fit is named, and the agent can read it", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: strings.Repeat("a very long answer ", 1500), Chunks: 3}, limit()),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Done."}),
		})
		b.want(0, "run", "--chain", "claude,codex", "First.")
		b.want(0, "run", "-c", "Second.")
		got := b.opened(fakeapi.OpenAI)[0]
		lacks(t, got, "a very long answer")
		_, reader, ok := strings.Cut(got, "To read one: ")
		if !ok {
			t.Fatalf("nothing says how to read what was left out: %s", got)
		}
		reader, _, _ = strings.Cut(reader, "\n")
		_, left, _ := strings.Cut(got, "only whole items are carried: ")
		id, _, _ := strings.Cut(left, ".")
		has(t, b.want(0, strings.Fields(strings.ReplaceAll(reader, " ID", " "+id))[1:]...).out, "a very long answer")
		has(t, b.want(0, append(strings.Fields(strings.ReplaceAll(reader, " ID", ""))[1:], "m1")...).out, "First.")
		// The same from inside of the cage, with the variables that a child gets.
		b.vendors.Play(fakeapi.OpenAI, fakeapi.Steps(fakeapi.Shell(strings.ReplaceAll(reader, " ID", " "+id)+" > read.txt 2>&1"), fakeapi.Text{Text: "Read."})...)
		b.want(0, "run", "-c", "Read it.")
		has(t, b.file("read.txt"), "a very long answer")
	})
	t.Run("F48 secrets do not cross to another vendor", func(t *testing.T) {
		secret := "AKIA" + "QYLPMN5HFIQR7XYA"
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "The key is " + secret + "."}, limit()),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Done."}),
		})
		b.want(0, "run", "--chain", "claude,codex", "First.")
		b.want(0, "run", "-c", "Second.")
		got := b.opened(fakeapi.OpenAI)[0]
		lacks(t, got, secret)
		has(t, got, "The key is [redacted: aws-access-token].")
		for _, args := range [][]string{{"show", "-c", "--item", "1"}, {"show", "-c"}, {"show", "-c", "--json"}} {
			has(t, b.want(0, args...).out, secret)
			inside := b.with([]string{"PACELINE_RUN=r-1"}, nil, args...)
			lacks(t, inside.out, secret)
			has(t, inside.out, "[redacted: aws-access-token]")
		}
	})
}

func TestRollover(t *testing.T) {
	const two = "Write one.txt and two.txt please."
	t.Run("Z29 Z58 Z80 Z81 P1 a real Claude Code is limited after it wrote one of two files; Codex gets the packet, not the prompt, and writes the other", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf claude > one.txt"), limit()),
			OpenAI:    fakeapi.Steps(fakeapi.Shell("printf codex > two.txt"), fakeapi.Text{Text: "Both are there."}),
		})
		r := b.want(0, "run", "--json", "--chain", "claude,codex", two)
		var names []string
		for line := range strings.Lines(r.out) {
			var e struct{ Event, From, To, Why, Text string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Event)
			if e.Event == "rollover" && (e.From != "claude" || e.To != "codex" || e.Why != "hit its usage limit") {
				t.Errorf("%+v", e)
			}
		}
		has(t, strings.Join(names, " "), "limit", "rollover", "started", "finished")
		lacks(t, strings.Join(names, " "), "failover")
		has(t, r.out, "Switched to codex after claude hit its usage limit; it goes on from what was done.")
		if b.file("one.txt") != "claude" || b.file("two.txt") != "codex" {
			t.Errorf("one.txt is %q, two.txt is %q", b.file("one.txt"), b.file("two.txt"))
		}
		got := b.opened(fakeapi.OpenAI)
		if len(got) != 1 {
			t.Fatalf("codex was asked %d times", len(got))
		}
		has(t, got[0], "[paceline] You take over work that claude began and could not finish: it hit its usage limit.",
			"[paceline] Task.", "\n| "+two+"\n", "call of claude: completed\n| Bash: ", "printf claude > one.txt", "one.txt (6 bytes)", "[paceline] Next step.")
		lacks(t, got[0], "\n"+two, "UNRESOLVED")
		if strings.HasPrefix(got[0], two) || b.vendors.Count(two) != 1 {
			t.Error("codex got the prompt")
		}
		s := b.show()
		if len(s.Runs) != 2 || s.Runs[0].Work != "some" || s.Runs[0].Claim.Phase != "dispatched" || s.Runs[1].Phase != "done" || s.Messages[0].Status != "answered" {
			t.Errorf("%+v", s)
		}
		has(t, b.want(0, "why", "-c").out, "claim codex for a rollover", "it had already worked: tool (Bash)")
		has(t, b.want(0, "status").out, "claude is limited (usage_limit)")
		has(t, b.want(0, "show", "-c").out, "was sent a packet of")
	})
	t.Run("Z58 the other way round", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			OpenAI:    fakeapi.Steps(fakeapi.Shell("printf codex > one.txt"), limit()),
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf claude > two.txt"), fakeapi.Text{Text: "Both are there."}),
		})
		r := b.want(0, "run", "--chain", "codex,claude", two)
		has(t, r.err, "Switched to claude after codex hit its usage limit; it goes on from what was done.")
		has(t, b.opened(fakeapi.Anthropic)[0], "call of codex: completed\n| commandExecution: ", "printf codex > one.txt")
		if b.file("one.txt") != "codex" || b.file("two.txt") != "claude" {
			t.Error("a file is not as it should be")
		}
	})
	t.Run("Z81 half an answer is a partial reply, not something done", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour), After: "I will begin by"}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Done by codex."}),
		})
		b.want(0, "run", "--chain", "claude,codex", two)
		done, cut, _ := strings.Cut(b.opened(fakeapi.OpenAI)[0], "[paceline] Cut in the middle; none of it counts as done:")
		has(t, cut, "reply of claude: PARTIAL\n| I will begin by")
		lacks(t, done, "I will begin by")
	})
	t.Run("P1 F70 both limited after work: blocked, and nobody gets the prompt twice", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf claude > one.txt"), limit()),
			OpenAI:    fakeapi.Steps(limit()),
		})
		b.want(3, "run", "--chain", "claude,codex", two)
		if b.vendors.Count(two) != 1 || len(b.opened(fakeapi.OpenAI)) != 1 {
			t.Errorf("%q", b.opened(fakeapi.OpenAI))
		}
	})
	t.Run("Z30 the successor is signed out at its first turn: the retry carries what was said and done again", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf claude > one.txt"), limit()),
			OpenAI:    fakeapi.Steps(fakeapi.SignedOut{}),
		})
		b.want(4, "run", "--chain", "claude,codex", two)
		before := len(b.opened(fakeapi.OpenAI))
		b.vendors.Play(fakeapi.OpenAI, fakeapi.Steps(fakeapi.Text{Text: "Now I can."})...)
		b.want(0, "health", "reset", "codex") // its user signed in again, and does not wait for the next look
		b.want(0, "run", "-c", "Go on.")
		got := b.opened(fakeapi.OpenAI)
		if len(got) != before+1 || b.vendors.Count(two) != 1 {
			t.Fatalf("%q", got)
		}
		has(t, got[before], "[paceline] You take over a conversation", "| "+two, "printf claude > one.txt", "is the user's own.\nGo on.")
	})
	t.Run("Z42 a server that Codex left running is stopped and told of, and halts nothing", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			OpenAI:    fakeapi.Steps(fakeapi.Shell("printf up > up.txt; sleep 300"), fakeapi.Shell("printf codex > one.txt"), limit()),
			Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Went on."}),
		})
		r := b.want(0, "run", "--chain", "codex,claude", two)
		has(t, r.err, "Switched to claude after codex hit its usage limit; it goes on from what was done.")
		has(t, b.opened(fakeapi.Anthropic)[0], "went on in the background, and was ended with its engine\n| commandExecution: ", "sleep 300")
		lacks(t, b.opened(fakeapi.Anthropic)[0], "UNRESOLVED")
	})
	t.Run("F68 the message after a rollover goes on in the successor's conversation", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("printf claude > one.txt"), limit()),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Both."}, fakeapi.Text{Text: "Again."}),
		})
		b.want(0, "run", "--chain", "claude,codex", two)
		b.want(0, "run", "-c", "Another one.")
		if got := b.opened(fakeapi.OpenAI); len(got) != 2 || got[1] != "Another one." {
			t.Errorf("%q", got)
		}
		if _, err := os.Stat(b.path("two.txt")); err == nil {
			t.Error("two.txt was not to be written by anybody here")
		}
	})
}

// recorded waits until something of that kind is on record: a program runs a
// command before it tells of it.
func (b *bed) recorded(kind string) {
	b.t.Helper()
	for until := time.Now().Add(time.Minute); !strings.Contains(b.paceline("show", "-c", "--json").out, `"kind":"`+kind+`"`); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			b.t.Fatalf("no %s is on record", kind)
		}
	}
}

// cut kills the child of a run as soon as a file is there.
func (b *bed) cut(name, program string) {
	b.t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(b.path(name)); err == nil {
			break
		}
		if time.Now().After(until) {
			b.t.Fatalf("%s never came", name)
		}
	}
	b.recorded("tool")
	killed := 0
	for _, p := range b.marked() {
		if strings.Contains(p.cmd, program) && !strings.Contains(p.cmd, "guard") {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
			killed++
		}
	}
	if killed == 0 {
		b.t.Fatalf("no process of %s among %v", program, b.marked())
	}
}

func TestReconcile(t *testing.T) {
	const slow = "printf begun > begun.txt; sleep 30; printf ended > ended.txt"
	for engine, tt := range map[string]struct {
		script  func(...fakeapi.Answer) fakeapi.Script
		vendor  fakeapi.Vendor
		program string
	}{
		"codex":  {func(a ...fakeapi.Answer) fakeapi.Script { return fakeapi.Script{OpenAI: fakeapi.Steps(a...)} }, fakeapi.OpenAI, "app-server"},
		"claude": {func(a ...fakeapi.Answer) fakeapi.Script { return fakeapi.Script{Anthropic: fakeapi.Steps(a...)} }, fakeapi.Anthropic, "stream-json"},
	} {
		t.Run("Z43 Z95 bug-44 a real "+engine+" is killed in the middle of a command: it halts, reconcile shows the command, settles it, and work goes on", func(t *testing.T) {
			b := newBed(t, tt.script(fakeapi.Shell(slow), fakeapi.Text{Text: "I looked, and went on."}))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd, out, errs := b.command(ctx, "run", "-e", engine, prompt)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			b.cut("begun.txt", tt.program)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 5 {
				t.Fatalf("exit %d\n%s%s\n%s", code, out, errs, b.want(0, "show", "-c", "--json").out)
			}
			has(t, errs.String(), "in the middle of a call", "sleep 30", "paceline reconcile t-")
			id := b.threads()[0]
			b.once(prompt, map[bool]int{true: 1}[engine == "claude"], map[bool]int{true: 1}[engine == "codex"])

			r := b.want(5, "reconcile", id)
			has(t, r.out, "began and never reported", "sleep 30", "begun.txt (5 bytes)")
			_, hint, _ := strings.Cut(r.err, "look, then: paceline ")
			hint, _, _ = strings.Cut(hint, "   (")
			has(t, b.want(2, "reconcile", "t-nosuchthread").err, "no thread")
			has(t, b.want(5, "reconcile", id, "--took", "999").err, "not all of it is settled")

			b.server = true
			b.want(0, strings.Fields(strings.Replace(hint, "--took", "--not", 1))...)
			has(t, b.want(0, "attach", id).out, "I looked, and went on.")
			got := b.opened(tt.vendor)
			if len(got) != 2 || b.vendors.Count(prompt) != 1 {
				t.Fatalf("asked %d times: %q", len(got), got)
			}
			has(t, got[1], "[paceline] You take over work that", "| "+prompt, "never reported; its user found that it did not take effect", "sleep 30", "begun.txt (5 bytes)")
			if _, err := os.Stat(b.path("ended.txt")); err == nil {
				t.Error("the command went on after its engine was killed")
			}
			has(t, b.want(1, "reconcile", id).err, "nothing in")
			b.want(0, "server", "stop")
		})
	}
}
