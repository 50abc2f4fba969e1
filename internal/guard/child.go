package guard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Child is a harness under its guard, as its server sees it. Its methods may be
// called from any goroutine, and after its end.
type Child struct {
	Stdin  io.WriteCloser // closed when the tree has ended
	Stdout io.ReadCloser  // ends at the latest when the tree has ended; the reader closes it
	Stderr io.ReadCloser  // the same

	run     string
	pid     int
	cmd     *exec.Cmd
	status  *os.File
	events  *bufio.Reader
	tell    sync.Mutex // held while a command is written
	control *os.File
	freeze  sync.Mutex // one question at a time, so that the answer is to it
	frozen  chan string
	done    chan struct{}
	ended   Ended // set before done is closed
}

// Start runs a harness under a guard of its own, and returns once it is up.
// self is a program that calls Main when its first argument is "guard".
func Start(self string, s Spec) (*Child, error) {
	order, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	c := &Child{run: s.Run, frozen: make(chan string), done: make(chan struct{})}
	c.cmd = exec.Command(self, "guard")
	// The server's environment holds what is not the harness's business, and the
	// guard needs none of it. Not empty: os/exec would take nil for "inherit".
	c.cmd.Env = []string{}
	// Ctrl-C and a closing terminal are for the server to decide on.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.connect(); err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	c.events = bufio.NewReader(c.status)
	e, err := c.first(append(order, '\n'))
	if err != nil {
		c.control.Close()
		c.cmd.Wait()
		for _, f := range []io.Closer{c.Stdin, c.Stdout, c.Stderr, c.status} {
			f.Close()
		}
		return nil, err
	}
	c.pid = e.Pid
	go c.follow()
	return c, nil
}

// connect lays the five pipes and starts the guard on their far ends.
func (c *Child) connect() (err error) {
	var near, far []*os.File
	defer func() {
		for _, f := range far {
			f.Close()
		}
		if err != nil {
			for _, f := range near {
				f.Close()
			}
		}
	}()
	for fd := range 5 {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		if fd == 0 || fd == controlFD {
			near, far = append(near, w), append(far, r)
		} else {
			near, far = append(near, r), append(far, w)
		}
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr, c.cmd.ExtraFiles = far[0], far[1], far[2], far[controlFD:]
	c.Stdin, c.Stdout, c.Stderr, c.control, c.status = near[0], near[1], near[2], near[controlFD], near[statusFD]
	return c.cmd.Start()
}

// first hands over the order and waits for what came of it.
func (c *Child) first(order []byte) (event, error) {
	_, written := c.control.Write(order)
	e, err := c.next()
	switch {
	case err == nil && e.Event == "started":
		return e, nil
	case err == nil:
		return e, errors.New(e.Why)
	case written != nil:
		return e, fmt.Errorf("start guard: it took no order: %w", written)
	}
	// Killed, or broken: then its last words are on standard error. Should it have
	// started something, that goes the way of its guard.
	c.control.Close()
	c.cmd.Wait()
	Sweep(c.run)
	said, _ := io.ReadAll(io.LimitReader(c.Stderr, 4<<10))
	return e, fmt.Errorf("start guard: it ended at once: %s", said)
}

func (c *Child) next() (e event, err error) {
	line, err := c.events.ReadBytes('\n')
	if err != nil {
		return e, err // a line without its end is the last word of a killed guard
	}
	return e, json.Unmarshal(line, &e)
}

// follow reads the guard to its end.
func (c *Child) follow() {
	defer close(c.done)
	over := false
	for {
		e, err := c.next()
		if err != nil {
			break
		}
		switch e.Event {
		case "frozen":
			c.frozen <- e.Why // Freeze waits for it, or nobody asked
		case "ended":
			c.ended, over = *e.Ended, true
		}
	}
	c.cmd.Wait()
	if !over {
		// Killed by force. The kernel has killed the harness, but not its children.
		stopped, _ := Sweep(c.run)
		c.ended = Ended{Exit: -1, Lost: true, Stopped: without(stopped, c.pid)}
	}
	c.tell.Lock()
	c.control.Close()
	c.tell.Unlock()
	c.status.Close()
	c.Stdin.Close()
}

func without(ps []Process, pid int) (out []Process) {
	for _, p := range ps {
		if p.Pid != pid {
			out = append(out, p)
		}
	}
	return out
}

// Pid is the harness's process id.
func (c *Child) Pid() int { return c.pid }

// Freeze stops the whole tree where it stands. When it returns without an error
// no process of the tree runs, and none ever will: a frozen tree is ended by
// Kill, by Stop as if by Kill, and by the death of its server.
func (c *Child) Freeze() error {
	c.freeze.Lock()
	defer c.freeze.Unlock()
	c.command(cmdFreeze)
	select {
	case why := <-c.frozen:
		if why != "" {
			return fmt.Errorf("freeze %s: %s", c.run, why)
		}
		return nil
	case <-c.done:
		return nil // the dead write nothing either
	}
}

// Stop ends the tree: SIGINT to the harness, then SIGTERM to all that is left,
// then SIGKILL, as the Spec's grace allows. When ctx ends first its error is
// returned, and the guard carries on.
func (c *Child) Stop(ctx context.Context) (Ended, error) { return c.end(ctx, cmdStop) }

// Kill ends the tree at once, a frozen one too.
func (c *Child) Kill(ctx context.Context) (Ended, error) { return c.end(ctx, cmdKill) }

func (c *Child) end(ctx context.Context, how string) (Ended, error) {
	c.command(how)
	select {
	case <-c.done:
		return c.ended, nil
	case <-ctx.Done():
		return Ended{}, fmt.Errorf("%s %s: %w", how, c.run, ctx.Err())
	}
}

// command writes to the guard. A guard that cannot be told has ended, and that
// is what everyone then waits for.
func (c *Child) command(word string) {
	c.tell.Lock()
	defer c.tell.Unlock()
	c.control.Write([]byte(word + "\n"))
}

// Wait waits until nothing of the tree lives: after the harness's own end what
// it left in the background is ended too, and named.
func (c *Child) Wait() Ended {
	<-c.done
	return c.ended
}
