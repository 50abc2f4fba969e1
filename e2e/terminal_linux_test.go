package e2e

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// onTerminal runs a command on a terminal of its own, its stdout apart. hangup
// takes the terminal away, as a closed window or a lost ssh line does.
func (b *bed) onTerminal(args ...string) (hangup func(), out *buffer, wait func() result) {
	b.t.Helper()
	// Not blocking, so that closing it does not wait for the one who reads it.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		b.t.Skip("not run: there is no terminal to be had: ", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "terminal")
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	cmd, out, shown := b.command(b.t.Context(), args...)
	cmd.Stdin, cmd.Stderr = slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	slave.Close()
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(shown, master) }()
	go func() { defer close(ended); _ = cmd.Wait() }()
	b.t.Cleanup(func() { master.Close(); <-ended })
	return func() { master.Close() }, out, func() result {
		<-ended
		return result{cmd.ProcessState.ExitCode(), out.String(), shown.String()}
	}
}
