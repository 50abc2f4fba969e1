package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/store/postgres"
	"github.com/paceline/paceline/internal/store/sqlite"
)

// ErrNothing: nothing was recorded yet.
var ErrNothing = errors.New("nothing recorded yet")

// OpenStore opens the store for a server: the database that the configuration
// names, else a file in the state folder.
func OpenStore(ctx context.Context, state string, environ []string) (*store.Store, error) {
	url, err := storeURL(environ)
	if err != nil {
		return nil, err
	}
	if url == "" {
		return sqlite.Open(ctx, storePath(state), sqlite.Options{})
	}
	host, err := hostOf(state, true)
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, url, postgres.Options{Host: host})
}

// ReadStore opens the store for a command that only reads, or returns
// ErrNothing.
func ReadStore(ctx context.Context, state string, environ []string) (*store.Store, error) {
	url, err := storeURL(environ)
	if err != nil {
		return nil, err
	}
	var st *store.Store
	if url == "" {
		st, err = sqlite.OpenRead(ctx, storePath(state), sqlite.Options{})
	} else {
		var host string
		if host, err = hostOf(state, false); err == nil {
			st, err = postgres.OpenRead(ctx, url, postgres.Options{Host: host})
		}
	}
	if errors.Is(err, sqlite.ErrNothing) || errors.Is(err, postgres.ErrNothing) {
		err = ErrNothing
	}
	return st, err
}

// StoreName is how people name the store; it holds no password.
func StoreName(state string, environ []string) (string, error) {
	url, err := storeURL(environ)
	if err != nil || url == "" {
		return storePath(state), err
	}
	return postgres.Named(url), nil
}

func storeURL(environ []string) (string, error) {
	return config.Store(config.Find(environ, harness.Environment(environ).Get("HOME"), ""))
}

// storePath is the file inside a state folder.
func storePath(state string) string { return filepath.Join(state, "paceline.db") }

// unnamed is the host of a state folder that never served: nothing is its own.
const unnamed = "-"

// hostOf is the name under which a state folder's threads stand in a database
// that others use too. It belongs to the folder, not to the machine: locks,
// children and engines' own conversations are found from there, and a machine is
// renamed more often than they move. It is made once.
func hostOf(state string, make bool) (string, error) {
	path := filepath.Join(state, "host")
	b, err := os.ReadFile(path)
	if name := strings.TrimSpace(string(b)); name != "" {
		return name, nil
	}
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("read the name of this host: %w", err)
	case !make:
		return unnamed, nil
	}
	machine, _ := os.Hostname()
	name := strings.TrimPrefix(store.NewID(plain(machine)), "-")
	// Whole or not at all: half a name would be another host.
	if err := os.WriteFile(path+".new", []byte(name+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("name this host: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("name this host: %w", err)
	}
	return name, nil
}

// plain is a machine's name in letters, digits and single dashes, and short: it
// becomes part of the name of a queue.
func plain(machine string) string {
	machine, _, _ = strings.Cut(strings.ToLower(machine), ".")
	words := strings.FieldsFunc(machine, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words, "-")
	return strings.Trim(name[:min(len(name), 24)], "-")
}
