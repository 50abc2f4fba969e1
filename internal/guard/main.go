package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Main is the guard process. Start gives it its files; by hand it is of no use.
func Main(args []string) int {
	if len(args) > 0 || !piped(controlFD) || !piped(statusFD) {
		fmt.Fprintln(os.Stderr, "guard: is started by paceline itself, for each child")
		return 2
	}
	// Handled and not ignored: what is ignored here would be ignored by the
	// harness as well, which then could not be interrupted.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)

	status := os.NewFile(statusFD, "status")
	control := bufio.NewReader(os.NewFile(controlFD, "control"))
	g := guard{tree: tree{root: os.Getpid()}, status: status}
	if err := g.start(control); err != nil {
		g.say(event{Event: "refused", Why: err.Error()})
		return 1
	}
	g.say(event{Event: "started", Pid: g.harness})
	commands := make(chan string)
	go listen(control, commands)
	g.watch(commands, signals)
	g.last()
	return 0
}

func piped(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// guard is the state of one watch. Only the goroutine of Main touches it.
type guard struct {
	spec    Spec
	tree    tree
	harness int // 0 once it has ended
	status  io.Writer
	lock    *os.File
	reaped  <-chan death // closed when no child is left, and so nothing of the tree

	phase    phase
	deadline <-chan time.Time // when the next phase begins
	frozen   bool
	ended    Ended
	named    map[proc]bool // what ended.Stopped holds
}

type phase uint8

const (
	running     phase = iota
	interrupted       // the harness was asked
	terminated        // everything was asked
	killing
)

// death is a child that was waited for.
type death struct {
	pid    int
	status unix.WaitStatus
}

// start does all that can be refused.
func (g *guard) start(control *bufio.Reader) error {
	order, err := control.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	if err := json.Unmarshal(order, &g.spec); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	s := &g.spec
	if s.Run == "" || len(s.Argv) == 0 {
		return errors.New("order names no run, or nothing to run")
	}
	bin, err := find(s.Argv[0], s.Env)
	if err != nil {
		return err
	}
	if g.lock, err = hold(s.Lock); err != nil {
		return err
	}
	if err := adopt(); err != nil {
		return err
	}
	s.Env = marked(s.Env, s.Run)
	if g.harness, g.reaped, err = spawn(bin, s); err != nil {
		return fmt.Errorf("start %s in %s: %w", s.Argv[0], s.Dir, err)
	}
	g.tree.group = g.harness
	// The pipes are the harness's now. Held here as well, its closing of one would
	// not be seen. Standard error stays: a panic of ours must be heard somewhere.
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer null.Close()
	for fd := range 2 {
		_ = redirect(int(null.Fd()), fd)
	}
	return nil
}

// marked is env with the run's marker and no other's.
func marked(env []string, run string) []string {
	out := make([]string, 0, len(env)+1)
	for _, v := range env {
		if !strings.HasPrefix(v, Marker+"=") {
			out = append(out, v)
		}
	}
	return append(out, Marker+"="+run)
}

// find looks for a program as the child's own shell would.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p
		}
	}
	for dir := range strings.SplitSeq(path, ":") {
		if !strings.HasPrefix(dir, "/") {
			continue // relative to a tree that is not to be trusted
		}
		bin := dir + "/" + name
		if info, err := os.Stat(bin); err == nil && info.Mode().IsRegular() && unix.Access(bin, unix.X_OK) == nil {
			return bin, nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH", name)
}

// listen passes the server's commands on, the last of them its death.
func listen(control *bufio.Reader, commands chan<- string) {
	for {
		line, err := control.ReadString('\n')
		if err != nil {
			commands <- cmdGone
			return
		}
		commands <- strings.TrimSuffix(line, "\n")
	}
}

// watch returns when nothing of the tree is left. Until something happens it is
// blocked.
func (g *guard) watch(commands <-chan string, signals <-chan os.Signal) {
	for {
		select {
		case word := <-commands:
			g.obey(word)
		case s := <-signals:
			if s == unix.SIGTERM {
				g.obey(cmdStop)
			}
		case <-g.deadline:
			g.advance()
		case d, more := <-g.reaped:
			if !more {
				return
			}
			if d.pid == g.harness {
				g.over(d.status)
			}
		}
	}
}

func (g *guard) obey(word string) {
	switch word {
	case cmdFreeze:
		_, err := g.tree.freeze()
		g.frozen = true
		e := event{Event: "frozen"}
		if err != nil {
			e.Why = err.Error()
		}
		g.say(e)
		if g.phase != running {
			g.kill() // it was being ended, and cannot end by itself any more
		}
	case cmdKill:
		g.kill()
	case cmdStop, cmdGone:
		switch {
		case g.frozen:
			g.kill()
		case g.phase == running:
			g.phase = interrupted
			g.interrupt()
			g.deadline = time.After(g.spec.Grace.Interrupt)
		}
	}
}

// over is the harness's end; what it started may live on.
func (g *guard) over(s unix.WaitStatus) {
	g.ended.Exit = s.ExitStatus()
	if s.Signaled() {
		g.ended.Signal = unix.SignalName(s.Signal())
	}
	g.harness = 0
	if g.phase < terminated {
		g.terminate()
	}
}

func (g *guard) advance() {
	switch g.phase {
	case interrupted:
		g.terminate()
	default:
		g.kill()
	}
}

func (g *guard) interrupt() {
	for _, p := range g.tree.descendants() {
		if p.pid == g.harness {
			_ = p.signal(unix.SIGINT)
		}
	}
}

func (g *guard) terminate() {
	if g.frozen {
		g.kill()
		return
	}
	g.phase = terminated
	g.deadline = time.After(g.spec.Grace.Term)
	for _, p := range g.tree.descendants() {
		g.stopped(p)
		_ = p.signal(unix.SIGTERM)
		_ = p.signal(unix.SIGCONT) // a job that someone suspended could not hear it
	}
}

// kill is repeated until the last child is reaped: the lock says that something
// lives for as long as something does.
func (g *guard) kill() {
	g.phase = killing
	all, _ := g.tree.freeze() // what does not stop in time is killed running
	for i := len(all) - 1; i >= 0; i-- {
		g.stopped(all[i])
		_ = all[i].signal(unix.SIGKILL)
	}
	g.deadline = time.After(again)
}

// again is how long the killed may take to be gone before it is looked whether
// all of them were.
const again = 20 * time.Millisecond

func (g *guard) stopped(p proc) {
	key := proc{pid: p.pid, born: p.born}
	if p.pid == g.harness || g.named[key] {
		return
	}
	if g.named == nil {
		g.named = map[proc]bool{}
	}
	g.named[key] = true
	g.ended.Stopped = append(g.ended.Stopped, Process{Pid: p.pid, Name: p.name})
}

// last ends what is no child of ours but of the tree all the same, and only
// then lets go of the lock. It does not give up: a lock that is free is a promise.
func (g *guard) last() {
	for len(g.tree.descendants()) > 0 { // on a system that hands us no orphans
		g.kill()
		time.Sleep(again)
	}
	for err := error(unix.EAGAIN); err != nil; {
		var strays []Process
		strays, err = Sweep(g.spec.Run)
		for _, p := range strays {
			if !slices.Contains(g.ended.Stopped, p) {
				g.ended.Stopped = append(g.ended.Stopped, p)
			}
		}
	}
	_ = flock(g.lock, unix.LOCK_UN) // before it is said, so that who was told finds it free
	g.say(event{Event: "ended", Ended: &g.ended})
}

// say tells the server. A server that is gone is told nothing, and learns of it
// by its next start.
func (g *guard) say(e event) {
	line, err := json.Marshal(e)
	if err == nil {
		_, _ = g.status.Write(append(line, '\n'))
	}
}

// spawn starts the harness, and waits for it and all that is handed to us.
func spawn(bin string, s *Spec) (int, <-chan death, error) {
	type born struct {
		pid int
		err error
	}
	first, reaped := make(chan born, 1), make(chan death)
	go func() {
		bind()
		if s.Cage != nil {
			if err := s.Cage.enter(); err != nil {
				first <- born{err: err}
				return
			}
		}
		pid, err := syscall.ForkExec(bin, s.Argv, &syscall.ProcAttr{
			Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2}, Sys: origin(),
		})
		first <- born{pid, err}
		if err == nil {
			reap(reaped)
		}
	}()
	b := <-first
	return b.pid, reaped, b.err
}

func reap(reaped chan<- death) {
	defer close(reaped)
	for {
		var d death
		var err error
		if d.pid, err = unix.Wait4(-1, &d.status, 0, nil); err == unix.EINTR {
			continue
		} else if err != nil {
			return
		}
		reaped <- d
	}
}
