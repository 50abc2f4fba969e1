package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paceline/paceline/internal/fakeapi"
)

// faulty puts a codex in front of the real one that keeps what Claude Code had on
// disk when it was started, and fails as the returned function says.
func (b *bed) faulty() (fail func(how string)) {
	b.t.Helper()
	real, _ := filepath.Abs(filepath.Join("..", "node_modules", ".bin", "codex"))
	bin, how := filepath.Join(b.dir, "bin"), filepath.Join(b.dir, "how")
	program := fmt.Sprintf(`#!/bin/sh
if [ -e %[1]s ]; then
	[ -e %[2]s ] || cp -r %[3]s %[2]s
	case $(cat %[1]s) in
	exits) exit 2 ;;
	hangs) exec sleep 600 ;;
	esac
fi
exec %[4]s "$@"
`, how, filepath.Join(b.dir, "before"), filepath.Join(b.dir, "home", ".claude", "projects"), real)
	err := os.MkdirAll(bin, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(bin, "codex"), []byte(program), 0o700)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	for i, kv := range b.env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			b.env[i] = "PATH=" + bin + string(os.PathListSeparator) + path
		}
	}
	return func(s string) {
		if err := os.WriteFile(how, []byte(s), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// kept compares what Claude Code has on disk with what it had when its successor
// was started: byte for byte, or, where it went on since, as its beginning.
func (b *bed) kept(wentOn bool) {
	b.t.Helper()
	before, n := filepath.Join(b.dir, "before"), 0
	err := filepath.WalkDir(before, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		rel, _ := filepath.Rel(before, path)
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		now, err := os.ReadFile(filepath.Join(b.dir, "home", ".claude", "projects", rel))
		if err != nil || !bytes.HasPrefix(now, old) || !wentOn && len(now) != len(old) {
			b.t.Errorf("%s is not what it was: %d bytes, now %d, %v", rel, len(old), len(now), err)
		}
		return nil
	})
	if err != nil || n == 0 {
		b.t.Errorf("nothing was compared: %v", err)
	}
}

func TestSuccessorFails(t *testing.T) {
	const second = "And now one.txt please."
	for _, tt := range []struct{ how, why string }{{"exits", "ended before its conversation was open (exit 2)"}, {"hangs", "did not answer"}, {"signed out", "unauthorized"}} {
		t.Run("Z29 Z30 Z31 Z46 Z53 after a limit the successor "+tt.how+": the source's conversation and generation are as before, byte for byte", func(t *testing.T) {
			t.Parallel()
			b := newBed(t, fakeapi.Script{
				Anthropic: fakeapi.Steps(fakeapi.Text{Text: "First, by claude."}, fakeapi.Shell("printf claude > one.txt"), limit(), fakeapi.Text{Text: "Third, by claude."}),
				OpenAI:    fakeapi.Steps(fakeapi.SignedOut{}),
			})
			fail := b.faulty()
			b.repository()
			b.want(0, "run", "--chain", "claude,codex", prompt)
			fail(tt.how)
			r := b.paceline("run", "-c", second)
			if r.code == 0 {
				t.Fatal(r)
			}
			has(t, b.want(0, "why", "-c").out, tt.why)
			has(t, b.want(0, "show", "-c").out, "seat: claude gen 1")
			b.kept(false)
			b.want(0, "limits", "clear", "claude")
			has(t, b.want(0, "run", "-c", "Go on.").out, "Third, by claude.")
			all := b.vendors.Requests()
			if last := all[len(all)-1]; !last.Says("First, by claude.") || !last.Says("printf claude > one.txt") || !last.Says("Go on.") {
				t.Errorf("it is another conversation: %q", last.Prompts)
			}
			has(t, b.want(0, "show", "-c").out, "seat: claude gen 1")
			b.kept(true)
			n := 0
			for _, p := range b.opened(fakeapi.Anthropic) {
				if strings.Contains(p, second) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("P1 claude was given the prompt %d times", n)
			}
			for _, p := range b.opened(fakeapi.OpenAI) {
				has(t, p, "You take over work that")
			}
			b.quiet()
		})
	}
	for _, tt := range []struct{ how, says string }{{"exits", "codex did not start"}, {"signed out", "codex was signed out"}} {
		t.Run("Z30 bug-43 a handover whose successor "+tt.how+" leaves the seat where it was: the source answers in its own conversation", func(t *testing.T) {
			t.Parallel()
			b := newBed(t, fakeapi.Script{
				Anthropic: fakeapi.Steps(fakeapi.Text{Text: "First, by claude."}, fakeapi.Text{Text: "Second, by claude."}, fakeapi.Text{Text: "Third, by claude."}),
				OpenAI:    fakeapi.Steps(fakeapi.SignedOut{}),
			})
			fail := b.faulty()
			b.want(0, "run", "--chain", "claude,codex", prompt)
			b.server = true
			b.want(0, "handover", b.thread(), "-e", "codex")
			b.want(0, "server", "stop")
			b.server = false
			fail(tt.how)
			r := b.want(0, "run", "-c", second)
			has(t, r.out, "Second, by claude.")
			has(t, r.err, "Switched to claude after "+tt.says)
			all := b.vendors.Requests()
			if last := all[len(all)-1]; !last.Says("First, by claude.") {
				t.Errorf("it is another conversation: %q", last.Prompts)
			}
			has(t, b.want(0, "show", "-c").out, "seat: claude gen 1")
			b.kept(true)
			has(t, b.want(0, "run", "-c", "Go on.").out, "Third, by claude.")
		})
	}
}
