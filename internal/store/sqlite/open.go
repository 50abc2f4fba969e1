// Package sqlite opens a store in a SQLite file: one connection writes, a few
// others read. It owns the file, its migrations, and the names of what can be
// wrong with it.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // registers "sqlite"

	"github.com/paceline/paceline/internal/store"
)

// ErrNothing: there is no store at that path yet.
var ErrNothing = errors.New("nothing recorded yet")

// Options changes how a store is opened. The zero value is right.
type Options struct {
	// Busy is how long to wait for another program's lock; 0 is 10 s.
	Busy time.Duration
}

func (o Options) busy() time.Duration {
	if o.Busy > 0 {
		return o.Busy
	}
	return 10 * time.Second
}

// readers is how many reads may go on at once.
const readers = 4

// Open opens the store at path for a process that serves, and makes or migrates
// it where needed: the file with mode 0600, a missing folder with 0700. What
// people must be told is a *store.Trouble, and then the file is as it was.
func Open(ctx context.Context, path string, o Options) (*store.Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	f := file{path: path, busy: o.busy()}
	if err := f.prepare(); err != nil {
		return nil, f.troubled(err)
	}
	// IMMEDIATE takes the write lock at BEGIN, where busy_timeout waits for it. A
	// transaction that reads first and then writes would be refused at once.
	write, err := f.pool("rw", "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_txlock=immediate", 1)
	if err != nil {
		return nil, f.troubled(err)
	}
	held, err := f.migrate(ctx, write)
	if err != nil {
		write.Close()
		return nil, f.troubled(err)
	}
	read, err := f.pool("rw", "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=query_only(ON)", readers)
	if err != nil {
		write.Close()
		held.Close()
		return nil, f.troubled(err)
	}
	return f.store(write, read, held.Close), nil
}

// OpenRead opens the store at path for a command that only reads: nothing is
// made, migrated or written. It returns ErrNothing where there is no store.
func OpenRead(ctx context.Context, path string, o Options) (*store.Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	f := file{path: path, busy: o.busy()}
	if err := f.look(); err != nil {
		return nil, f.troubled(err)
	}
	read, err := f.pool("rw", "&_pragma=query_only(ON)", readers)
	if err != nil {
		return nil, f.troubled(err)
	}
	v, err := versionsOf(ctx, read)
	if err == nil {
		err = v.readable()
	}
	if err != nil {
		read.Close()
		return nil, f.troubled(err)
	}
	return f.store(nil, read, nil), nil
}

// file is a store's file.
type file struct {
	path string // absolute
	busy time.Duration
}

func (f file) store(write, read *sql.DB, release func() error) *store.Store {
	return store.New(store.Dialect{
		Path: f.path, Write: write, Read: read, Busy: again, Patience: f.busy, Close: release,
		Explain: func(err error) *store.Trouble { return f.explain(err) },
	})
}

// pool opens connections. Each of them applies the pragmas.
func (f file) pool(mode, settings string, size int) (*sql.DB, error) {
	name := (&url.URL{Scheme: "file", Path: f.path}).EscapedPath()
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?mode=%s&_pragma=busy_timeout(%d)%s", name, mode, f.busy.Milliseconds(), settings))
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// prepare makes sure that there is a folder, and that the file, where there is
// one, is a file that we may write and only its owner can read. It is never
// opened here: closing it again would drop the locks that a connection of this
// same process may hold on it.
func (f file) prepare() error {
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if kind := remote(dir); kind != "" {
		return f.trouble(store.Remote, errors.New(kind))
	}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return f.trouble(store.NotAFile, nil)
	}
	if info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(f.path, 0o600) // some file systems have no modes
	}
	// SQLite would open it for reading only, and tell at the first write.
	return unix.Access(f.path, unix.W_OK)
}

// create makes an empty file. SQLite would give it the umask's mode, and its
// log and shared memory take the mode of the file. The caller holds the lock
// alone, so that nobody has it open yet.
func (f file) create() error {
	made, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return made.Close()
}

// look is prepare for a reader.
func (f file) look() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNothing
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return f.trouble(store.NotAFile, nil)
	}
	if kind := remote(filepath.Dir(f.path)); kind != "" {
		return f.trouble(store.Remote, errors.New(kind))
	}
	return nil
}
