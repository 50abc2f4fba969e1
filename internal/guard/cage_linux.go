package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const (
	// creation and writing in every form that Landlock knows of. Reading and
	// executing are not handled at all, and so are free and cost nothing.
	writing = landlock.AccessFSWriteFile | landlock.AccessFSTruncate | landlock.AccessFSRefer |
		landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile |
		landlock.AccessFSMakeDir | landlock.AccessFSMakeReg | landlock.AccessFSMakeSym |
		landlock.AccessFSMakeSock | landlock.AccessFSMakeFifo
	// devices are granted nowhere: root could make the disk's and write to that.
	devices = landlock.AccessFSMakeChar | landlock.AccessFSMakeBlock
	toFile  = landlock.AccessFSWriteFile | landlock.AccessFSTruncate
	network = landlock.AccessNetConnectTCP | landlock.AccessNetBindTCP

	minABI    = 3 // the first to refuse truncation
	minNetABI = 4
)

// CageAvailable names what would enforce a cage here, or says why nothing would.
func CageAvailable() (string, error) {
	abi, err := landlock.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.ENOSYS):
		return "", errors.New("this kernel has no Landlock")
	case errors.Is(err, unix.EOPNOTSUPP):
		return "", errors.New("Landlock is switched off in this kernel")
	case err != nil:
		return "", fmt.Errorf("landlock: %w", err)
	case abi < minABI:
		return "", fmt.Errorf("landlock (ABI %d) cannot refuse to empty a file; Linux 6.2 can", abi)
	}
	return fmt.Sprintf("landlock (ABI %d)", abi), nil
}

// enter confines the calling thread and what it starts from now on.
func (c *Cage) enter() error {
	if _, err := CageAvailable(); err != nil {
		return fmt.Errorf("no cage: %w", err)
	}
	var attr landlock.RulesetAttr
	everywhere := slices.Contains(c.Writable, "/")
	if !everywhere {
		attr.HandledAccessFS = writing | devices
	}
	if !c.Network {
		if abi, _ := landlock.LandlockGetABIVersion(); abi < minNetABI {
			return fmt.Errorf("no cage: landlock (ABI %d) cannot refuse the network; Linux 6.7 can", abi)
		}
		attr.HandledAccessNet = network
	}
	if everywhere && c.Network {
		return nil
	}
	rules, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("cage: %w", err)
	}
	defer unix.Close(rules)
	if !everywhere {
		if err := c.open(rules); err != nil {
			return fmt.Errorf("cage: %w", err)
		}
	}
	// A program that gains rights when started (sudo) could take the cage off.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cage: %w", err)
	}
	if err := landlock.LandlockRestrictSelf(rules, 0); err != nil {
		return fmt.Errorf("cage: %w", err)
	}
	return nil
}

// open grants writing beneath every root, and to what no program does without.
func (c *Cage) open(rules int) error {
	for _, root := range c.Writable {
		if err := ensure(root); err != nil {
			return err
		}
		if err := grant(rules, root, writing); err != nil {
			return err
		}
	}
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"} {
		if err := grant(rules, path, toFile); err != nil {
			return err
		}
	}
	if err := grant(rules, "/dev/shm", writing); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return nil // what root can write beneath /proc undoes the cage
	}
	// A process writes its own name, its out-of-memory score, and the maps of a
	// user namespace. Nobody knows the numbers of the future, so it is all of
	// /proc; others' memory there stays closed, because a caged process may not
	// debug one that is not.
	return grant(rules, "/proc", toFile)
}

// ensure makes a folder that will be needed: the harness could not, from inside.
func ensure(root string) error {
	if !filepath.IsAbs(root) {
		return fmt.Errorf("writable %q is not absolute", root)
	}
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if ext := filepath.Ext(root); ext != "" && ext != filepath.Base(root) {
		return nil
	}
	return os.MkdirAll(root, 0o700)
}

func grant(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= toFile // the kernel refuses a folder's rights on a file
	}
	attr := landlock.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}
	if err := landlock.LandlockAddPathBeneathRule(rules, &attr, 0); err != nil {
		return fmt.Errorf("allow %s: %w", path, err)
	}
	return nil
}
