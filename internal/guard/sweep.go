package guard

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	unsure   = 250 * time.Millisecond // how long to look again for what could not be read
	sweeping = 10 * time.Second       // how long the killed may take to be gone
)

// Sweep kills every process on this machine whose environment carries the run's
// marker and which may be signalled, but never itself, and returns when none is
// left. It is for what a guard left behind that was itself killed; while a guard
// lives (Held), ending the tree is the guard's.
func Sweep(run string) ([]Process, error) {
	start := time.Now()
	var out []Process
	seen := map[proc]bool{}
	marked := search{entry: Marker + "=" + run}
	for {
		found, sure := marked.look()
		switch {
		case len(found) == 0 && (sure || time.Since(start) > unsure):
			return out, nil
		case len(found) > 0 && time.Since(start) > sweeping:
			return out, fmt.Errorf("sweep %s: process %d (%s) does not end", run, found[0].pid, found[0].name)
		}
		fresh := false
		for _, p := range found {
			key := proc{pid: p.pid, born: p.born}
			if !seen[key] {
				seen[key], fresh = true, true
				out = append(out, Process{Pid: p.pid, Name: p.name})
				_ = p.signal(unix.SIGSTOP)
			}
		}
		if fresh {
			continue // stopped first, so that nothing forks on while its siblings die
		}
		for _, p := range slices.Backward(found) {
			_ = p.signal(unix.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
}
