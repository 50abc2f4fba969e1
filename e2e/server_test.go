package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

// serverBed is a bed whose commands use the server in the background.
func serverBed(t *testing.T, script fakeapi.Script) *bed {
	t.Helper()
	b := newBed(t, script)
	b.server = true
	t.Cleanup(func() {
		// The test's own context has ended.
		cmd := exec.Command(binary, "server", "stop")
		cmd.Env = b.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("server stop: %v: %s", err, out)
		}
	})
	return b
}

// info is the part of `server status --json` that tests look at.
type info struct {
	Running bool `json:"running"`
	Pid     int  `json:"pid"`
	Serving int  `json:"serving"`
}

func (b *bed) info() (i info) {
	b.t.Helper()
	r := b.want(0, "server", "status", "--json")
	if err := json.Unmarshal([]byte(r.out), &i); err != nil {
		b.t.Fatalf("%v in %s", err, r)
	}
	return i
}

// told is an event as `--json` prints it.
type told struct {
	Event  string `json:"event"`
	Offset string `json:"offset"`
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	ID     string `json:"id"`
	Status string `json:"status"`
}

func events(t *testing.T, out string) (es []told) {
	t.Helper()
	for line := range strings.Lines(out) {
		if !strings.HasSuffix(line, "\n") {
			break // the last line of a client that was killed
		}
		var e told
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		es = append(es, e)
	}
	return es
}

// started runs a command in the background.
func (b *bed) started(args ...string) (cmd *exec.Cmd, out, errs *buffer, wait func() result) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	cmd, out, errs = b.command(ctx, args...)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	b.t.Cleanup(func() { cancel(); <-ended })
	return cmd, out, errs, func() result {
		<-ended
		return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}
}

// asks waits until a run has asked for permission n times, and returns the last
// request.
func (b *bed) asks(thread string, n int) (request string) {
	b.t.Helper()
	_, out, _, _ := b.started("attach", thread, "--json")
	until(b.t, "it asks", func() bool {
		var all []string
		for _, e := range events(b.t, out.String()) {
			if e.Event == "approval" {
				all = append(all, e.ID)
			}
		}
		if len(all) >= n {
			request = all[n-1]
		}
		return len(all) >= n
	})
	return request
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: waited a minute", what)
		}
	}
}

// slowly is an answer that takes a while.
func slowly(words int) fakeapi.Text {
	var s []string
	for i := range words {
		s = append(s, fmt.Sprintf("word%d.", i))
	}
	return fakeapi.Text{Text: strings.Join(s, " "), Chunks: words, Delay: 100 * time.Millisecond}
}

func TestServer(t *testing.T) {
	t.Run("The main job on the server, which a second command finds warm, and which is stopped", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "First."}, fakeapi.Text{Text: "Second."}),
		})
		r := b.want(0, "run", "--chain", "claude,codex", prompt)
		has(t, r.out, "First.")
		has(t, r.err, "Switched to codex after claude hit its usage limit.")
		first := b.info()
		has(t, b.want(0, "run", "-c", "and again").out, "Second.")
		if second := b.info(); !first.Running || second.Pid != first.Pid {
			t.Errorf("served by %+v, then by %+v", first, second)
		}
		b.want(0, "server", "stop")
		if b.info().Running {
			t.Error("it runs on after its stop")
		}
		b.once(prompt, 1, 1)
	})
	t.Run("A detached run outlives its command; the server is killed; attach shows the whole stream once, in order", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Hang{}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Done."}),
		})
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", prompt).out)
		until(t, "claude is asked", func() bool { return b.sent(fakeapi.Anthropic, prompt) == 1 })
		_, live, _, wait := b.started("attach", id, "--json")
		until(t, "the client hears of the start", func() bool { return strings.Contains(live.String(), `"started"`) })
		if err := syscall.Kill(b.info().Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r := wait() // it finds the next server by itself
		first := events(t, r.out)
		again := events(t, b.paceline("attach", id, "--json").out)
		if len(first) != len(again) || len(first) == 0 {
			t.Fatalf("the live client heard %d events, the later one %d\n%s", len(first), len(again), r)
		}
		seen := map[string]bool{}
		for i := range first {
			if first[i] != again[i] {
				t.Errorf("event %d: live %+v, later %+v", i, first[i], again[i])
			}
			if seen[first[i].Offset] {
				t.Errorf("%s was told twice", first[i].Offset)
			}
			seen[first[i].Offset] = true
		}
		if last := first[len(first)-1]; last.Event != "finished" {
			t.Errorf("the last one is %+v", last)
		}
		// Claude had the prompt and no answer: its transcript decides, and nothing
		// is sent twice to it by the crash alone.
		if n := b.sent(fakeapi.Anthropic, prompt); n > 1 {
			t.Errorf("claude's vendor was asked %d times", n)
		}
	})
	t.Run("Ctrl-C at the client stops the run on the server, and its whole tree", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Shell("tail -f /dev/null"))})
		cmd, _, _, wait := b.started("run", "-e", "claude", prompt)
		until(t, "the tool runs", func() bool {
			return len(b.marked()) > 1 && b.sent(fakeapi.Anthropic, prompt) == 1 && b.running("tail -f /dev/null")
		})
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if r := wait(); r.code != 130 {
			t.Errorf("%s", r)
		}
		if left := b.marked(); len(left) > 0 {
			t.Errorf("alive after it was told to be stopped: %v", left)
		}
	})
	t.Run("A terminal that goes away stops nothing, and the next command says so", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(slowly(40))})
		hangup, out, wait := b.onTerminal("run", "-e", "claude", prompt)
		until(t, "it speaks", func() bool { return strings.Contains(out.String(), "word2.") })
		hangup()
		if r := wait(); r.code != 129 {
			t.Errorf("%s", r)
		}
		id := b.thread()
		r := b.want(0, "attach", id)
		has(t, r.err, id+" goes on, although its terminal went away")
		has(t, r.out, "word0. word1.", "word39.")
		if strings.Count(r.out, "word7.") != 1 {
			t.Errorf("a word was told twice:\n%s", r.out)
		}
		b.once(prompt, 1, 0)
	})
	t.Run("send queues behind a run, stop ends it with what waits behind it", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "One."}, fakeapi.Text{Text: "Two."}, fakeapi.Hang{})})
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", prompt).out)
		b.want(0, "send", id, "second message")
		has(t, b.want(0, "attach", id).out, "One.", "Two.")
		b.want(0, "send", id, "third message")
		b.want(0, "send", id, "fourth message")
		until(t, "the third is asked", func() bool { return b.sent(fakeapi.Anthropic, "third message") == 1 })
		b.want(0, "stop", id)
		s := b.show()
		var got []string
		for _, m := range s.Messages {
			got = append(got, m.Status)
		}
		if strings.Join(got, " ") != "answered answered stopped stopped" {
			t.Errorf("messages ended %v", got)
		}
		if n := b.sent(fakeapi.Anthropic, "fourth message"); n != 0 {
			t.Errorf("the fourth message was sent %d times", n)
		}
		b.want(130, "attach", id)
	})
	for engine, vendor := range map[string]fakeapi.Vendor{"claude": fakeapi.Anthropic, "codex": fakeapi.OpenAI} {
		t.Run("F13 a steer joins the run of "+engine+", and both end together", func(t *testing.T) {
			wait := fakeapi.Step{Answer: fakeapi.Shell("while [ ! -e go.txt ]; do sleep 0.05; done")}
			b := serverBed(t, fakeapi.Script{})
			b.vendors.Play(vendor, wait, fakeapi.Step{Answer: fakeapi.Text{Text: "Both done."}})
			id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", engine, prompt).out)
			until(t, "the tool runs", func() bool { return b.running("go.txt") })
			b.want(0, "steer", id, "and mind the dog")
			if err := os.WriteFile(b.path("go.txt"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			has(t, b.want(0, "attach", id).out, "Both done.")
			s := b.show()
			if len(s.Runs) != 1 || len(s.Messages) != 2 || s.Messages[0].Status != "answered" || s.Messages[1].Status != "answered" {
				t.Errorf("%+v", s)
			}
			steered := 0
			for _, r := range b.vendors.Requests() {
				if r.Main && r.Says("mind the dog") {
					steered++
				}
			}
			if steered != 1 {
				t.Errorf("%d requests carried the steer", steered)
			}
		})
	}
	t.Run("F13 a steered run is not sent again elsewhere; steering nothing is an ordinary message", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Throttle{RetryAfter: time.Second}, fakeapi.Throttle{RetryAfter: time.Second}, fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Mine now."}),
		})
		id := strings.TrimSpace(b.want(0, "run", "--detach", "--chain", "claude,codex", prompt).out)
		until(t, "claude is asked", func() bool { return b.sent(fakeapi.Anthropic, prompt) == 1 })
		b.want(0, "steer", id, "and mind the dog")
		b.want(3, "attach", id)
		has(t, b.want(0, "why", id).out, "it was steered")
		b.once(prompt, 1, 0)
		for i, m := range b.show().Messages {
			if m.Status != "blocked" {
				t.Errorf("message %d is %s", i, m.Status)
			}
		}
	})
	t.Run("F13 P2 a steered run that worked goes on elsewhere, and the steer with it", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.Shell("while [ ! -e go.txt ]; do sleep 0.05; done"), limit()),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "Mine now."}),
		})
		id := strings.TrimSpace(b.want(0, "run", "--detach", "--chain", "claude,codex", prompt).out)
		until(t, "the tool runs", func() bool { return b.running("go.txt") })
		b.want(0, "steer", id, "and mind the dog")
		if err := os.WriteFile(b.path("go.txt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		has(t, b.want(0, "attach", id).out, "Mine now.")
		got := b.opened(fakeapi.OpenAI)
		if len(got) != 1 || b.vendors.Count(prompt) != 1 {
			t.Fatalf("%q", got)
		}
		has(t, got[0], "[paceline] Added to the task while it was worked on:", "| and mind the dog", "| "+prompt)
		for i, m := range b.show().Messages {
			if m.Status != "answered" {
				t.Errorf("message %d is %s", i, m.Status)
			}
		}
	})
	t.Run("approve and deny answer from another terminal", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(
			fakeapi.Shell("echo yes > yes.txt"), fakeapi.Shell("echo no > no.txt"), fakeapi.Text{Text: "Done."})})
		id := strings.TrimSpace(b.want(0, "run", "--detach", "--mode", "ask", "-e", "claude", prompt).out)
		b.want(2, "approve", id, "no-such-request")
		first := b.asks(id, 1)
		b.want(0, "approve", id, first)
		b.want(2, "approve", id, first)
		b.want(0, "deny", id, b.asks(id, 2))
		has(t, b.want(0, "attach", id).out, "Done.")
		if b.file("yes.txt") != "yes\n" {
			t.Error("what was approved was not done")
		}
		if _, err := os.Stat(b.path("no.txt")); err == nil {
			t.Error("what was denied was done")
		}
	})
	t.Run("Z102 A script that nobody attends is not kept waiting: exit 5", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Shell("echo yes > yes.txt"))})
		b.want(5, "run", "--mode", "ask", "-e", "claude", prompt)
	})
	t.Run("An agent inside a run may look, and nothing more, also with its marker washed off", func(t *testing.T) {
		script := fakeapi.Script{}
		b := serverBed(t, script)
		state := filepath.Join(b.dir, "state")
		id := strings.TrimSpace(b.want(0, "run", "--detach", "--mode", "read", "-e", "codex", "another").out)
		inside := func(args string) fakeapi.ToolCall {
			return fakeapi.Shell(fmt.Sprintf(
				"{ for c in 'approve %[4]s r' 'deny %[4]s r' 'send %[4]s x' 'steer %[4]s x' 'stop %[4]s' 'trust --yes'; do %[1]s $c; echo code=$?; done; %[1]s %[2]s; echo code=$?; env -i HOME=$HOME PATH=$PATH PACELINE_STATE=%[3]s %[1]s %[2]s; echo code=$?; %[1]s threads; echo look=$?; } > agent.txt 2>&1", binary, args, state, id))
		}
		b.vendors.Play(fakeapi.OpenAI, fakeapi.Step{Answer: fakeapi.Hang{}})
		b.vendors.Play(fakeapi.Anthropic, fakeapi.Step{Answer: inside("run --detach --mode full -e claude more")}, fakeapi.Step{Answer: fakeapi.Text{Text: "Done."}})
		b.want(0, "run", "--mode", "full", "-e", "claude", prompt)
		said := b.file("agent.txt")
		has(t, said, "this was asked from inside a run", "look=0")
		if strings.Count(said, "code=5") != 8 {
			t.Errorf("it was let in:\n%s", said)
		}
	})
	t.Run("Forged fields are dropped", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "One."}, fakeapi.Text{Text: "Two."})})
		b.want(0, "run", "-e", "claude", prompt)
		id := b.thread()
		// All of it: where the first program has ended by now, the next one needs it.
		env, err := json.Marshal(b.env)
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"id":"m-forged","thread":%q,"text":"second","client":{"env":%s,"attended":true},
			"sender":"system","kind":"continuation","uuid":"chosen","opener":true,"claim":{"phase":"pending"},"generation":7,"run":"r-1"}`,
			id, env)
		client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", filepath.Join(b.dir, "state", "paceline.sock"))
		}}}
		res, err := client.Post("http://paceline/v1/prompts", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Fatalf("%s: %s", res.Status, said)
		}
		b.want(0, "attach", id)
		var s struct {
			Messages []struct {
				ID     string `json:"id"`
				Sender string `json:"sender"`
				Kind   string `json:"kind"`
				UUID   string `json:"uuid"`
				Opener bool   `json:"opener"`
			} `json:"messages"`
		}
		if err := json.Unmarshal([]byte(b.want(0, "show", id, "--json").out), &s); err != nil {
			t.Fatal(err)
		}
		m := s.Messages[1]
		if m.ID != "m-forged" || m.Sender != "user" || m.Kind != "prompt" || m.UUID == "chosen" || m.Opener {
			t.Errorf("kept as %+v", m)
		}
		// The same id once more is the same message.
		if res, err = client.Post("http://paceline/v1/prompts", "application/json", strings.NewReader(body)); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if n := len(b.show().Messages); n != 2 {
			t.Errorf("%d messages", n)
		}
	})
	t.Run("A hundred commands that all need the server start one", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "One."})})
		b.want(0, "run", "-e", "claude", prompt)
		id := b.thread()
		b.want(0, "server", "stop")
		// A socket that a killed server left is in the way of nobody.
		stale, err := net.Listen("unix", filepath.Join(b.dir, "state", "paceline.sock"))
		if err != nil {
			t.Fatal(err)
		}
		stale.(*net.UnixListener).SetUnlinkOnClose(false)
		stale.Close()
		var group sync.WaitGroup
		codes := make(chan result, 100)
		for range 100 {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd, out, errs := b.command(ctx, "stop", id)
				_ = cmd.Run()
				codes <- result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
			})
		}
		group.Wait()
		close(codes)
		for r := range codes {
			if r.code != 0 {
				t.Errorf("%s", r)
			}
		}
		until(t, "one server is left", func() bool { return b.servers() == 1 })
	})
	t.Run("A cleared socket is made again", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "One."}, fakeapi.Text{Text: "Two."})})
		b.want(0, "run", "-e", "claude", prompt)
		old := b.info().Pid
		if err := os.Remove(filepath.Join(b.dir, "state", "paceline.sock")); err != nil {
			t.Fatal(err)
		}
		has(t, b.want(0, "run", "-c", "again").out, "Two.")
		if now := b.info().Pid; now == old {
			t.Error("it is still the server that could not be reached")
		}
	})
	t.Run("A state folder that lies too deep for a socket, and one of somebody else", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "One."})})
		deep := filepath.Join(b.dir, strings.Repeat("deep/", 20), "state")
		b.env = append(b.env, "PACELINE_STATE="+deep)
		has(t, b.want(0, "run", "-e", "claude", prompt).out, "One.")
		b.want(0, "server", "stop")
		if os.Geteuid() != 0 {
			return
		}
		if err := os.Chown(deep, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		r := b.want(1, "run", "-e", "claude", prompt)
		has(t, r.err, "belongs to another user", "chown")
		if err := os.Chown(deep, 0, 0); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("Another version says so, drains the server at the end of its turns, and takes over", func(t *testing.T) {
		newer := filepath.Join(t.TempDir(), "paceline")
		build := exec.Command("go", "build", "-tags", "crashpoints", "-ldflags", "-X github.com/paceline/paceline/internal/cli.release=v9.9.9", "-o", newer, "../cmd/paceline")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(slowly(20), fakeapi.Text{Text: "Newer."})})
		id := strings.TrimSpace(b.want(0, "run", "--detach", "-e", "claude", prompt).out)
		until(t, "claude is asked", func() bool { return b.sent(fakeapi.Anthropic, prompt) == 1 })
		old := b.info().Pid
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, newer, "run", "-e", "claude", "asked of the newer one")
		var out, errs bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.project, b.env, &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s%s", err, &out, &errs)
		}
		has(t, errs.String(), "this is v9.9.9: it is drained", "1 threads at work")
		has(t, out.String(), "Newer.")
		if now := b.info().Pid; now == old || b.servers() != 1 {
			t.Errorf("%d servers, %d answers; %d was drained", b.servers(), now, old)
		}
		var show struct {
			Messages []struct{ Status string }
		}
		if err := json.Unmarshal([]byte(b.want(0, "show", id, "--json").out), &show); err != nil || show.Messages[0].Status != "answered" {
			t.Errorf("the drained server's run: %+v, %v", show, err)
		}
		stop := exec.Command(newer, "server", "stop")
		stop.Env = b.env
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// thread is the thread that changed last.
func (b *bed) thread() string {
	b.t.Helper()
	id, _, _ := strings.Cut(b.want(0, "threads").out, " ")
	return id
}

// running reports whether a process of a run has this in its command line.
func (b *bed) running(what string) bool {
	for _, p := range b.marked() {
		if strings.Contains(p.cmd, what) {
			return true
		}
	}
	return false
}

// servers counts this user's servers.
func (b *bed) servers() (n int) {
	procs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range procs {
		env, err := os.ReadFile(p)
		cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		if err == nil && bytes.Contains(env, []byte("PACELINE_STATE="+filepath.Join(b.dir, "state"))) && bytes.Contains(cmd, []byte("\x00serve\x00")) {
			n++
		}
	}
	return n
}
