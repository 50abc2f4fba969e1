// Package daemon wires the parts of a server together. It is the only place
// that knows them all, and decides nothing.
//
// Here a server lives inside the command that needs it. Several may share one
// state folder: each thread is served by the one that holds its lock, and a
// thread whose server was killed is carried on by the next one that starts.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/logkey"
	"github.com/paceline/paceline/internal/outbox"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/sqlite"
	"github.com/paceline/paceline/internal/supervisor"
)

// Options is what a server is started with.
type Options struct {
	State   string // its folder; made where it is missing
	Environ []string
	Pass    []string // further variables that children get
	Version string
	Feed    func(supervisor.Event)
	Ask     func(context.Context, supervisor.Event) (allow, attended bool)
}

// Daemon is a running server.
type Daemon struct {
	Store *store.Store
	Sup   *supervisor.Supervisor
	log   *os.File
	wg    sync.WaitGroup
}

// StateDir is where the store, locks and log live:
// $PACELINE_STATE, else $XDG_STATE_HOME/paceline, else ~/.local/state/paceline.
func StateDir(environ []string) (string, error) {
	get := func(name string) string { return harness.Environment(environ).Get(name) }
	switch {
	case get("PACELINE_STATE") != "":
		return filepath.Abs(get("PACELINE_STATE"))
	case filepath.IsAbs(get("XDG_STATE_HOME")):
		return filepath.Join(get("XDG_STATE_HOME"), "paceline"), nil
	case filepath.IsAbs(get("HOME")):
		return filepath.Join(get("HOME"), ".local", "state", "paceline"), nil
	}
	return "", errors.New("neither HOME nor PACELINE_STATE says where to keep state")
}

// StorePath is the database inside a state folder.
func StorePath(state string) string { return filepath.Join(state, "paceline.db") }

// Open starts a server that serves nothing yet.
func Open(ctx context.Context, o Options) (*Daemon, error) {
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own binary: %w", err)
	}
	st, err := sqlite.Open(ctx, StorePath(o.State), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(o.State, "paceline.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		st.Close()
		return nil, fmt.Errorf("open the log: %w", err)
	}
	logger := slog.New(slog.NewJSONHandler(log, nil))
	sup, err := supervisor.New(supervisor.Options{
		Store: st, Dir: filepath.Join(o.State, "locks"), Self: self, Version: o.Version,
		Env: harness.Children(o.Environ, o.Pass), Log: logger, Feed: o.Feed, Ask: o.Ask,
		Box: func(p outbox.Performer) (*outbox.Outbox, error) { return outbox.New(st, p, logger) },
	})
	if err != nil {
		log.Close()
		st.Close()
		return nil, err
	}
	return &Daemon{Store: st, Sup: sup, log: log}, nil
}

// CarryOn takes up every thread that a killed server left open, in the
// background, and returns their ids. Wait waits for them.
func (d *Daemon) CarryOn(ctx context.Context, but paceline.ThreadID) ([]paceline.ThreadID, error) {
	if err := d.Sup.Sweep(ctx); err != nil {
		return nil, err
	}
	orphans, err := d.Store.Orphans(ctx)
	if err != nil {
		return nil, err
	}
	var out []paceline.ThreadID
	seen := map[paceline.ThreadID]bool{but: true}
	for _, r := range orphans {
		if seen[r.Thread] {
			continue
		}
		seen[r.Thread] = true
		if d.Sup.Served(r.Thread) {
			continue // its server lives
		}
		out = append(out, r.Thread)
		d.wg.Go(func() {
			if err := d.Sup.Serve(ctx, r.Thread); err != nil && !errors.Is(err, supervisor.ErrBusy) && ctx.Err() == nil {
				d.Sup.Log.LogAttrs(ctx, slog.LevelError, "not carried on",
					slog.String(logkey.Thread, string(r.Thread)), slog.Any(logkey.Error, err))
			}
		})
	}
	return out, nil
}

// Wait waits for what CarryOn took up.
func (d *Daemon) Wait() { d.wg.Wait() }

// Close ends the server. Whoever serves must have stopped before.
func (d *Daemon) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(d.Sup.Close(ctx), d.Store.Close(), d.log.Close())
}
