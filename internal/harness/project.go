package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// projectFiles are what programs act on by themselves when they start in a
// tree: hooks and tool servers run commands, settings widen rights or send
// requests elsewhere. Driven without a terminal, the programs ask nobody about
// them. What is only told to a model (CLAUDE.md, AGENTS.md) is not among them.
var projectFiles = []string{
	".claude/settings.json", ".claude/settings.local.json", ".mcp.json",
	".codex/config.toml", ".codex/hooks.json",
}

// Project lists the files of a tree that a program started in dir would act on,
// relative to the tree, with a digest of their contents; "" where there is none.
func Project(dir, tree string) (files []string, digest string) {
	sum := sha256.New()
	for _, d := range upTo(dir, tree) {
		for _, name := range projectFiles {
			path := filepath.Join(d, name)
			f, err := os.Open(path)
			if err != nil {
				continue
			}
			rel, err := filepath.Rel(tree, path)
			if err != nil {
				rel = path
			}
			files = append(files, rel)
			fmt.Fprintf(sum, "%q ", rel)
			if _, err := io.Copy(sum, f); err != nil {
				fmt.Fprintf(sum, "unreadable: %v", err) // a folder, for instance
			}
			f.Close()
		}
	}
	if len(files) == 0 {
		return nil, ""
	}
	return files, hex.EncodeToString(sum.Sum(nil)[:16])
}

// upTo lists dir and the folders above it, up to tree.
func upTo(dir, tree string) (out []string) {
	for d := dir; ; d = filepath.Dir(d) {
		out = append(out, d)
		if d == tree || !strings.HasPrefix(d, tree+string(filepath.Separator)) {
			return out
		}
	}
}
