package guard

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt keeps our pipes from the tree. There is no way to be given its orphans.
func adopt() error {
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(statusFD)
	return nil
}

func bind() {}

func origin() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func redirect(from, to int) error { return unix.Dup2(from, to) }

// CageAvailable names what would enforce a cage here, or says why nothing would.
func CageAvailable() (string, error) {
	return "", errors.New("there is no cage on macOS yet")
}

func (c *Cage) enter() error {
	_, err := CageAvailable()
	return err
}
