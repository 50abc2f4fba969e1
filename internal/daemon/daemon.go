// Package daemon wires the parts of a server together. It is the only place
// that knows them all, and decides nothing.
//
// There is one server a user and machine: whoever holds the lock in the state
// folder. It answers on a socket, and leaves when nothing is open any more.
// Commands start it when they need it, or are it for their own lifetime
// (--foreground). One that was killed is followed by the next, which carries on
// from what is on disk.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/paceline/paceline/internal/api"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/outbox"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/supervisor"
)

// Options is what a server is started with.
type Options struct {
	State   string // its folder; made where it is missing
	Environ []string
	Version string
	// Stay is how long the server stays without work; negative is for ever.
	Stay time.Duration
}

// ErrTaken: another server of this user is running.
var ErrTaken = errors.New("another server is running")

// Daemon is a running server.
type Daemon struct {
	store   *store.Store
	sup     *supervisor.Supervisor
	log     *os.File
	lock    *os.File
	socket  string
	ours    os.FileInfo // of the socket
	stay    time.Duration
	leave   context.CancelFunc
	left    <-chan struct{} // closed when it is asked to leave
	serving chan error      // what the answering came to

	mu      sync.Mutex
	guests  int  // requests that are being answered
	leaving bool // none is taken any more
}

// Open starts a server: it answers, and has taken up what was left open. It
// returns ErrTaken where there is one already.
func Open(ctx context.Context, o Options) (*Daemon, error) {
	if err := own(o.State); err != nil {
		return nil, err
	}
	d := &Daemon{socket: Socket(o.State), stay: o.Stay, serving: make(chan error, 1)}
	var err error
	if d.lock, err = take(filepath.Join(o.State, "server.lock")); err != nil {
		return nil, err
	}
	if err := d.open(ctx, o); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *Daemon) open(ctx context.Context, o Options) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own binary: %w", err)
	}
	if d.store, err = OpenStore(ctx, o.State, o.Environ); err != nil {
		return err
	}
	d.log, err = os.OpenFile(filepath.Join(o.State, "paceline.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	logger := slog.New(slog.NewJSONHandler(d.log, nil))
	d.sup, err = supervisor.New(supervisor.Options{
		Store: d.store, Dir: filepath.Join(o.State, "locks"), Self: self, Version: o.Version,
		Env: harness.Children(o.Environ, nil), Keys: o.Environ, Log: logger,
		Box: func(p outbox.Performer) (*outbox.Outbox, error) { return outbox.New(d.store, p, logger) },
	})
	if err != nil {
		return err
	}
	l, err := listen(d.socket)
	if err != nil {
		return err
	}
	// It is cleared away when we leave, and only if it is still ours.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if d.ours, err = os.Stat(d.socket); err != nil {
		l.Close()
		return fmt.Errorf("open the socket: %w", err)
	}
	carried, err := d.sup.CarryOn(ctx)
	if err != nil {
		l.Close()
		return err
	}
	asked, leave := context.WithCancel(context.Background())
	d.leave, d.left = leave, asked.Done()
	s := &api.Server{Sup: d.sup, Store: d.store, Version: o.Version, Carried: carried, Leave: leave, Enter: d.enter}
	over, end := context.WithCancel(context.Background())
	go func() {
		<-d.left
		d.sup.Leave() // whoever follows a thread hears of its last event
		end()
	}()
	go func() { d.serving <- s.Serve(over, l) }()
	return nil
}

// looking is how often a server looks whether it is of use.
const looking = 250 * time.Millisecond

// Wait waits until the server has had nothing to do for a while, is asked to
// leave, or ctx ends. After it nobody is let in.
func (d *Daemon) Wait(ctx context.Context) {
	defer d.shut()
	tick := time.NewTicker(looking)
	defer tick.Stop()
	for since := time.Now(); ; {
		busy, quiet := d.sup.Busy()
		if busy > 0 {
			since = time.Now()
		} else if d.useless(time.Since(since)) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-d.left:
			return
		case <-quiet:
		case <-tick.C:
			if !d.reachable() {
				d.sup.Drain() // somebody cleared the socket away: the next server makes a new one
			}
		}
	}
}

// reachable reports whether the socket is still the one that we answer on. A
// folder that was removed and made again has another server's.
func (d *Daemon) reachable() bool {
	now, err := os.Stat(d.socket)
	return err == nil && os.SameFile(now, d.ours)
}

// useless reports whether a server without work for so long leaves, and then
// lets nobody in any more.
func (d *Daemon) useless(idle time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	busy, _ := d.sup.Busy()
	// Whoever is just coming in has work for us.
	if d.guests > 0 || busy > 0 || !d.sup.Draining() && (d.stay < 0 || idle < d.stay) {
		return false
	}
	d.leaving = true
	return true
}

// shut lets nobody in any more.
func (d *Daemon) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leaving = true
}

// enter lets a request in.
func (d *Daemon) enter() (done func(), ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.leaving {
		return nil, false
	}
	d.guests++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.guests--
	}, true
}

// Close ends the server. What is open stays open for the next one.
func (d *Daemon) Close() error {
	d.leave()
	err := <-d.serving
	return errors.Join(err, d.close())
}

// close closes what was opened, the lock last: the next server starts only then.
func (d *Daemon) close() error {
	var errs []error
	if d.sup != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		errs = append(errs, d.sup.Close(ctx))
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	if d.log != nil {
		errs = append(errs, d.log.Close())
	}
	if d.ours != nil && d.reachable() {
		_ = os.Remove(d.socket)
	}
	errs = append(errs, d.lock.Close())
	return errors.Join(errs...)
}

// take takes the lock that makes a server the only one. A killed process loses
// it with its life.
func take(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the server's lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrTaken
		}
		return nil, fmt.Errorf("take the server's lock: %w", err)
	}
	return f, nil
}

// listen opens the socket. Whoever holds the lock may clear away what a killed
// server left.
func listen(socket string) (net.Listener, error) {
	if err := own(filepath.Dir(socket)); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("clear the socket: %w", err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	return l, nil
}
