// Package witness looks at a working tree before and after a run. It is the
// second witness of what was done: it can turn "no work" into "nobody knows",
// and never a tool call that was seen into no work.
//
// What a tree ignores is outside of it, and so is everything beside the tree:
// a changed build folder, or a push, is not seen.
package witness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bound is how long one look may take. What takes longer is not known.
const Bound = 2 * time.Second

// Look is one look at a tree.
type Look struct {
	files map[string]stamp
	git   [sha256.Size]byte // HEAD, every ref, the index
	why   string            // why nothing is known; "" where all was seen
}

// stamp is what changes when a file is touched by anything, its own content
// included: the kernel's own clock of a change cannot be set back.
type stamp struct {
	size          int64
	changed, made int64 // nanoseconds
	inode         uint64
	mode          fs.FileMode
}

// At looks at the tree. It never fails: what cannot be seen is unknown.
func At(ctx context.Context, tree string) Look {
	ctx, cancel := context.WithTimeout(ctx, Bound)
	defer cancel()
	var l Look
	var err error
	if _, e := os.Lstat(filepath.Join(tree, ".git")); e == nil {
		l, err = repository(ctx, tree)
	} else {
		l, err = folder(ctx, tree)
	}
	switch {
	case ctx.Err() != nil:
		return Look{why: fmt.Sprintf("the tree could not be looked at within %s", Bound)}
	case err != nil:
		return Look{why: "the tree could not be looked at: " + err.Error()}
	}
	return l
}

// Known reports whether the tree was seen.
func (l Look) Known() bool { return l.why == "" && l.files != nil }

// Why says why it was not.
func (l Look) Why() string {
	if l.why == "" && l.files == nil {
		return "the tree was not looked at"
	}
	return l.why
}

// Since says what differs from an earlier look: "" where nothing does. Both
// have to be known.
func (l Look) Since(before Look) string {
	var names []string
	for name, s := range l.files {
		if before.files[name] != s {
			names = append(names, name)
		}
	}
	for name := range before.files {
		if _, there := l.files[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 1:
		return names[0] + " was touched"
	case len(names) > 1:
		return fmt.Sprintf("%s and %d more were touched", names[0], len(names)-1)
	case l.git != before.git:
		return "the repository's HEAD, refs or index changed"
	}
	return ""
}

// repository looks at all that git has or could take: what it ignores is
// outside.
func repository(ctx context.Context, tree string) (Look, error) {
	l := Look{files: map[string]stamp{}}
	asked := [][]string{
		{"ls-files", "-s", "-z"},
		{"ls-files", "-o", "--exclude-standard", "-z"},
		{"for-each-ref", "--format=%(objectname) %(refname)"},
		{"rev-parse", "--symbolic-full-name", "HEAD"}, // fails where nothing was committed yet: that is an answer too
	}
	answers := make([][]byte, len(asked))
	errs := make([]error, len(asked))
	var all sync.WaitGroup
	for i, args := range asked {
		all.Add(1)
		go func() {
			defer all.Done()
			// Without the lock: our look must not refresh the index of a user at work.
			cmd := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-C", tree}, args...)...)
			cmd.WaitDelay = 100 * time.Millisecond
			answers[i], errs[i] = cmd.Output()
		}()
	}
	all.Wait()
	if err := errors.Join(errs[:3]...); err != nil {
		return Look{}, err
	}
	sum := sha256.New()
	for _, i := range []int{0, 2, 3} {
		sum.Write(answers[i])
		sum.Write([]byte{0})
	}
	sum.Sum(l.git[:0])
	for row := range bytes.SplitSeq(answers[0], []byte{0}) {
		if _, name, ok := bytes.Cut(row, []byte{'\t'}); ok {
			if err := l.take(ctx, tree, string(name)); err != nil {
				return Look{}, err
			}
		}
	}
	for name := range bytes.SplitSeq(answers[1], []byte{0}) {
		if len(name) == 0 {
			continue
		}
		if err := l.take(ctx, tree, string(name)); err != nil {
			return Look{}, err
		}
	}
	return l, nil
}

// folder looks at everything below a tree that is in no repository.
func folder(ctx context.Context, tree string) (Look, error) {
	l := Look{files: map[string]stamp{}}
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		return l.take(ctx, tree, name)
	})
	return l, err
}

func (l Look) take(ctx context.Context, tree, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := os.Lstat(filepath.Join(tree, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // deleted, and git has it still
	case err != nil:
		return err
	}
	s := stamp{size: info.Size(), changed: info.ModTime().UnixNano(), mode: info.Mode()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode, s.made = st.Ino, changed(st)
	}
	if info.IsDir() && strings.HasSuffix(name, "/") {
		s.size = 0 // an embedded repository is one thing to git
	}
	l.files[name] = s
	return nil
}
