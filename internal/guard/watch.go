package guard

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// guard is the state of one watch. Only the goroutine of Main touches it.
type guard struct {
	spec    Spec
	tree    tree
	harness int // 0 once it has ended
	status  io.Writer
	lock    *os.File     // never closed: it goes when we go
	reaped  <-chan death // closed when no child is left, and so nothing of the tree

	phase    phase
	deadline <-chan time.Time // when the next phase begins
	frozen   bool
	rounds   int // of killing
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

// watch returns when nothing of the tree is left. Until something happens it is
// blocked.
func (g *guard) watch(commands <-chan string, term <-chan os.Signal) {
	for {
		select {
		case word := <-commands:
			g.obey(word)
		case <-term:
			g.obey(cmdStop)
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
	if g.phase == interrupted {
		g.terminate()
	} else {
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
	g.deadline = time.After(again << min(g.rounds, 6))
	g.rounds++
}

// again is how long the killed may take to be gone before it is looked whether
// all of them were. It doubles: who is still there after that sleeps in the
// kernel, or belongs to another user.
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

// last ends what is no child of ours but of the tree all the same. It does not
// give up: with its return our process ends, and the lock becomes free.
func (g *guard) last() {
	for len(g.tree.descendants()) > 0 { // on a system that hands us no orphans
		g.kill()
		<-g.deadline
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
