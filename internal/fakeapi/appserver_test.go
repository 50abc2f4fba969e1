package fakeapi

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// app is a real `codex app-server`, spoken to line by line.
type app struct {
	t     *testing.T
	in    io.Writer
	lines chan gjson.Result
}

func appServer(t *testing.T, s *Server) *app {
	t.Helper()
	bin := program(t, "codex")
	env, err := s.CodexEnv(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "app-server")
	cmd.Dir, cmd.Env = t.TempDir(), append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &app{t: t, in: in, lines: make(chan gjson.Result, 1000)}
	go func() {
		defer close(a.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			a.lines <- gjson.Parse(line)
		}
	}()
	t.Cleanup(func() {
		_ = in.Close() // it ends by itself then
		for range a.lines {
		}
		_ = cmd.Wait()
	})
	return a
}

func (a *app) tell(method, params string) {
	fmt.Fprintf(a.in, "{\"method\":%q,\"params\":%s}\n", method, params)
}

func (a *app) ask(id int, method, params string) gjson.Result {
	a.t.Helper()
	fmt.Fprintf(a.in, "{\"id\":%d,\"method\":%q,\"params\":%s}\n", id, method, params)
	return a.until("id", strconv.Itoa(id))
}

// until reads on to the first line with a value at a path.
func (a *app) until(path, value string) gjson.Result {
	a.t.Helper()
	end := time.After(60 * time.Second)
	for {
		select {
		case line, ok := <-a.lines:
			if !ok {
				a.t.Fatalf("the program ended before %s %s", path, value)
			}
			if line.Get(path).String() == value {
				return line
			}
		case <-end:
			a.t.Fatalf("nothing with %s %s came", path, value)
		}
	}
}
