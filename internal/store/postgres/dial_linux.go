package postgres

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// unanswered bounds how long what was sent may go without an answer. Keepalive
// asks only where nothing is on its way.
func unanswered(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
