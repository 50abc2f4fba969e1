package guard

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// death is a child that was waited for.
type death struct {
	pid    int
	status unix.WaitStatus
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
