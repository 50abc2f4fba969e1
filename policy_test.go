package paceline_test

import (
	"go/ast"
	"path/filepath"
	"strings"
	"testing"
)

// TestPolicy holds the rules that an import list cannot.
func TestPolicy(t *testing.T) {
	eachFile(t, func(path string, file *ast.File) {
		dir := filepath.ToSlash(filepath.Dir(path))
		for _, p := range broken(dir, file) {
			t.Errorf("%s: %s", path, p)
		}
	})
}

func broken(dir string, file *ast.File) (out []string) {
	for _, word := range []string{"util", "utils", "common", "helpers", "misc"} {
		if file.Name.Name == word {
			out = append(out, "a package is named by what it gives")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				out = append(out, "no init: wiring is written out in daemon")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "run" && n.Sel.Name == "Step" && !strings.HasSuffix(dir, "internal/supervisor") {
				out = append(out, "only supervisor steps a run")
			}
		case *ast.MapType:
			if v, ok := n.Value.(*ast.Ident); ok && v.Name == "any" && !strings.HasPrefix(dir, "internal/wire") && !strings.HasPrefix(dir, "internal/fakeapi") && dir != "internal/bench" {
				out = append(out, "map[string]any only where foreign bytes are read")
			}
		}
		return true
	})
	return out
}
