package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
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
	".gemini/settings.json", ".gemini/.env", ".qwen/settings.json", ".qwen/.env", ".grok/settings.json", ".kimi/config.toml",
	"opencode.json", "opencode.jsonc", ".github/mcp.json", ".copilot/mcp-config.json",
	".agents/hooks.json", ".agents/mcp_config.json", ".agents/plugins.json",
}

// projectFolders hold such files by any name: opencode runs each plugin and
// tool that lies there.
var projectFolders = []string{".opencode", ".agents/plugins", ".gemini/extensions", ".gemini/hooks"}

// Project lists the files of a tree that a program started in dir would act on,
// relative to the tree, with a digest of their contents; "" where there is none.
func Project(dir, tree string) (files []string, digest string) {
	sum := sha256.New()
	for _, d := range upTo(dir, tree) {
		for _, path := range actedOn(d) {
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

// actedOn lists where such files of one folder lie, or would.
func actedOn(dir string) (paths []string) {
	for _, name := range projectFiles {
		paths = append(paths, filepath.Join(dir, name))
	}
	for _, name := range projectFolders {
		_ = filepath.WalkDir(filepath.Join(dir, name), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return fs.SkipDir // there is none
			case d.Name() == "node_modules":
				return fs.SkipDir // a program's own, put there by itself
			case d.Type().IsRegular():
				paths = append(paths, path)
			}
			return nil
		})
	}
	return paths
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
