package paceline_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/paceline/paceline"

// layers says what each package may import, besides the standard library. Do
// not widen a line to fix a build: move the code. A package without a line may
// import nothing of ours and nothing of others.
//
// "pure" packages decide. They see no clock, no file, no network, no
// goroutine: everything that they look at is a value they were given.
var layers = map[string]layer{
	"":                     {pure: true},
	"cmd/paceline":         {imports: []string{"cli"}},
	"internal/wire":        {pure: true, imports: []string{""}},
	"internal/notice":      {pure: true, imports: []string{"", "github.com/tidwall/gjson"}},
	"internal/wire/claude": {pure: true, imports: []string{"", "wire", "notice", "github.com/tidwall/gjson"}},
	"internal/wire/codex":  {pure: true, imports: []string{"", "wire", "notice", "github.com/tidwall/gjson"}},
	"internal/stall":       {pure: true, imports: []string{"", "wire"}},
	"internal/wire/agy":    {pure: true, imports: []string{"", "wire", "notice", "github.com/tidwall/gjson"}},
	"internal/wire/acp":    {pure: true, imports: []string{"", "wire", "notice", "github.com/tidwall/gjson"}},
	"internal/wire/exec":   {pure: true, imports: []string{"", "wire", "notice", "github.com/tidwall/gjson"}},
	"internal/place":       {pure: true, imports: []string{""}},
	"internal/quota":       {pure: true},
	"internal/usage/tally": {pure: true, imports: []string{"quota"}},
	"internal/health":      {pure: true, imports: []string{"", "notice"}},
	"internal/secret":      {pure: true, imports: []string{"github.com/pelletier/go-toml/v2"}},
	"internal/packet":      {pure: true, imports: []string{""}},
	"internal/run":         {pure: true, imports: []string{"", "wire", "place"}},
	"internal/team":        {pure: true, imports: []string{"", "place", "run"}},

	"internal/logkey":          {},
	"internal/usage":           {imports: []string{"quota", "usage/tally"}},
	"internal/witness":         {},
	"internal/guard":           {imports: []string{"golang.org/x/sys/unix", "github.com/landlock-lsm/go-landlock/landlock", "github.com/landlock-lsm/go-landlock/landlock/syscall"}},
	"internal/harness":         {imports: []string{"", "wire", "wire/claude", "wire/codex", "wire/acp", "wire/agy", "guard", "health", "github.com/tidwall/gjson"}},
	"internal/try":             {imports: []string{"fakeapi", "golang.org/x/sys/unix"}},
	"internal/bench":           {imports: []string{"fakeapi", "usage", "usage/tally", "golang.org/x/sys/unix"}},
	"internal/replay":          {imports: []string{"", "wire", "wire/claude", "wire/codex", "wire/agy", "wire/acp", "wire/exec", "github.com/tidwall/gjson"}},
	"internal/fakeapi":         {imports: []string{"github.com/tidwall/gjson"}},
	"internal/config":          {imports: []string{"", "place", "stall", "health", "github.com/pelletier/go-toml/v2", "github.com/pelletier/go-toml/v2/unstable"}},
	"internal/store":           {imports: []string{"", "run", "place", "health", "team"}},
	"internal/store/storetest": {imports: []string{"", "run", "place", "team", "store", "wire", "health"}},
	"internal/store/sqlite":    {imports: []string{"store", "modernc.org/sqlite", "modernc.org/sqlite/lib", "golang.org/x/sys/unix", "github.com/riverqueue/river/riverdriver/riversqlite", "github.com/riverqueue/river/rivermigrate"}},
	"internal/store/postgres": {imports: []string{
		"store", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn", "github.com/jackc/pgx/v5/pgxpool", "github.com/jackc/pgx/v5/stdlib",
		"golang.org/x/sys/unix", "github.com/riverqueue/river/riverdriver/riverdatabasesql", "github.com/riverqueue/river/rivermigrate",
	}},
	"internal/store/pgtest": {imports: []string{"github.com/jackc/pgx/v5"}},
	"internal/outbox": {imports: []string{
		"", "run", "store", "github.com/riverqueue/river", "github.com/riverqueue/river/riverdriver",
		"github.com/riverqueue/river/riverdriver/riversqlite", "github.com/riverqueue/river/riverdriver/riverdatabasesql", "github.com/jackc/pgx/v5/pgxpool",
		"github.com/riverqueue/river/rivertype",
	}},
	"internal/supervisor": {imports: []string{"", "wire", "place", "health", "stall", "run", "team", "packet", "secret", "store", "outbox", "harness", "guard", "witness", "config", "logkey"}},
	"internal/api":        {imports: []string{"", "health", "run", "team", "store", "supervisor", "config", "harness", "guard", "golang.org/x/sys/unix"}},
	"internal/daemon":     {imports: []string{"api", "config", "store", "store/sqlite", "store/postgres", "outbox", "supervisor", "harness"}},
	"internal/cli": {imports: []string{
		"", "place", "health", "run", "team", "store", "supervisor", "daemon", "api", "config", "harness", "guard", "notice", "replay", "secret", "usage",
		"github.com/spf13/cobra", "golang.org/x/sys/unix",
	}},
}

type layer struct {
	pure    bool
	imports []string // "" is the root package; other own ones are named below internal/
}

// impure are the parts of the standard library that see or change the world.
var impure = []string{"os", "net", "syscall", "log", "context", "sync", "database", "math/rand", "crypto/rand", "unsafe", "testing"}

func TestLayers(t *testing.T) {
	eachFile(t, func(path string, file *ast.File) {
		pkg := filepath.ToSlash(filepath.Dir(path))
		if pkg == "." {
			pkg = ""
		}
		l, ok := layers[pkg]
		if !ok {
			t.Errorf("%s: package %q has no line in layers", path, pkg)
			return
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if why := forbidden(l, imported); why != "" {
				t.Errorf("%s imports %s: %s", path, imported, why)
			}
		}
	})
}

func forbidden(l layer, imported string) string {
	own, isOwn := strings.CutPrefix(imported, module)
	switch {
	case isOwn:
		own = strings.TrimPrefix(own, "/internal/")
		if !slices.Contains(l.imports, own) {
			return "its line in layers does not name it"
		}
	case strings.Contains(strings.SplitN(imported, "/", 2)[0], "."):
		if !slices.Contains(l.imports, imported) {
			return "its line in layers does not name this module"
		}
	case l.pure:
		for _, p := range impure {
			if imported == p || strings.HasPrefix(imported, p+"/") {
				return "a pure package sees nothing of the world"
			}
		}
	}
	return ""
}

// clocks are the functions of package time that read or await the clock.
var clocks = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}

func TestPurePackagesOnlyCompute(t *testing.T) {
	eachFile(t, func(path string, file *ast.File) {
		pkg := filepath.ToSlash(filepath.Dir(path))
		if pkg == "." {
			pkg = ""
		}
		if !layers[pkg].pure {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.ChanType, *ast.SendStmt:
				t.Errorf("%s: a pure package starts and awaits nothing", path)
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok {
					return true
				}
				if x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
					t.Errorf("%s: time.%s: the time is a fact that a pure package is given", path, n.Sel.Name)
				}
				if x.Name == "fmt" && (strings.HasPrefix(n.Sel.Name, "Print") || strings.HasPrefix(n.Sel.Name, "Scan")) {
					t.Errorf("%s: fmt.%s", path, n.Sel.Name)
				}
			}
			return true
		})
	})
}

// TestGuardsCatch plants each fault, so that the tests above cannot pass by
// looking at nothing.
func TestGuardsCatch(t *testing.T) {
	pure := layer{pure: true, imports: []string{"wire"}}
	for imported, bad := range map[string]bool{
		"os": true, "net/http": true, "context": true, "strings": false, module + "/internal/wire": false,
		module + "/internal/store": true, "modernc.org/sqlite": true, module: true,
	} {
		if got := forbidden(pure, imported) != ""; got != bad {
			t.Errorf("import of %s: forbidden %t, want %t", imported, got, bad)
		}
	}
}

// eachFile visits every source file of the module but tests.
func eachFile(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		visit(path, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d files seen", seen)
	}
}
