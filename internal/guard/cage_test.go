//go:build linux

package guard

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// try does one thing to a path, and says what the kernel answered.
func try(args []string) int {
	name, path := args[0], args[1]
	var err error
	switch name {
	case "create":
		err = os.WriteFile(path, []byte("x"), 0o600)
	case "truncate":
		err = unix.Truncate(path, 0)
	case "remove":
		err = unix.Unlink(path)
	case "mkdir":
		err = unix.Mkdir(path, 0o700)
	case "rename":
		err = unix.Rename(args[2], path)
	case "link":
		err = unix.Link(args[2], path)
	case "symlink":
		err = unix.Symlink(args[2], path)
	case "device":
		err = unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
	case "dial":
		var c net.Conn
		if c, err = net.Dial("tcp", path); err == nil {
			c.Close()
		}
	case "listen":
		var l net.Listener
		var plain net.ListenConfig
		plain.SetMultipathTCP(false) // which the cage does not hold
		if l, err = plain.Listen(context.Background(), "tcp", path); err == nil {
			l.Close()
		}
	}
	if err != nil {
		fmt.Println(name, err)
		return 1
	}
	fmt.Println(name, "ok")
	return 0
}

func caged(t *testing.T, script string, c Cage) string {
	t.Helper()
	if _, err := CageAvailable(); err != nil {
		t.Skip(err)
	}
	s := order(t, script)
	s.Cage = &c
	out, _ := output(t, s)
	return out
}

func TestACageHoldsTheChildAndAllThatItStarts(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	for dir, files := range map[string][]string{in: {"mine", "moved"}, out: {"his", "linked", "kept"}} {
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f), []byte("content"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink(filepath.Join(out, "his"), filepath.Join(in, "way-out")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(in, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	tries := []struct{ do, want string }{
		{"create OUT/new", "permission denied"},
		{"create OUT/his", "permission denied"},
		{"create IN/way-out", "permission denied"},
		{"create IN/../" + filepath.Base(out) + "/new", "permission denied"},
		{"truncate OUT/his", "permission denied"},
		{"remove OUT/his", "permission denied"},
		{"mkdir OUT/folder", "permission denied"},
		{"rename OUT/new IN/mine", "permission denied"},
		{"rename OUT/his IN/mine", "permission denied"},
		{"rename IN/stolen OUT/his", "permission denied"},
		{"link IN/alias OUT/linked", "invalid cross-device link"}, // how Landlock refuses it
		{"link OUT/alias IN/mine", "permission denied"},
		{"symlink OUT/alias IN/mine", "permission denied"},
		{"device IN/disk x", "permission denied"},
		{"create /proc/sys/kernel/domainname", "permission denied"},
		{"create IN/new", "ok"},
		{"truncate IN/new", "ok"},
		{"mkdir IN/folder", "ok"},
		{"rename IN/a/b/moved IN/moved", "ok"}, // from one folder to another
		{"link IN/a/twin IN/mine", "ok"},
		{"symlink IN/pointer OUT/his", "ok"},
		{"remove IN/new", "ok"},
		{"create /dev/null", "ok"},
		{"create /dev/shm/paceline-" + filepath.Base(in), "ok"},
		{"remove /dev/shm/paceline-" + filepath.Base(in), "ok"},
	}
	var lines []string
	for _, c := range tries {
		lines = append(lines, strings.NewReplacer("IN", in, "OUT", out).Replace(`"$SELF" as try `+c.do))
	}
	for who, script := range map[string]string{
		"the child":              strings.Join(lines, "\n"),
		"an orphan in a session": "mkfifo '" + in + "/done'\n" + hidden(strings.Join(lines, "\n")+"\necho >\""+in+"/done\"") + "\nread x <'" + in + "/done'",
	} {
		t.Run(who, func(t *testing.T) {
			// Each starts from the same folders.
			for _, f := range []string{"new", "folder", "a/twin", "pointer", "done"} {
				os.Remove(filepath.Join(in, f))
			}
			os.Rename(filepath.Join(in, "a/b/moved"), filepath.Join(in, "moved"))
			got := strings.Split(strings.TrimSpace(caged(t, script, Cage{Writable: []string{in}, Network: true})), "\n")
			if len(got) != len(tries) {
				t.Fatalf("%d answers to %d tries:\n%s", len(got), len(tries), strings.Join(got, "\n"))
			}
			for i, c := range tries {
				if !strings.HasSuffix(got[i], c.want) {
					t.Errorf("%s: got %q, want %q", c.do, got[i], c.want)
				}
			}
		})
	}
	for _, f := range []string{"his", "linked", "kept"} {
		if b, err := os.ReadFile(filepath.Join(out, f)); err != nil || string(b) != "content" {
			t.Errorf("outside, %s is now %q, %v", f, b, err)
		}
	}
}

func TestACageMakesTheFoldersAndPassesOverTheFiles(t *testing.T) {
	dir := t.TempDir()
	home, settings := filepath.Join(dir, "deep", ".home"), filepath.Join(dir, ".home.json")
	out := caged(t, `"$SELF" as try create `+home+`/x; "$SELF" as try create `+settings, Cage{Writable: []string{home, settings}, Network: true})
	if !strings.HasPrefix(out, "create ok\n") || !strings.HasSuffix(out, "permission denied\n") {
		t.Errorf("got %q", out)
	}
	if info, err := os.Stat(home); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("home: %v, %v", info, err)
	}
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := caged(t, `"$SELF" as try create `+settings, Cage{Writable: []string{settings}, Network: true}); out != "create ok\n" {
		t.Errorf("a file as root: %q", out)
	}
}

func TestACageCanCloseTheNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	script := `"$SELF" as try dial ` + l.Addr().String() + `; "$SELF" as try listen 127.0.0.1:0`
	for _, open := range []bool{true, false} {
		for _, writable := range [][]string{{"/"}, {}} {
			out := caged(t, script, Cage{Writable: writable, Network: open})
			refused := strings.Count(out, "permission denied")
			if want := map[bool]int{true: 0, false: 2}[open]; refused != want || strings.Count(out, "\n") != 2 {
				t.Errorf("network %t, writable %q: %s", open, writable, out)
			}
		}
	}
}

func TestACageOfEverythingIsNone(t *testing.T) {
	dir := t.TempDir()
	out := caged(t, `"$SELF" as try create `+dir+`/x; grep NoNewPrivs /proc/self/status`, Cage{Writable: []string{"/"}, Network: true})
	if out != "create ok\nNoNewPrivs:\t0\n" {
		t.Errorf("got %q", out)
	}
	out = caged(t, `"$SELF" as try create `+dir+`/x; grep NoNewPrivs /proc/self/status`, Cage{Network: true})
	if !strings.Contains(out, "permission denied") || !strings.HasSuffix(out, "NoNewPrivs:\t1\n") {
		t.Errorf("a cage without a root: %q", out)
	}
}

// The guard must stay free: it looks at the caged, ends them, and lets go.
func TestTheGuardIsNotInTheCage(t *testing.T) {
	if _, err := CageAvailable(); err != nil {
		t.Skip(err)
	}
	s := order(t, writers)
	s.Cage = &Cage{Writable: []string{s.Dir}}
	c := start(t, s)
	written(t, s.Dir, files...)
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	if e := kill(t, c); len(e.Stopped) < 4 {
		t.Errorf("ended as %+v", e)
	}
	if left := marks(s.Run); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}
