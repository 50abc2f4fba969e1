package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paceline/paceline/internal/fakeapi"
)

func TestBadInput(t *testing.T) {
	b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Fine."}), OpenAI: fakeapi.Steps(fakeapi.Text{Text: "Fine."})})
	config := filepath.Join(b.dir, "config.toml")
	write := func(text string) []string {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"PACELINE_CONFIG=" + config}
	}
	bare := []string{"PATH=/usr/bin:/bin"}
	for _, tt := range []struct {
		name  string
		env   []string
		stdin []byte
		args  []string
		code  int
		says  []string
	}{
		{"an unknown key names its nearest neighbour", write("[falback]\nenabled = false\n"), nil, []string{"config", "check"}, 2, []string{"falback", "fallback", "config.toml:1"}},
		{"an engine that is not installed: what to install", bare, nil, []string{"run", "-e", "codex", "hi"}, 2, []string{"codex is not installed", "npm install -g @openai/codex"}},
		{"a chain that names nothing usable", bare, nil, []string{"run", "--chain", "claude,codex", "hi"}, 2, []string{"nothing in the chain can be used", "claude is not installed", "codex is not installed"}},
		{"no engine at all", bare, nil, []string{"run", "hi"}, 2, []string{"no engine is ready", "npm install -g @anthropic-ai/claude-code"}},
		{"a chain that names nobody", nil, nil, []string{"run", "--chain", "claude,nobody", "hi"}, 2, []string{"nobody"}},
		{"an empty prompt", nil, nil, []string{"run", ""}, 2, []string{"the prompt is empty"}},
		{"an empty prompt on stdin", nil, []byte{}, []string{"run", "-"}, 2, []string{"the prompt is empty"}},
		{"a prompt of ten megabytes", nil, bytes.Repeat([]byte("x"), 10<<20), []string{"run", "-"}, 2, []string{"longer than 4 MB", "name the file"}},
		{"a prompt that is not text", nil, []byte("hello \xff\xfe"), []string{"run", "-"}, 2, []string{"byte 7 is not UTF-8"}},
		{"a prompt with zero bytes", nil, []byte("hello\x00"), []string{"run", "-"}, 2, []string{"byte 6 is zero"}},
		{"a directory that is not there", nil, nil, []string{"run", "--cd", "/nowhere/at/all", "hi"}, 2, []string{"does not exist", "--cd"}},
		{"a directory that is a file", nil, nil, []string{"run", "--cd", "/etc/passwd", "hi"}, 2, []string{"is not a directory"}},
		{"a directory that cannot be written to", nil, nil, []string{"run", "--cd", "/proc", "hi"}, 2, []string{"cannot be written to", "--mode read"}},
		{"an unknown mode", nil, nil, []string{"run", "--mode", "yolo", "hi"}, 2, []string{"yolo"}},
		{"an unknown flag", nil, nil, []string{"run", "--yolo", "hi"}, 2, []string{"--yolo", "--help"}},
		{"an unknown command", nil, nil, []string{"rum"}, 2, []string{"rum", "paceline help"}},
		{"a thread that is not there", nil, nil, []string{"show", "t-nothing"}, 2, []string{"there is no thread"}},
		{"a recording that is not there", nil, nil, []string{"replay", "--harness", "claude", "/nowhere"}, 2, []string{"/nowhere"}},
		{"a recording of nobody's", nil, nil, []string{"replay", "--harness", "nobody", "."}, 2, []string{"it reads claude, codex"}},
		{"two engines pinned in two ways", nil, nil, []string{"run", "-e", "claude", "--chain", "codex", "hi"}, 2, []string{"-e pins one engine"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := b.with(tt.env, bytes.NewReader(tt.stdin), tt.args...)
			if r.code != tt.code {
				t.Errorf("want exit %d, got %s", tt.code, r)
			}
			has(t, r.err, tt.says...)
			lacks(t, r.err, "goroutine ", "panic")
			if n := len(b.vendors.Requests()); n > 0 {
				for _, q := range b.vendors.Requests() {
					if q.Main {
						t.Errorf("a vendor was asked: %s %s", q.Vendor, q.Path)
					}
				}
			}
		})
	}
}

func TestBadHarness(t *testing.T) {
	const ready = `read x; echo '{"type":"control_response","response":{"subtype":"success","request_id":"paceline-open","response":{"account":{"tokenSource":"x","subscriptionType":"max"}}}}'; read x; `
	for _, tt := range []struct {
		name, script string
		code         int
		says         string
	}{
		{"one that dies before its first frame", `echo "settings are broken" >&2; exit 3`, 1, "settings are broken"},
		{"one that prints garbage and leaves", ready + `head -c 5000 /dev/urandom; exit 0`, 1, "ended in the middle"},
		{"one that prints half a frame and leaves", ready + `printf '{"type":"result","sub'; exit 1`, 1, "ended in the middle"},
		{"one that prints a line of fifty megabytes", ready + `head -c 52428800 /dev/zero | tr '\0' x; echo; exit 0`, 1, "ended in the middle"},
	} {
		t.Run("P1 P2 "+tt.name+": a clear end, and nothing moves", func(t *testing.T) {
			b := newBed(t, fakeapi.Script{OpenAI: fakeapi.Steps(fakeapi.Text{Text: "Codex was asked."})})
			bin := filepath.Join(b.dir, "bin")
			if err := os.MkdirAll(bin, 0o700); err != nil {
				t.Fatal(err)
			}
			auth := `[ "$1" = auth ] && { echo '{"loggedIn":true,"authMethod":"claude.ai"}'; exit 0; }; `
			if err := os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\n"+auth+tt.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			var path string
			for _, kv := range b.env {
				if v, ok := strings.CutPrefix(kv, "PATH="); ok {
					path = v
				}
			}
			r := b.with([]string{fmt.Sprintf("PATH=%s:%s", bin, path)}, nil, "run", "--chain", "claude,codex", prompt)
			if r.code != tt.code {
				t.Errorf("want exit %d, got %s", tt.code, r)
			}
			has(t, r.err, tt.says)
			if n := b.sent(fakeapi.OpenAI, prompt); n != 0 {
				t.Errorf("codex was asked %d times", n)
			}
		})
	}
}
