package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/guard"
)

// Contained is a containment with the cage that enforces it.
type Contained struct {
	paceline.Containment
	Cage *guard.Cage // nil where the mode needs none, or none can be had
}

// Contain maps a mode onto a harness in a tree. Where the kernel offers a cage,
// the cage decides and the program's own sandbox is off: Codex's cannot mount
// inside Landlock, and two half-known walls are worse than one known one.
func Contain(h Harness, a paceline.Account, mode paceline.Mode, tree string, env Environment, extra []string) Contained {
	c := Contained{Containment: paceline.Containment{Mode: mode, Network: true}}
	if mode == paceline.ModeFull {
		c.By = "none"
		return c
	}
	roots := append(temporary(env), homes(h, a, env)...)
	if mode == paceline.ModeRead {
		// A temporary folder that holds the tree would open it.
		roots = slices.DeleteFunc(roots, func(root string) bool { return within(tree, root) })
	} else {
		roots = append(roots, tree)
		roots = append(roots, gitDirs(tree)...)
		roots = append(roots, extra...)
	}
	slices.Sort(roots)
	c.Writable = slices.Compact(roots)
	if by, err := guard.CageAvailable(); err == nil {
		c.By = by
		c.Cage = &guard.Cage{Writable: c.Writable, Network: true}
		return c
	} else if h.Name() == "codex" {
		c.By = "codex's own sandbox"
		return c
	} else {
		c.By, c.Weaker = "none", "its commands can write anywhere: "+err.Error()
		return c
	}
}

// within reports whether path is root or lies below it.
func within(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// temporary lists the folders that programs need for themselves: Codex keeps a
// database in /var/tmp.
func temporary(env Environment) []string {
	dirs := []string{"/tmp", "/var/tmp"}
	if t := env.Get("TMPDIR"); filepath.IsAbs(t) {
		dirs = append(dirs, filepath.Clean(t))
	}
	return dirs
}

// homes lists what the program keeps outside the tree for itself.
func homes(h Harness, a paceline.Account, env Environment) []string {
	home := h.Home(a, env)
	if home == "" {
		return nil
	}
	out := []string{home}
	if s, spoken := h.(speaker); spoken {
		return append(out, s.agent.others(env)...)
	}
	if h.Name() == "claude" && filepath.Dir(home) == env.Get("HOME") {
		// Without a CLAUDE_CONFIG_DIR its settings lie beside the folder.
		out = append(out, home+".json")
	}
	return out
}

// gitDirs lists where commits of this tree are written when that is not inside
// it: a linked worktree keeps them in its main checkout.
func gitDirs(tree string) []string {
	if info, err := os.Lstat(filepath.Join(tree, ".git")); err != nil || info.IsDir() {
		return nil
	}
	out, err := exec.Command("git", "-C", tree, "rev-parse", "--path-format=absolute", "--git-common-dir").Output()
	if dir := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(dir) {
		return []string{dir}
	}
	return nil
}

// Tree is the working tree that dir belongs to: its git top level, else its
// real path. Nested trees are the same tree.
func Tree(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = filepath.Clean(dir)
	}
	for at := real; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return real
		}
	}
}
