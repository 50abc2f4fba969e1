package guard

import (
	"bytes"
	"strconv"
)

// Inside reports whether a process belongs to some run: it or an ancestor
// carries a run's marker or is a guard. A process that cleared its environment
// still descends from one that did not, and one that nobody owns any more was
// adopted by its guard. Whoever cannot be looked at is taken for inside.
func Inside(pid int) bool {
	for range 1000 { // a chain of parents is short
		if pid <= 1 {
			return false
		}
		p, ok := look(pid)
		if !ok {
			return true
		}
		env, err := environ(pid)
		if err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+Marker+"=")) {
			return true
		}
		argv, _ := slurp("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if words := bytes.Split(argv, []byte{0}); len(words) > 1 && string(words[1]) == "guard" && bytes.HasSuffix(words[0], []byte("paceline")) {
			return true
		}
		pid = p.parent
	}
	return true
}
