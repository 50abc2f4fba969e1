package fakeapi

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

const ask = `{"event":"user","message":{"content":"make it"}}` + "\n"

// playAgy runs the scripted program over what it is told.
func playAgy(t *testing.T, script AgyScript, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	home := t.TempDir()
	if err := InstallAgy(t.TempDir(), home, "/bin/true", script); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("AGY_CLI_DISABLE_AUTO_UPDATE", "true")
	t.Chdir(t.TempDir())
	var o, e bytes.Buffer
	code = Agy(args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

// shape is what of a stream does not depend on the moment: each line's kind and
// the names of its fields.
func shape(stream string) (out []string) {
	for line := range strings.Lines(stream) {
		f := gjson.Parse(line)
		body := f.Get(f.Get("event").String())
		var names []string
		body.ForEach(func(k, _ gjson.Result) bool { names = append(names, k.String()); return true })
		names = slices.DeleteFunc(names, func(n string) bool { return n == "duration_seconds" || n == "usage" })
		slices.Sort(names)
		out = append(out, fmt.Sprint(f.Get("event"), " ", body.Get("step_type"), " ", body.Get("state"), " ", body.Get("status"), " ", body.Get("error"), " ", names))
	}
	return out
}

func TestAgyShapes(t *testing.T) {
	free := []string{"--print=", "--input-format", "stream-json", "--output-format", "stream-json", "--dangerously-skip-permissions"}
	asks := free[:5]
	quota := AgyQuota("2h31m33s")
	for _, tt := range []struct {
		recording string
		script    AgyScript
		args      []string
	}{
		{"ok", AgyScript{Turns: []AgyTurn{{Text: "PONG"}}}, free},
		{"tool", AgyScript{Turns: []AgyTurn{{Shell: "echo hello > made.txt", Text: "PONG"}}}, free},
		{"denied", AgyScript{Turns: []AgyTurn{{Shell: "ls", Text: "PONG"}}}, asks},
		{"quota-before-work", AgyScript{Turns: []AgyTurn{{Error: quota}}}, free},
		{"quota-after-tool", AgyScript{Turns: []AgyTurn{{Shell: "echo hello > made.txt", Error: quota}}}, free},
		{"http-401", AgyScript{Turns: []AgyTurn{{Error: &AgyError{
			Text: "UNAUTHENTICATED (code 401): Request had invalid authentication credentials.", Short: "x", Is: "UNAUTHENTICATED", Code: 401, Kind: "http",
		}}}}, free},
		{"print-timeout", AgyScript{Turns: []AgyTurn{{Hang: true, Text: "par"}}}, append([]string{"--print-timeout=10ms"}, free...)},
		{"resume-unknown-id", AgyScript{Turns: []AgyTurn{{Text: "PONG"}}}, append([]string{"--conversation", "00000000-0000-4000-8000-0000000000ff"}, free...)},
		{"signed-out-or-offline", AgyScript{SignedOut: true}, free},
		{"signed-out-or-offline", AgyScript{Offline: true}, free},
		{"quota-silent-1.0", AgyScript{Old: "2h"}, free},
	} {
		t.Run("the scripted agy speaks as the recorded one: "+tt.recording, func(t *testing.T) {
			dir := filepath.Join("..", "replay", "testdata", "other", "agy-constructed", tt.recording)
			read := func(name string) string {
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			recorded, errs, exit := read("stdout"), read("stderr"), strings.TrimSpace(read("exit"))
			code, out, said := playAgy(t, tt.script, ask, tt.args...)
			if got, want := shape(out), shape(recorded); !slices.Equal(got, want) {
				t.Errorf("it says\n%s\nrecorded\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if fmt.Sprint(code) != exit {
				t.Errorf("it ends with %d, recorded %s", code, exit)
			}
			first := func(s string) string { l, _, _ := strings.Cut(s, "\n"); w, _, _ := strings.Cut(l, " "); return w }
			if tt.recording != "http-401" && first(said) != first(errs) {
				t.Errorf("its standard error begins %q, recorded %q", said, errs)
			}
		})
	}
}

func TestAgyFlags(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"a prompt that swallows the next flag", []string{"--print", "--input-format", "stream-json"}, 2, `--print took "--input-format"`},
		{"a model's base without an effort", []string{"--print=", "--model", "gemini-3.8-flash"}, 1, "requires --effort"},
		{"a model that is none", []string{"--print=", "--model", "gemini-9"}, 1, "unknown model"},
		{"a flag that is none", []string{"--prints"}, 1, "unknown flag"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if code, _, errs := playAgy(t, AgyScript{}, "", tt.args...); code != tt.code || !strings.Contains(errs, tt.says) {
				t.Errorf("%d %q", code, errs)
			}
		})
	}
	t.Run("a slash command ends the stream, unless they are off", func(t *testing.T) {
		line := `{"event":"user","message":{"content":"/model"}}` + "\n"
		if code, _, _ := playAgy(t, AgyScript{}, line, "--print=", "--input-format=stream-json"); code != 2 {
			t.Errorf("exit %d", code)
		}
		if code, _, _ := playAgy(t, AgyScript{}, line, "--print=", "--input-format=stream-json", "--disable-slash-commands"); code != 0 {
			t.Errorf("exit %d", code)
		}
	})
	t.Run("after an error every later turn of the conversation says ERROR", func(t *testing.T) {
		home := t.TempDir()
		script := AgyScript{Turns: []AgyTurn{{Error: AgyQuota("2h")}, {Text: "A"}}}
		if err := InstallAgy(t.TempDir(), home, "/bin/true", script); err != nil {
			t.Fatal(err)
		}
		t.Setenv("HOME", home)
		t.Setenv("AGY_CLI_DISABLE_AUTO_UPDATE", "true")
		var first, second bytes.Buffer
		if code := Agy([]string{"--print="}, strings.NewReader(ask), &first, &first); code != 3 {
			t.Fatalf("exit %d", code)
		}
		id := gjson.Get(first.String(), "conversation_id").String()
		if code := Agy([]string{"--print=", "--conversation", id}, strings.NewReader(ask), &second, &second); code != 0 {
			t.Fatalf("exit %d", code)
		}
		lines := strings.Split(strings.TrimSpace(second.String()), "\n")
		last := gjson.Parse(lines[len(lines)-1]).Get("result")
		if last.Get("status").String() != "ERROR" || last.Get("response").String() != "A" || last.Get("num_turns").Int() != 2 {
			t.Errorf("%s", last.Raw)
		}
		if !strings.Contains(second.String(), "system_message") {
			t.Error("it does not say that it was resumed")
		}
	})
	t.Run("an updater starts unless it is told exactly true", func(t *testing.T) {
		home := t.TempDir()
		if err := InstallAgy(t.TempDir(), home, "/bin/true", AgyScript{}); err != nil {
			t.Fatal(err)
		}
		t.Setenv("HOME", home)
		t.Setenv("AGY_CLI_DISABLE_AUTO_UPDATE", "1")
		var out bytes.Buffer
		Agy([]string{"--print="}, strings.NewReader(""), &out, &out)
		all, err := AgyWasAsked(home)
		if err != nil || !slices.ContainsFunc(all, func(a AgyAsked) bool { return a.Note == "updater" }) {
			t.Errorf("%v %v", all, err)
		}
	})
}
