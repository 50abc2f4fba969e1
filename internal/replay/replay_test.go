package replay

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the verdicts anew; read every changed line")

// verdicts reads everything below root, a line a turn.
func verdicts(t *testing.T, root string) string {
	t.Helper()
	var b bytes.Buffer
	for _, harness := range []string{"claude", "codex"} {
		files, err := Files([]string{filepath.Join(root, harness)})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			rows, err := File(harness, f)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(root, f)
			for _, r := range rows {
				fmt.Fprintln(&b, strings.Join([]string{
					name, fmt.Sprint(r.Turn), r.Outcome, r.Cause, r.Code, r.Work, r.ResetAt, r.ResetSource, r.Scope, fmt.Sprint(r.Retryable),
				}, "\t"))
			}
		}
	}
	return b.String()
}

// others reads everything below root/other: a folder a harness.
func others(t *testing.T, root string) string {
	t.Helper()
	files, err := Files([]string{filepath.Join(root, "other")})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range files {
		name, _ := filepath.Rel(root, f)
		harness := strings.TrimSuffix(strings.Split(name, "/")[1], "-constructed")
		if strings.Contains(name, "/help") || harness == "mcp" {
			continue // a usage text, and another program's stream
		}
		rows, err := File(harness, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			fmt.Fprintln(&b, strings.Join([]string{
				name, fmt.Sprint(r.Turn), r.Outcome, r.Cause, r.Code, r.Work, r.ResetAt, r.ResetSource, r.Scope, fmt.Sprint(r.Retryable),
			}, "\t"))
		}
	}
	return b.String()
}

// TestRecordings holds the readers to recordings of the real programs.
func TestRecordings(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for _, tt := range []struct {
		name, root, table string
		read              func(*testing.T, string) string
	}{
		{"F59 F67 the recordings kept here", "testdata", "testdata/verdicts.tsv", verdicts},
		{"F59 F67 all recordings there are", "../../../shared/fixtures", "testdata/all.tsv", verdicts},
		{"F10 F67 the recordings of other programs kept here (testdata/other.md explains)", "testdata", "testdata/other.tsv", others},
		{"F10 F67 all recordings of other programs there are", "../../../shared/fixtures", "testdata/all-other.tsv", others},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(tt.root, "codex")); err != nil {
				t.Skip("not run: the recordings are not beside this checkout")
			}
			got := tt.read(t, tt.root)
			if *update {
				if err := os.WriteFile(tt.table, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(tt.table)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"an empty file":              "",
		"garbage":                    "\x00\xff not a stream\n",
		"half a frame":               `{"method":"turn/started","params":{"thre`,
		"a line of seventeen MB":     strings.Repeat("x", 17<<20) + "\n",
		"a frame of an unknown kind": `{"type":"system","subtype":"from_the_future"}` + "\n",
	} {
		for _, harness := range Harnesses() {
			t.Run("P7 "+name+" read as "+harness+" proves nothing", func(t *testing.T) {
				path := filepath.Join(dir, "stdout.jsonl")
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				rows, err := File(harness, path)
				if err != nil || len(rows) != 1 || rows[0].Outcome != "incomplete" || rows[0].Cause != "" {
					t.Errorf("%+v, %v", rows, err)
				}
			})
		}
	}
}
