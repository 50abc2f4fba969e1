package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// ErrNotInstalled is a program that is nowhere on the child's PATH.
var ErrNotInstalled = errors.New("not installed")

// lookPath finds a program on env's own PATH, which may differ from ours.
func lookPath(name string, env Environment) (string, error) {
	for _, dir := range filepath.SplitList(env.Get("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, ErrNotInstalled)
}

// native looks behind the small script that npm puts on the PATH for Codex: it
// costs a Node start (about a tenth of a second a run) and only executes this
// binary. Where the package is laid out in another way the script is used.
func native(shim string) string {
	real, err := filepath.EvalSymlinks(shim)
	if err != nil || !strings.HasSuffix(real, ".js") {
		return shim
	}
	triple := map[string]string{
		"linux/amd64":  "x86_64-unknown-linux-musl",
		"linux/arm64":  "aarch64-unknown-linux-musl",
		"darwin/amd64": "x86_64-apple-darwin",
		"darwin/arm64": "aarch64-apple-darwin",
	}[runtime.GOOS+"/"+runtime.GOARCH]
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	pkg := filepath.Dir(filepath.Dir(real)) // …/@openai/codex
	platform := "codex-" + runtime.GOOS + "-" + arch
	for _, dir := range []string{
		filepath.Join(filepath.Dir(pkg), platform),
		filepath.Join(pkg, "node_modules", "@openai", platform),
		pkg,
	} {
		bin := filepath.Join(dir, "vendor", triple, "bin", "codex")
		if info, err := os.Stat(bin); err == nil && info.Mode()&0o111 != 0 {
			return bin
		}
	}
	return shim
}
