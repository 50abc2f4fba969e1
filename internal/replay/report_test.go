package replay

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// secrets are planted in every place of a recording. None may be found in its
// report, in whole or in its telling part.
var secrets = map[string]string{
	"a key":                    "sk-ant-api03-Zq9planted",
	"a key of another vendor":  "AIzaPlantedPlantedPlanted",
	"a token of a session":     "eyJhbGciPlanted.eyJzdWIiPlanted.c2ln",
	"a long opaque word":       "0123456789abcdefPLANTED0123456789",
	"a long word of no words":  "QPlantedXKwhfPLPJHVvZzTTqqRRss",
	"a header":                 "Authorization: Bearer planted-bearer",
	"a header's value":         "Bearer planted-bearer",
	"an assignment":            "PLANTED_API_KEY=planted-value",
	"an e-mail":                "jane.planted@example.com",
	"a home":                   "/home/planted/src/thing.go",
	"a home on a Mac":          "/Users/planted/thing",
	"a home on Windows":        `C:\Users\planted\thing`,
	"a link's user and query":  "https://planted:hunter2@example.com/planted?token=planted#planted",
	"another scheme's user":    "postgres://planted:hunter2@db.example.com:5432/planted",
	"what was asked":           "Rewrite the planted ledger, please",
	"what was asked, quoted":   `He said "planted" and left`,
	"what was asked, in lines": "first planted line\nsecond",
}

func TestReportRedacts(t *testing.T) {
	for name, secret := range secrets {
		q := quoted(secret)
		prompt := strings.HasPrefix(name, "what was asked")
		asked := quoted("something else")
		if prompt {
			asked = q
		}
		for where, lines := range map[string][]string{
			"gemini": {
				`{"type":"init","session_id":"s","model":"gemini-2.5-pro","cwd":` + q + `}`,
				`{"type":"message","role":"user","content":` + asked + `}`,
				`{"type":"tool_use","tool_name":"run_shell_command","parameters":{"command":` + asked + `},` + q + `:1}`,
				`{"type":"result","status":"error","error":{"type":"unknown","message":` + quoted("[API Error: no: "+secret+"]") + `}}`,
			},
			"claude": {
				`{"type":"user","message":{"role":"user","content":[{"type":"text","text":` + asked + `}]}}`,
				`{"type":"assistant","message":{"content":[{"type":"text","text":` + q + `}]}}`,
				`{"type":"from_the_future","status":` + q + `,"model":` + q + `,"account_id":` + q + `,"at":` + q + `}`,
				`{"type":"result","subtype":"success","is_error":true,"result":` + quoted("no: "+secret) + `}`,
				"not JSON: " + strings.ReplaceAll(secret, "\n", " "),
			},
			"codex-acp": {
				`{"dir":"c>a","msg":{"id":2,"method":"session/prompt","params":{"prompt":[{"type":"text","text":` + asked + `}]}}}`,
				`{"dir":"a>c","msg":{"id":2,"error":{"code":-32603,"message":` + quoted("no: "+secret) + `,"data":{"codexErrorInfo":` + q + `}}}}`,
			},
		} {
			t.Run(where+" leaves out "+name, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "stdout.jsonl")
				write := func(file, text string) {
					if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				write("stdout.jsonl", strings.Join(lines, "\n")+"\n")
				write("exit", "1\n")
				if where != "codex-acp" {
					write("stderr", "Error: "+strings.ReplaceAll(secret, "\n", " ")+"\nanything: "+secret+"\n")
				}
				if prompt && where != "codex-acp" { // in lines a prompt is cut up; the whole of it is known
					write("stderr", "anything: "+secret+"\n")
				}
				var out bytes.Buffer
				if err := Report(&out, where, path, "test"); err != nil {
					t.Fatal(err)
				}
				for _, part := range []string{"planted", "PLANTED", "Planted", "hunter2", dir} {
					if strings.Contains(out.String(), part) {
						t.Errorf("%q is in the report:\n%s", part, out.String())
					}
				}
			})
		}
	}
}

// TestReportKeeps reads the reports of all recordings as recordings: what a
// reader judges by is still there.
func TestReportKeeps(t *testing.T) {
	files, err := Files([]string{"testdata/other"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		harness := strings.TrimSuffix(strings.Split(f, "/")[2], "-constructed")
		if strings.Contains(f, "gemini/429-json") {
			continue // its reason is in a line of a stack trace, which may hold anything
		}
		t.Run("a report reads as its recording did: "+f, func(t *testing.T) {
			want, err := File(harness, f)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Report(&out, harness, f, "test"); err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(out.String(), "\n## Lines\n")
			lines, rest, _ := strings.Cut(rest, "\n## ")
			_, stderr, _ := strings.Cut("## "+rest, "## Standard error\n")
			dir := t.TempDir()
			path := filepath.Join(dir, filepath.Base(f))
			files := map[string]string{path: lines, filepath.Join(dir, "stderr"): stderr}
			if code, known := exitBeside(f); known {
				files[filepath.Join(dir, "exit")] = fmt.Sprint(code)
			}
			for p, text := range files {
				if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for l := range strings.Lines(lines) {
				if !gjson.Valid(l) && !strings.HasPrefix(l, "[line: ") {
					t.Errorf("no JSON: %s", l)
				}
			}
			got, err := File(harness, path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				w, g := want[i], got[i]
				if w.Outcome != g.Outcome || w.Cause != g.Cause || w.Work != g.Work {
					t.Errorf("read as %s %s %s, its report as %s %s %s\n%s", w.Outcome, w.Cause, w.Work, g.Outcome, g.Cause, g.Work, out.String())
				}
			}
		})
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte(`{"type":"result","error":{"message":"x"}}`))
	f.Add([]byte(`{"error":"/home/x y@z sk-1234567"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r := &redactor{ids: map[string]string{}}
		valid := gjson.ValidBytes(line)
		if valid {
			r.quotes(gjson.ParseBytes(line), false, false)
		}
		if out := r.line(line); valid && !gjson.Valid(out) {
			t.Errorf("%q became %q", line, out)
		}
	})
}
