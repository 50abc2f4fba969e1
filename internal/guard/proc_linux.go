package guard

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// descendants are all living processes of the tree, parents before children.
func (t tree) descendants() []proc {
	kids := children
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		kids = byParent() // a kernel built without the list
	}
	var all []proc
	in := map[int]bool{t.root: true}
	for at := []int{t.root}; len(at) > 0; at = at[1:] {
		for _, pid := range kids(at[0]) {
			p, ok := look(pid)
			// Its parent is looked at again, because the number may by now be another's.
			if !ok || in[pid] || !in[p.parent] {
				continue
			}
			in[pid] = true
			at = append(at, pid)
			if !p.dead() {
				all = append(all, p)
			}
		}
	}
	return all
}

// children lists what the kernel says pid's threads have started or adopted.
// While they run it may miss some; see freeze.
func children(pid int) (out []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	for _, tid := range numbers(dir) {
		list, err := slurp(dir + strconv.Itoa(tid) + "/children")
		if err != nil {
			continue
		}
		for f := range bytes.FieldsSeq(list) {
			if n, err := strconv.Atoi(string(f)); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// byParent is children from one look at everything.
func byParent() func(int) []int {
	of := map[int][]int{}
	for _, pid := range numbers("/proc") {
		if p, ok := look(pid); ok {
			of[p.parent] = append(of[p.parent], pid)
		}
	}
	return func(pid int) []int { return of[pid] }
}

// search looks for the processes whose environment holds an entry, as often as
// it takes to be sure.
type search struct {
	entry string
	known map[int]bool // true: looked at and not one of them. false: dead when first seen
}

// look returns them. It is not sure when one could have been missed: a process
// ended between being listed and being read, perhaps having forked, or it was
// just becoming another program and had no environment yet. To look again is
// cheap while nothing was found: only who is new is read.
func (s *search) look() (found []proc, sure bool) {
	if s.known == nil {
		s.known = map[int]bool{os.Getpid(): true}
	}
	sure = true
	want := []byte("\x00" + s.entry + "\x00")
	for _, pid := range numbers("/proc") {
		if s.known[pid] {
			continue
		}
		env, err := environ(pid)
		switch {
		case len(env) > 0:
			if env = append(append([]byte{0}, env...), 0); !bytes.Contains(env, want) {
				s.known[pid] = true
			} else if p, ok := look(pid); ok && !p.dead() {
				found = append(found, p)
			} else {
				sure = false
			}
			continue
		case err == unix.EACCES || err == unix.EPERM:
			s.known[pid] = true // another's: the kernel shows an environment to whoever may debug the process
			continue
		}
		p, rest, ok := stat("/proc/" + strconv.Itoa(pid) + "/stat")
		switch {
		case !ok:
			sure = false
		case p.state == 'Z' || p.state == 'X':
			_, before := s.known[pid]
			s.known[pid] = before
			sure = sure && before
		case bare(rest):
			s.known[pid] = true
		default:
			sure = false
		}
	}
	if len(found) > 0 {
		s.known = nil // what is killed makes numbers free, and these are given out again
	}
	return found, sure
}

// environ is what a process was started with. It is its memory's, and a first
// thread that has ended has none any more while the others run on in it.
func environ(pid int) ([]byte, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	env, err := slurp(dir + "/environ")
	if len(env) > 0 || err == unix.EACCES || err == unix.EPERM {
		return env, err
	}
	for _, tid := range numbers(dir + "/task") {
		if tid == pid {
			continue
		}
		if env, err := slurp(dir + "/task/" + strconv.Itoa(tid) + "/environ"); len(env) > 0 {
			return env, err
		}
	}
	return env, err
}

// bare reports whether a process without an environment is one that has none,
// and not one that has none yet.
func bare(stat [][]byte) bool {
	const (
		kthread = 0x00200000 // PF_KTHREAD in the flags
		flags   = 9 - 3      // where the flags are in what follows the name
		envEnd  = 51 - 3
	)
	f, err := strconv.ParseUint(string(stat[flags]), 10, 64)
	if err == nil && f&kthread != 0 {
		return true
	}
	return len(stat) > envEnd && string(stat[envEnd]) != "0"
}

func look(pid int) (proc, bool) {
	p, _, ok := stat("/proc/" + strconv.Itoa(pid) + "/stat")
	p.pid = pid
	return p, ok
}

// stat reads a line of the form "pid (name) state parent ...", and returns what
// follows the name. The name may hold blanks and brackets.
func stat(path string) (p proc, rest [][]byte, ok bool) {
	line, err := slurp(path)
	open, shut := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if err != nil || open < 0 || shut < open {
		return p, nil, false
	}
	rest = bytes.Fields(line[shut+1:])
	if len(rest) < 20 {
		return p, nil, false
	}
	p.name = string(line[open+1 : shut])
	p.state = rest[0][0]
	p.parent, _ = strconv.Atoi(string(rest[1]))
	p.born, err = strconv.ParseUint(string(rest[19]), 10, 64)
	return p, rest, err == nil
}

// dead reports whether only its number is left. A process whose first thread
// has ended looks like a zombie while its other threads run on.
func (p proc) dead() bool {
	return (p.state == 'Z' || p.state == 'X') && len(numbers("/proc/"+strconv.Itoa(p.pid)+"/task")) <= 1
}

// settle is when a thread asleep in the kernel counts as stopped. The parent of
// a vfork sleeps there for as long as its child is stopped, and a write to a
// slow disk ends there; either comes out of it stopped.
const settle = 20 * time.Millisecond

// still reports whether no thread of p runs, told how long ago it was stopped.
func (p proc) still(after time.Duration) bool {
	dir := "/proc/" + strconv.Itoa(p.pid) + "/task/"
	for _, tid := range numbers(dir) {
		t, _, ok := stat(dir + strconv.Itoa(tid) + "/stat")
		if !ok {
			continue
		}
		switch t.state {
		case 'T', 't', 'Z', 'X':
		case 'D':
			if after < settle {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// signal reaches p or nobody.
func (p proc) signal(sig unix.Signal) error {
	// The handle is taken before the look: whoever it was taken of is then who was
	// looked at, because a number in use is not given out again.
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if now, ok := look(p.pid); !ok || now.born != p.born {
		return unix.ESRCH
	}
	if err != nil {
		return unix.Kill(p.pid, sig) // a kernel before 5.3
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// numbers lists the entries of a folder that are numbers.
func numbers(dir string) (out []int) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	buf := make([]byte, 8<<10)
	var names []string
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// slurp reads a file of /proc. It is called some hundred times in a row while
// someone waits, so it spares what os.ReadFile does for files that can block.
func slurp(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, 4<<10)
	for {
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return buf, nil
		}
		if buf = buf[:len(buf)+n]; len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}
