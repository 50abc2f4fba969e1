package witness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func git(tb testing.TB, tree string, args ...string) {
	tb.Helper()
	cmd := exec.Command("git", append([]string{"-C", tree, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+tree, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(tb testing.TB, parts ...string) {
	tb.Helper()
	path := filepath.Join(parts[:len(parts)-1]...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(parts[len(parts)-1]), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// repo is a repository with a committed, a changed, a new and an ignored file.
func repo(tb testing.TB) string {
	tb.Helper()
	tree := tb.TempDir()
	git(tb, tree, "init", "-q", "-b", "main")
	write(tb, tree, ".gitignore", "build/\n")
	write(tb, tree, "kept.txt", "one")
	write(tb, tree, "sub", "changed.txt", "one")
	git(tb, tree, "add", ".")
	git(tb, tree, "commit", "-q", "-m", "first")
	write(tb, tree, "sub", "changed.txt", "two")
	write(tb, tree, "new.txt", "new")
	write(tb, tree, "build", "out.o", "object")
	return tree
}

func TestSince(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(tree string)
		want string
	}{
		{"F10 nothing", func(string) {}, ""},
		{"F10 reading", func(tree string) {
			_, _ = os.ReadFile(filepath.Join(tree, "kept.txt"))
			git(t, tree, "status")
			git(t, tree, "log")
		}, ""},
		{"F10 a file touched, and its content as before", func(tree string) { write(t, tree, "kept.txt", "one") }, "kept.txt was touched"},
		{"F10 its clock set back", func(tree string) {
			path := filepath.Join(tree, "kept.txt")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, "One")
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "kept.txt was touched"},
		{"F10 one that was changed already", func(tree string) { write(t, tree, "sub", "changed.txt", "2wo") }, "sub/changed.txt was touched"},
		{"F10 a new one", func(tree string) { write(t, tree, "more.txt", "") }, "more.txt was touched"},
		{"F10 one that is gone", func(tree string) { _ = os.Remove(filepath.Join(tree, "new.txt")) }, "new.txt was touched"},
		{"F10 a mode", func(tree string) { _ = os.Chmod(filepath.Join(tree, "kept.txt"), 0o700) }, "kept.txt was touched"},
		{"F10 several", func(tree string) { write(t, tree, "a", ""); write(t, tree, "b", "") }, "a and 1 more were touched"},
		{"F10 a commit", func(tree string) { git(t, tree, "commit", "-q", "--allow-empty", "-m", "second") }, "the repository's HEAD, refs or index changed"},
		{"F10 a branch", func(tree string) { git(t, tree, "branch", "other") }, "the repository's HEAD, refs or index changed"},
		{"F10 another branch at the same commit", func(tree string) { git(t, tree, "checkout", "-q", "-b", "other") }, "the repository's HEAD, refs or index changed"},
		{"F10 the index alone", func(tree string) { git(t, tree, "rm", "-q", "--cached", "kept.txt") }, "the repository's HEAD, refs or index changed"},
		{"F10 what it ignores is outside", func(tree string) { write(t, tree, "build", "out.o", "another") }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := repo(t)
			before := At(t.Context(), tree)
			time.Sleep(5 * time.Millisecond) // the kernel's clock of a file has steps
			tt.do(tree)
			after := At(t.Context(), tree)
			if !before.Known() || !after.Known() {
				t.Fatal(before.Why(), after.Why())
			}
			if got := after.Since(before); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestAt(t *testing.T) {
	t.Run("F10 a repository without a commit", func(t *testing.T) {
		tree := t.TempDir()
		git(t, tree, "init", "-q")
		before := At(t.Context(), tree)
		write(t, tree, "a", "")
		if after := At(t.Context(), tree); !before.Known() || after.Since(before) != "a was touched" {
			t.Error(before.Why(), after.Since(before))
		}
	})
	t.Run("F10 a folder that is no repository, with all that is in it", func(t *testing.T) {
		tree := t.TempDir()
		write(t, tree, "build", "x", "")
		before := At(t.Context(), tree)
		if !before.Known() || At(t.Context(), tree).Since(before) != "" {
			t.Fatal("it changed by being looked at")
		}
		write(t, tree, "build", "y", "")
		if after := At(t.Context(), tree); !strings.Contains(after.Since(before), "touched") {
			t.Error(after.Since(before))
		}
	})
	t.Run("F10 what cannot be looked at is not known", func(t *testing.T) {
		if l := At(t.Context(), filepath.Join(t.TempDir(), "gone")); l.Known() || l.Why() == "" {
			t.Error("a tree that is not there was seen")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if l := At(ctx, repo(t)); l.Known() {
			t.Error("a look that was cut short was taken for a whole one")
		}
		if (Look{}).Known() {
			t.Error("no look is a look")
		}
	})
	t.Run("F10 50,000 files are seen within the bound, or are not known", func(t *testing.T) {
		tree := t.TempDir()
		git(t, tree, "init", "-q")
		for i := range 50_000 {
			write(t, tree, fmt.Sprintf("d%d", i/500), fmt.Sprintf("f%d", i), "")
		}
		start := time.Now()
		l := At(t.Context(), tree)
		// Past the bound, what runs is ended; it may take a moment to go.
		if took := time.Since(start); took > 2*Bound {
			t.Errorf("it took %s", took)
		}
		if l.Known() && len(l.files) != 50_000 {
			t.Errorf("%d files of 50,000 were taken for all", len(l.files))
		}
		t.Logf("known: %t, in %s", l.Known(), time.Since(start).Round(time.Millisecond))
	})
}

func BenchmarkAt(b *testing.B) {
	tree := repo(b)
	for b.Loop() {
		if !At(b.Context(), tree).Known() {
			b.Fatal("not known")
		}
	}
}
