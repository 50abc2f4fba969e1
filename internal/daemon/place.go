package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/supervisor"
)

// StateDir is where the store, locks, socket and log live:
// $PACELINE_STATE, else $XDG_STATE_HOME/paceline, else ~/.local/state/paceline.
func StateDir(environ []string) (string, error) {
	get := func(name string) string { return harness.Environment(environ).Get(name) }
	switch {
	case get("PACELINE_STATE") != "":
		return filepath.Abs(get("PACELINE_STATE"))
	case filepath.IsAbs(get("XDG_STATE_HOME")):
		return filepath.Join(get("XDG_STATE_HOME"), "paceline"), nil
	case filepath.IsAbs(get("HOME")):
		return filepath.Join(get("HOME"), ".local", "state", "paceline"), nil
	}
	return "", errors.New("neither HOME nor PACELINE_STATE says where to keep state")
}

// longest is how many bytes a socket's path may have: 104 on macOS with its
// end, 108 on Linux.
const longest = 100

// Socket is where the server of a state folder answers. It stands in the folder
// itself, or, where that lies too deep for a socket, in a folder of the user's
// own below /tmp, under a name that follows from the long one.
func Socket(state string) string {
	path := filepath.Join(state, "paceline.sock")
	if len(path) <= longest {
		return path
	}
	sum := sha256.Sum256([]byte(state))
	return filepath.Join("/tmp", "paceline-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:8])+".sock")
}

// own makes a folder that is the user's alone. One that belongs to somebody
// else is refused: whoever owns it could answer in the server's place.
func own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &supervisor.Refusal{
			Msg: "the state folder cannot be made: " + err.Error(), Code: 1,
			Hint: "name another one with PACELINE_STATE",
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the state folder: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return &supervisor.Refusal{
			Msg: dir + " belongs to another user", Code: 1,
			Hint: "name a folder of your own with PACELINE_STATE, or give this one back with chown",
		}
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("close the state folder to others: %w", err)
		}
	}
	return nil
}
