package sqlite

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/paceline/paceline/internal/store"
)

// primary is the part of a SQLite result code that names the fault; what is
// above it narrows it down.
func primary(err error) (code int, ok bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code() & 0xff, true
}

// again reports an error that waiting may cure.
func again(err error) bool {
	code, ok := primary(err)
	return ok && (code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED)
}

// troubled is an error of opening as people are told it.
func (f file) troubled(err error) error {
	var known *store.Trouble
	if err == nil || errors.Is(err, ErrNothing) || errors.As(err, &known) {
		return err
	}
	if t := f.explain(err); t != nil {
		return t
	}
	return err
}

// explain names what is wrong with the file, by result code and errno, never by
// text. It returns nil for what is a fault of ours.
func (f file) explain(err error) *store.Trouble {
	if code, ok := primary(err); ok {
		switch code {
		case sqlite3.SQLITE_FULL:
			return f.trouble(store.Full, err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return f.trouble(store.Locked, err)
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return f.trouble(store.Corrupt, err)
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return f.trouble(store.Unwritable, err)
		case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL:
			// SQLite tells of a full disk in its own words only where it wrote the
			// database itself, not where it grew its shared memory.
			if f.full() {
				return f.trouble(store.Full, err)
			}
			return f.trouble(store.Unusable, err)
		}
		return nil
	}
	switch {
	case errors.Is(err, errNewer):
		return f.trouble(store.Newer, err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return f.trouble(store.Full, err)
	case errors.Is(err, unix.EISDIR):
		return f.trouble(store.NotAFile, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS), errors.Is(err, unix.ENOTDIR):
		return f.trouble(store.Unwritable, err)
	}
	return nil
}

// full reports whether the file system has next to no space left.
func (f file) full() bool {
	var s unix.Statfs_t
	return unix.Statfs(filepath.Dir(f.path), &s) == nil && s.Bavail*uint64(s.Bsize) < 1<<20
}

func (f file) trouble(kind store.TroubleKind, err error) *store.Trouble {
	dir := filepath.Dir(f.path)
	t := &store.Trouble{Kind: kind, Path: f.path, Err: err}
	switch kind {
	case store.Newer:
		t.Hint = "update paceline; this version leaves the file untouched"
	case store.Full:
		t.Hint = "make room on the disk of " + dir + " and try again; nothing that was recorded is lost"
	case store.Locked:
		t.Hint = "end the program that holds it (fuser " + f.path + " names it), or try again later"
	case store.Corrupt:
		t.Hint = "move " + f.path + " and the files beside it away, to keep them, or bring a backup back; then try again"
	case store.Remote:
		t.Hint = "set PACELINE_STATE to a folder on a local disk"
	case store.Unwritable:
		t.Hint = "make " + dir + " writable for your user, or set PACELINE_STATE to a folder that is"
	case store.NotAFile:
		t.Hint = "move it away, or set PACELINE_STATE to another folder"
	case store.Unusable, store.Lost, store.Refused, store.Unsure: // the last three are no file's
		t.Hint = "look at the disk of " + dir + ", and try again"
	}
	return t
}
