package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// SQLite's write-ahead log needs memory that all of its processes share, and
// locks that hold between them. A network file system promises neither.

// far are the file systems that live on another machine, by the number that
// statfs gives.
var far = map[int64]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB",
	0x5346414f: "AFS",
	0x00c36400: "Ceph",
}

// fuse is the number that every file system in user space has.
const fuse = 0x65735546

// farFuse are those of them that live on another machine, by their type.
var farFuse = map[string]bool{
	"fuse.sshfs": true, "fuse.rclone": true, "fuse.s3fs": true, "fuse.gcsfuse": true, "fuse.davfs": true,
	"fuse.glusterfs": true, "fuse.curlftpfs": true, "fuse.smbnetfs": true,
}

// remote names the network file system that a folder is on; "" where it is on
// none.
func remote(dir string) string {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(dir, &fs) != nil || unix.Stat(dir, &st) != nil {
		return "" // what is wrong will show when the file is opened
	}
	return network(int64(fs.Type), fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)), func() []byte {
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		return mounts
	})
}

// network looks a file system up: by its number, and one in user space by the
// type that its device dev was mounted with.
func network(kind int64, dev string, mounts func() []byte) string {
	if kind &= 0xffffffff; kind != fuse {
		return far[kind]
	}
	if t := mountType(mounts(), dev); farFuse[t] {
		return strings.TrimPrefix(t, "fuse.")
	}
	return ""
}

// mountType finds the type of a device in the lines of mountinfo.
func mountType(mounts []byte, dev string) string {
	for line := range bytes.Lines(mounts) {
		before, after, ok := strings.Cut(string(line), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 2 && fields[2] == dev && len(kind) > 0 {
			return kind[0]
		}
	}
	return ""
}
