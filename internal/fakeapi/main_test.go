package fakeapi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

const inside = "FAKEAPI_TEST_INSIDE"

// TestMain moves the tests into a network of their own, where there is only
// loopback, so that a program under test that tries to leave cannot. That takes
// root; without it the made-up proxy of the environments is what holds.
func TestMain(m *testing.M) {
	if code, moved := reexec(); moved {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func reexec() (code int, moved bool) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 || os.Getenv(inside) != "" {
		return 0, false
	}
	if exec.Command("unshare", "-n", "true").Run() != nil {
		return 0, false
	}
	up := `ip link set lo up 2>/dev/null || ifconfig lo up || exit 97; exec "$@"`
	cmd := exec.Command("unshare", append([]string{"-n", "sh", "-c", up, "sh", os.Args[0]}, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case err == nil:
		return 0, true
	case errors.As(err, &exit) && exit.ExitCode() == 97:
		fmt.Fprintln(os.Stderr, "loopback cannot be brought up in a network of its own; the tests stay in this one")
		return 0, false
	case errors.As(err, &exit):
		return exit.ExitCode(), true
	}
	return 1, true
}

// program finds a real CLI among the repository's pinned ones.
func program(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("drives a real program: not with -short")
	}
	path, err := filepath.Abs(filepath.Join("..", "..", "node_modules", ".bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skipf("%s is not installed: run npm ci in the repository's root to drive the real program", name)
	}
	return path
}

func start(t *testing.T, script Script) *Server {
	t.Helper()
	s, err := Start(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
