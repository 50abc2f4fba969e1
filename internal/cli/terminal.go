package cli

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/paceline/paceline/internal/harness"
)

// isatty asks the terminal driver, since other character devices are not
// terminals.
func isatty(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// absolute resolves a directory as people type it.
func absolute(dir string) (string, error) {
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			dir = filepath.Join(home, rest)
		}
	}
	return filepath.Abs(dir)
}

// tilde is a path as people write it.
func tilde(path string, environ []string) string {
	home := harness.Environment(environ).Get("HOME")
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
		return "~/" + rest
	}
	return path
}
