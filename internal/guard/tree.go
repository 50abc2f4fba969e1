package guard

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// proc is a process: a number, and the instant it was given to this one.
type proc struct {
	pid    int
	born   uint64 // in the unit of the system
	parent int
	group  int // told on macOS only
	name   string
	state  byte // in the system's own letters
}

// tree is what a guard owns: everything below its root.
type tree struct {
	root  int
	group int // the harness's process group, for systems where orphans leave the tree
}

// patience is when freezing gives up on whoever still runs.
const patience = time.Second

// freeze stops all descendants and returns them, parents first. It looks until
// two rounds in a row found nothing new and nothing running: a process may be
// inside fork while it is told to stop, and one that is not yet stopped may wake
// another.
func (t tree) freeze() ([]proc, error) {
	start := time.Now()
	seen := map[proc]bool{}
	for still := 0; ; {
		var loose, foreign proc
		all := t.descendants()
		for _, p := range all { // parents first: a shell told of its child's stop may continue it
			key := proc{pid: p.pid, born: p.born}
			if seen[key] && p.still(time.Since(start)) {
				continue
			}
			seen[key] = true
			if p.signal(unix.SIGSTOP) == unix.EPERM {
				foreign = p // another user's now; to wait for it would be for ever
			} else {
				loose = p
			}
		}
		switch {
		case loose.pid == 0 && still > 0 && foreign.pid == 0:
			return all, nil
		case loose.pid == 0 && still > 0:
			return all, fmt.Errorf("process %d (%s) is another user's", foreign.pid, foreign.name)
		case loose.pid == 0:
			still++
			continue
		case time.Since(start) > patience:
			return all, fmt.Errorf("process %d (%s) did not stop", loose.pid, loose.name)
		}
		still = 0
		time.Sleep(100 * time.Microsecond)
	}
}
