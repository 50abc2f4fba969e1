package guard

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Held reports whether a guard that holds this lock file is alive. A missing
// file is held by nobody.
func Held(lock string) (bool, error) {
	f, err := os.Open(lock)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at lock: %w", err)
	}
	defer f.Close()
	// Shared, so that two who ask at once are not taken for a holder by one another.
	switch err := flock(f, unix.LOCK_SH|unix.LOCK_NB); err {
	case nil:
		return false, nil
	case unix.EWOULDBLOCK:
		return true, nil
	default:
		return false, fmt.Errorf("look at lock %s: %w", lock, err)
	}
}

// asking is how long someone's question (Held) may keep a lock from its holder.
const asking = 200 * time.Millisecond

// hold takes the lock for as long as the file stays open.
func hold(lock string) (*os.File, error) {
	f, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for until := time.Now().Add(asking); ; time.Sleep(2 * time.Millisecond) {
		err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case err == unix.EWOULDBLOCK && time.Now().Before(until):
			continue
		case err == unix.EWOULDBLOCK:
			err = errors.New("another guard holds it")
		}
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", lock, err)
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}
