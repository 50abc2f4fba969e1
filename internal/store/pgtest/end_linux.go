package pgtest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// attributes have the server end with the test, however that ends.
func attributes(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGKILL}
}

// wait stays with a process. The signal is tied to the thread that started it,
// so this one lasts as long.
func wait(cmd *exec.Cmd, started chan<- error, ended chan<- struct{}) {
	runtime.LockOSThread()
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait()
	}
	close(ended)
}
