package usage

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/paceline/paceline/internal/usage/tally"
)

// Roots are the folders that are looked through. One that is not there holds
// nothing.
type Roots struct {
	Claude []string // the folder "projects" of each configuration of Claude Code
	Codex  []string // the folders "sessions" and "archived_sessions" of each home of Codex
}

// found is a file as the folder tells it.
type found struct {
	path    string
	vendor  tally.Vendor
	session string // Claude: the conversation that its place tells
	stamp
}

// stamp is what changes where a file does.
type stamp struct {
	size     int64
	modified int64 // nanoseconds
	inode    uint64
}

// find lists the files, in the order of their paths: the sums depend on it. A
// link in a folder is not followed.
func (r Roots) find() ([]found, error) {
	roots := append(r.Claude[:len(r.Claude):len(r.Claude)], r.Codex...)
	lists := make([][]found, len(roots))
	errs := make([]error, len(roots))
	var walks sync.WaitGroup
	for i, root := range roots {
		v := tally.Claude
		if i >= len(r.Claude) {
			v = tally.Codex
		}
		walks.Go(func() { errs[i] = under(root, v, &lists[i]) })
	}
	walks.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := slices.Concat(lists...)
	slices.SortFunc(out, func(a, b found) int { return cmp.Compare(a.path, b.path) })
	return slices.CompactFunc(out, func(a, b found) bool { return a.path == b.path }), nil
}

func under(root string, v tally.Vendor, out *[]found) error {
	real, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // removed since it was listed, or nobody's to read
		case err != nil:
			return err
		case !d.Type().IsRegular() || filepath.Ext(path) != ".jsonl" || d.Name() == ".jsonl":
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it was removed since it was listed
		}
		rest := strings.TrimPrefix(path, real)
		f := found{path: root + rest, vendor: v, stamp: stampOf(info)}
		if v == tally.Claude {
			f.session = session(rest)
		}
		*out = append(*out, f)
		return nil
	})
}

// session is the conversation that a file's place below its root tells: the
// part behind the project's. A file beside the projects tells none.
func session(rest string) string {
	parts := strings.SplitN(strings.TrimPrefix(rest, string(filepath.Separator)), string(filepath.Separator), 3)
	if len(parts) < 2 {
		return ""
	}
	return strings.TrimSuffix(parts[1], ".jsonl")
}

func stampOf(info os.FileInfo) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}
