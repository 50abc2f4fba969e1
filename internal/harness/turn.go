package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/guard"
	"github.com/paceline/paceline/internal/wire"
)

// driver is what differs between two programs once their child is up.
type driver interface {
	// line reads one line of the child: what it means, and what to write back at
	// once (answers to permission requests that the mode decides).
	line(line []byte, at time.Time) (events []wire.Event, reply []byte)
	// prompt is the message as the program takes it.
	prompt(m paceline.Message) []byte
	// answer replies to a permission request that a person decided.
	answer(id string, allow bool) []byte
	// steer adds a message to the turn that runs; taken is false where there is
	// none to add it to.
	steer(ctx context.Context, t *Turn, m paceline.Message) (taken bool, err error)
	// went is the last line that was progress, 0 where none was.
	went() int
	// interrupt asks the program to end its turn, and waits for its word.
	interrupt(ctx context.Context, t *Turn)
	// more reports whether another turn goes on after one has ended.
	more() bool
	// closed is told that the stream ended.
	closed() []wire.Event
}

// listener is a driver that is also told what its program says beside its
// stream, and how it ended. Both come before closed.
type listener interface {
	complaint(line []byte, at time.Time) []wire.Event
	exited(e guard.Ended) []wire.Event
}

// Turn is a child whose conversation is open. One goroutine reads it; every
// other method may be called from any other.
type Turn struct {
	Opened Opened
	// Events ends after the last word of the child; nothing is lost before.
	Events <-chan wire.Event

	harness Harness
	child   *guard.Child
	driver  driver
	stderr  *tail
	mu      sync.Mutex // held while writing to the child
	replies chan reply // answers to our own requests, while opening
	heard   atomic.Pointer[time.Time]
	went    atomic.Pointer[went]
}

// went is the last line that was progress.
type went struct {
	line int
	at   time.Time
}

// reply is a program's answer to a request of ours.
type reply struct {
	id   string
	ok   bool
	body []byte
}

// opening is how long a program may take until its conversation is open. A cold
// start on a loaded machine was seen to take fifteen seconds.
const opening = 60 * time.Second

// start brings a child up under its guard, and a goroutine that reads it.
func start(ctx context.Context, h Harness, l Launch, argv []string, env Environment, d driver, replies chan reply) (*Turn, error) {
	child, err := guard.Start(l.Self, guard.Spec{
		Run: string(l.Run), Argv: argv, Env: env, Dir: l.Dir, Lock: l.Lock, Cage: l.Containment.Cage,
		Grace: guard.Grace{Interrupt: 2 * time.Second, Term: 5 * time.Second},
	})
	if err != nil {
		return nil, &Trouble{What: h.Name() + " could not be started", Hint: h.Install(), Err: err}
	}
	t := &Turn{harness: h, child: child, driver: d, stderr: &tail{}, replies: replies}
	events := make(chan wire.Event, 256)
	t.Events = events
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		t.complaints(events)
	}()
	go func() {
		defer close(events)
		t.read(events, drained)
		<-drained
	}()
	return t, nil
}

// complaints keeps what the child writes on its standard error, and tells a
// driver that listens to it.
func (t *Turn) complaints(events chan<- wire.Event) {
	l, listens := t.driver.(listener)
	if !listens {
		_, _ = io.Copy(t.stderr, t.child.Stderr)
		return
	}
	in := bufio.NewReaderSize(io.TeeReader(t.child.Stderr, t.stderr), 4<<10)
	for {
		line, err := wire.ReadLine(in)
		if len(line) > 0 {
			for _, e := range l.complaint(line, time.Now()) {
				events <- e
			}
		}
		if err != nil {
			return
		}
	}
}

// read feeds the child's lines to its driver until it has nothing more to say.
func (t *Turn) read(events chan<- wire.Event, drained <-chan struct{}) {
	defer close(t.replies)
	last := 0
	in := bufio.NewReaderSize(t.child.Stdout, 64<<10)
	for {
		line, err := wire.ReadLine(in)
		if len(line) > 0 {
			now := time.Now()
			t.heard.Store(&now)
			got, answer := t.driver.line(line, now)
			if n := t.driver.went(); n > last {
				last = n
				t.went.Store(&went{n, now})
			}
			if len(answer) > 0 {
				_ = t.write(answer) // a child that is gone says so by its stream's end
			}
			for _, e := range got {
				events <- e
			}
		}
		if err != nil {
			break
		}
	}
	if l, listens := t.driver.(listener); listens {
		<-drained
		for _, e := range l.exited(t.child.Wait()) {
			events <- e
		}
	}
	for _, e := range t.driver.closed() {
		events <- e
	}
}

func (t *Turn) write(b []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.child.Stdin.Write(b)
	return err
}

// Send writes the prompt. The run's `sending` must be on disk before.
func (t *Turn) Send(m paceline.Message) error {
	if err := t.write(t.driver.prompt(m)); err != nil {
		return t.ended("did not take the prompt", err)
	}
	return nil
}

// Steer adds a message to the turn that runs. It is not taken where there is
// none any more: then it was not sent.
func (t *Turn) Steer(ctx context.Context, m paceline.Message) (taken bool, err error) {
	return t.driver.steer(ctx, t, m)
}

// Heard is when the child last said anything at all, a ping included; zero is
// never.
func (t *Turn) Heard() time.Time {
	if at := t.heard.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// Went is the last line that was progress of the turn, and when it came; zero is
// none.
func (t *Turn) Went() (line int, at time.Time) {
	if w := t.went.Load(); w != nil {
		return w.line, w.at
	}
	return 0, time.Time{}
}

// interrupting is how long a program may take to end one turn (R13), and
// unconfirmed how long to end all (R17).
const (
	interrupting = 10 * time.Second
	unconfirmed  = 60 * time.Second
)

// Interrupt asks the program to end its turn and all below it, so that its own
// transcripts say how far they came. Its tree lives on: Stop ends it.
func (t *Turn) Interrupt(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, unconfirmed)
	defer cancel()
	t.driver.interrupt(ctx, t)
}

// More reports, after a turn has ended, whether the program goes on with another
// one: a steer that came too late for it.
func (t *Turn) More() bool { return t.driver.more() }

// Answer replies to a permission request.
func (t *Turn) Answer(id string, allow bool) error {
	if b := t.driver.answer(id, allow); len(b) > 0 {
		return t.write(b)
	}
	return nil
}

// Freeze stops the whole tree where it stands: from here on it writes nothing,
// and leaves the processor to its successor.
func (t *Turn) Freeze() error { return t.child.Freeze() }

// Close ends a child that has finished its turn, gently: it may still write its
// own files. What it left running in the background is ended with it.
func (t *Turn) Close(ctx context.Context) guard.Ended {
	_ = t.child.Stdin.Close()
	done := make(chan guard.Ended, 1)
	go func() { done <- t.child.Wait() }()
	select {
	case e := <-done:
		return e
	case <-ctx.Done():
	case <-time.After(leaving):
	}
	e, _ := t.child.Stop(context.WithoutCancel(ctx))
	return e
}

// leaving is how long a program may take to end by itself; its own end hooks
// run in that time.
const leaving = 10 * time.Second

// Stop interrupts, then ends, the whole tree.
func (t *Turn) Stop(ctx context.Context) (guard.Ended, error) { return t.child.Stop(ctx) }

// Kill ends the whole tree at once, a frozen one too.
func (t *Turn) Kill(ctx context.Context) (guard.Ended, error) { return t.child.Kill(ctx) }

// await waits for the answer to one of our own requests while the conversation
// is opened.
func (t *Turn) await(ctx context.Context, id string) (reply, error) {
	for {
		if r, err := t.awaitAny(ctx); err != nil || r.id == id {
			return r, err
		}
	}
}

// awaitAny waits for the next answer to any request of ours.
func (t *Turn) awaitAny(ctx context.Context) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	select {
	case r, ok := <-t.replies:
		if !ok {
			return r, t.ended("ended before its conversation was open", nil)
		}
		return r, nil
	case <-ctx.Done():
		return reply{}, &Trouble{
			What: t.harness.Name() + " did not answer while its conversation was opened", Err: ctx.Err(),
			Hint: "start it by hand once to see what it waits for",
		}
	}
}

// abandon ends a child that could not be opened.
func (t *Turn) abandon(err error) error {
	_, _ = t.child.Kill(context.Background())
	for range t.Events {
	}
	return err
}

// ended describes a child that went away too early.
func (t *Turn) ended(what string, err error) error {
	tr := &Trouble{What: t.harness.Name() + " " + what, Err: err, Hint: "start it by hand once to see what it says"}
	select {
	case <-time.After(time.Second):
	case <-t.exited():
		tr.What += fmt.Sprintf(" (%s)", t.child.Wait())
	}
	if said := t.stderr.first(); said != "" {
		tr.Hint = "it said: " + said
	}
	return tr
}

func (t *Turn) exited() <-chan struct{} {
	c := make(chan struct{})
	go func() { t.child.Wait(); close(c) }()
	return c
}

// tail keeps the beginning of what a child wrote to its standard error.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 4096 - len(t.buf); room > 0 {
		t.buf = append(t.buf, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// first is the first line that was written, short, without anything that looks
// like a secret.
func (t *tail) first() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(t.buf)), "\n")
	words := strings.Fields(line)
	for i, w := range words {
		if len(w) > 24 && !strings.ContainsAny(w, "/.") || strings.HasPrefix(w, "sk-") || strings.Contains(w, "@") {
			words[i] = "…"
		}
	}
	line = strings.Join(words, " ")
	if len(line) > 200 {
		line = line[:200] + "…"
	}
	return strings.ToValidUTF8(line, "?")
}
