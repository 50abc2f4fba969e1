package sqlite_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// mountOn gives a folder a small file system of its own, where the test may.
func mountOn(t *testing.T, dir string, readOnly bool, settings string) {
	t.Helper()
	var flags uintptr
	if readOnly {
		flags = unix.MS_RDONLY
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, settings); err != nil {
		t.Skipf("this takes a mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func resize(t *testing.T, dir, settings string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, settings); err != nil {
		t.Fatal(err)
	}
}
