// Package pgtest starts a real PostgreSQL for the tests of a package: one server,
// a database for each test, all of it in a temporary folder. It uses what is
// installed, and skips the test where nothing is.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// User is the database's superuser; through the socket it needs no password.
const User = "paceline"

// Server is one PostgreSQL. Its zero value is not started yet, and the first
// Database starts it.
type Server struct {
	// Durable has it flush what it commits, for tests that kill it.
	Durable bool

	mu      sync.Mutex
	bin     string
	dir     string
	port    int
	owner   *syscall.Credential // nil: ourselves
	cmd     *exec.Cmd
	ended   chan struct{}
	count   int
	missing bool
	failed  error
}

// Database makes a database for one test and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil && s.failed == nil && !s.missing {
		s.failed = s.begin()
	}
	if s.missing {
		t.Skip("not run: no PostgreSQL is installed (`apt-get install postgresql`, or initdb and postgres on the PATH)")
	}
	if s.failed != nil {
		t.Fatal(s.failed)
	}
	s.count++
	name := "test" + strconv.Itoa(s.count)
	if err := s.exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.url(name)
}

// TCP is the URL of the same database over loopback, where a password is asked
// for.
func (s *Server) TCP(text, user, password string) string {
	u, _ := url.Parse(text)
	u.User, u.Host, u.RawQuery = url.UserPassword(user, password), net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), "sslmode=disable"
	return u.String()
}

// Exec runs a statement as the superuser.
func (s *Server) Exec(t testing.TB, statement string) {
	t.Helper()
	if err := s.exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) exec(ctx context.Context, statement string) error {
	c, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, statement)
	return err
}

func (s *Server) url(name string) string {
	u := url.URL{Scheme: "postgres", User: url.User(User), Path: "/" + name, RawQuery: url.Values{
		"host": {s.dir}, "port": {strconv.Itoa(s.port)},
	}.Encode()}
	return u.String()
}

// Kill kills the whole server at once, as a power cut of its machine would.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

func (s *Server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
}

// Start starts it again after Kill.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.serve(); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the server for good; TestMain calls it.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

func (s *Server) begin() (err error) {
	if s.bin = installed(); s.bin == "" {
		s.missing = true
		return nil
	}
	// A socket's path has 107 bytes.
	if s.dir, err = os.MkdirTemp("/tmp", "paceline-pg-"); err != nil {
		return err
	}
	if os.Geteuid() == 0 { // it refuses to be root
		if err := s.give(); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	out, err := s.command("initdb", "-D", s.data(), "-U", User, "-E", "UTF8", "--locale=C", "--no-sync",
		"--auth-local=trust", "--auth-host=scram-sha-256").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.serve()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) give() error {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return os.Chown(s.dir, uid, gid)
	}
	return errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = attributes(s.owner)
	return cmd
}

// serve starts it and waits until it lets somebody in. What is left of one that
// was killed may keep it out for a moment.
func (s *Server) serve() error {
	var said strings.Builder
	for until := time.Now().Add(time.Minute); time.Now().Before(until); <-time.After(50 * time.Millisecond) {
		if s.cmd == nil {
			said.Reset()
			if err := s.spawn(&said); err != nil {
				return err
			}
		}
		select {
		case <-s.ended:
			s.cmd = nil
			continue
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := s.exec(ctx, "SELECT 1")
		cancel()
		if err == nil {
			return nil
		}
	}
	s.kill()
	return fmt.Errorf("PostgreSQL does not come up: %s", said.String())
}

func (s *Server) spawn(said *strings.Builder) error {
	args := []string{
		"-D", s.data(), "-k", s.dir, "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=200", "-c", "shared_buffers=32MB",
	}
	if !s.Durable {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	cmd := s.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = said, said
	started := make(chan error)
	ended := make(chan struct{})
	go wait(cmd, started, ended)
	if err := <-started; err != nil {
		return err
	}
	s.cmd, s.ended = cmd, ended
	return nil
}

// installed is the folder of PostgreSQL's programs, the newest of several.
func installed() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int {
		n := func(p string) int { v, _ := strconv.Atoi(strings.Split(p, "/")[4]); return v }
		return n(b) - n(a)
	})
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			found = append(found, p)
		}
	}
	for _, p := range found {
		if _, err := os.Stat(filepath.Join(filepath.Dir(p), "postgres")); err == nil {
			return filepath.Dir(p)
		}
	}
	return ""
}
