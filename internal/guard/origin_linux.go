package guard

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt makes us the parent of whatever in the tree loses its own, and keeps
// every file of ours from it.
func adopt() error {
	if _, ok := look(os.Getpid()); !ok {
		return errors.New("no /proc: the tree could not be seen")
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	// Our pipes were handed to us to be kept over exec, and so perhaps was
	// something that the server's own parent forgot to close.
	if err := unix.CloseRange(controlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		unix.CloseOnExec(controlFD)
		unix.CloseOnExec(statusFD)
	}
	return nil
}

// bind ties the goroutine that starts and awaits the harness to its thread, for
// good. The kernel kills the harness when the thread dies that started it, not
// when the process does; and a cage is put on that one thread, which the runtime
// then neither lends to other goroutines nor starts threads from.
func bind() { runtime.LockOSThread() }

// origin is how the harness is started: in a session of its own, so that the
// signals it sends to its own group miss us, and so that its group does not
// become an orphan with our death, which would wake it if it were frozen.
func origin() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

func redirect(from, to int) error { return unix.Dup3(from, to, 0) }
