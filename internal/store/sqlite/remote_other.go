//go:build !linux

package sqlite

import "golang.org/x/sys/unix"

// remote names the network file system that a folder is on; "" where it is on
// none. SQLite's write-ahead log needs shared memory and locks that those do
// not give.
func remote(dir string) string {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Flags&unix.MNT_LOCAL != 0 {
		return ""
	}
	return unix.ByteSliceToString(s.Fstypename[:])
}
