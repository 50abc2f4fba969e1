package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Main is the guard process. Start gives it its files; by hand it is of no use.
func Main(args []string) int {
	if len(args) > 0 || !piped(controlFD) || !piped(statusFD) {
		fmt.Fprintln(os.Stderr, "guard: is started by paceline itself, for each child")
		return 2
	}
	// Handled and not ignored: what is ignored here would be ignored by the
	// harness as well, which then could not be interrupted.
	deaf, term := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(deaf, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	signal.Notify(term, unix.SIGTERM)

	status := os.NewFile(statusFD, "status")
	control := bufio.NewReader(os.NewFile(controlFD, "control"))
	g := guard{tree: tree{root: os.Getpid()}, status: status}
	if err := g.start(control); err != nil {
		g.say(event{Event: "refused", Why: err.Error()})
		return 1
	}
	g.say(event{Event: "started", Pid: g.harness})
	commands := make(chan string)
	go listen(control, commands)
	g.watch(commands, term)
	g.last()
	runtime.KeepAlive(g.lock) // a collected file is a closed one, and its lock free
	return 0
}

func piped(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// start does all that can be refused.
func (g *guard) start(control *bufio.Reader) error {
	order, err := control.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	if err := json.Unmarshal(order, &g.spec); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	s := &g.spec
	if s.Run == "" || len(s.Argv) == 0 {
		return errors.New("order names no run, or nothing to run")
	}
	bin, err := find(s.Argv[0], s.Env)
	if err != nil {
		return err
	}
	if g.lock, err = hold(s.Lock); err != nil {
		return err
	}
	if err := adopt(); err != nil {
		return err
	}
	s.Env = marked(s.Env, s.Run)
	if g.harness, g.reaped, err = spawn(bin, s); err != nil {
		return fmt.Errorf("start %s in %s: %w", s.Argv[0], s.Dir, err)
	}
	g.tree.group = g.harness
	// The pipes are the harness's now. Held here as well, its closing of one would
	// not be seen. Standard error stays: a panic of ours must be heard somewhere.
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer null.Close()
	for fd := range 2 {
		_ = redirect(int(null.Fd()), fd)
	}
	return nil
}

// marked is env with the run's marker and no other's.
func marked(env []string, run string) []string {
	out := make([]string, 0, len(env)+1)
	for _, v := range env {
		if !strings.HasPrefix(v, Marker+"=") {
			out = append(out, v)
		}
	}
	return append(out, Marker+"="+run)
}

// find looks for a program as the child's own shell would.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p
		}
	}
	for dir := range strings.SplitSeq(path, ":") {
		if !strings.HasPrefix(dir, "/") {
			continue // relative to a tree that is not to be trusted
		}
		bin := dir + "/" + name
		if info, err := os.Stat(bin); err == nil && info.Mode().IsRegular() && unix.Access(bin, unix.X_OK) == nil {
			return bin, nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH", name)
}

// listen passes the server's commands on, the last of them its death.
func listen(control *bufio.Reader, commands chan<- string) {
	for {
		line, err := control.ReadString('\n')
		if err != nil {
			commands <- cmdGone
			return
		}
		commands <- strings.TrimSuffix(line, "\n")
	}
}
