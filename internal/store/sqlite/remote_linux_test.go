package sqlite

import "testing"

func TestRemote(t *testing.T) {
	const mounts = `22 1 252:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
61 22 0:52 / /home/a/far rw,nosuid - fuse.sshfs a@b:/ rw,user_id=0
62 22 0:53 / /home/a/usb rw,nosuid master:7 shared:2 - fuseblk /dev/sdb1 rw
63 22 0:54 / /home/a/odd\\040name rw - fuse.rclone x: rw
`
	for _, c := range []struct {
		name, dev string
		kind      int64
		want      string
	}{
		{"a disk", "252:0", 0xef53, ""},
		{"memory", "0:30", 0x01021994, ""},
		{"NFS", "0:50", 0x6969, "NFS"},
		{"CIFS, whose number is negative where it has 32 bits", "0:51", -0xacb2be, "CIFS"},
		{"SMB 2", "0:51", 0xfe534d42, "SMB"},
		{"sshfs", "0:52", 0x65735546, "sshfs"},
		{"a disk in user space", "0:53", 0x65735546, ""},
		{"rclone", "0:54", 0x65735546, "rclone"},
		{"a mount that is not listed", "0:99", 0x65735546, ""},
	} {
		if got := network(c.kind, c.dev, func() []byte { return []byte(mounts) }); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := remote(t.TempDir()); got != "" {
		t.Errorf("the temporary folder is on %s", got)
	}
}
