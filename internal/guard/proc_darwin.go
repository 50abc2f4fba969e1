package guard

import (
	"bytes"
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The states of a process in what the kernel tells.
const (
	suspended = 4 // SSTOP
	zombie    = 5 // SZOMB
)

// descendants are all living processes below root and in the harness's group,
// parents before children.
func (t tree) descendants() []proc {
	every := snapshot()
	var all []proc
	in := map[int]bool{t.root: true}
	for grown := true; grown; {
		grown = false
		for _, p := range every {
			if !in[p.pid] && (in[p.parent] || t.group > 0 && p.group == t.group) {
				in[p.pid], grown = true, true
				all = append(all, p)
			}
		}
	}
	return all
}

func snapshot() (out []proc) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	for _, k := range list {
		if k.Proc.P_stat != zombie {
			out = append(out, known(k))
		}
	}
	return out
}

func known(k unix.KinfoProc) proc {
	name, _, _ := bytes.Cut(k.Proc.P_comm[:], []byte{0})
	return proc{
		pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), group: int(k.Eproc.Pgid),
		born: uint64(k.Proc.P_starttime.Nano()), name: string(name), state: byte(k.Proc.P_stat),
	}
}

// search looks for the processes whose environment holds an entry.
type search struct{ entry string }

// look returns them. The kernel hides the environment of the system's own
// programs, so it is never the whole truth.
func (s *search) look() (found []proc, sure bool) {
	self := os.Getpid()
	for _, p := range snapshot() {
		if p.pid == self {
			continue
		}
		raw, err := unix.SysctlRaw("kern.procargs2", p.pid)
		if err == nil && bytes.Contains(environment(raw), []byte("\x00"+s.entry+"\x00")) {
			found = append(found, p)
		}
	}
	return found, true
}

// environment is what follows the program's path and its counted arguments.
func environment(raw []byte) []byte {
	if len(raw) < 4 {
		return nil
	}
	argc := int(binary.NativeEndian.Uint32(raw))
	_, rest, _ := bytes.Cut(raw[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for range argc {
		_, rest, _ = bytes.Cut(rest, []byte{0})
	}
	return append([]byte{0}, rest...)
}

func (p proc) still(time.Duration) bool { return p.state == suspended }

func (p proc) signal(sig unix.Signal) error {
	now, err := unix.SysctlKinfoProc("kern.proc.pid", p.pid)
	if err != nil || known(*now).born != p.born {
		return unix.ESRCH
	}
	return unix.Kill(p.pid, sig)
}
