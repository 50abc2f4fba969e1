//go:build !linux

package pgtest

import (
	"os/exec"
	"syscall"
)

func attributes(owner *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner}
}

func wait(cmd *exec.Cmd, started chan<- error, ended chan<- struct{}) {
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait()
	}
	close(ended)
}
