package harness

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paceline/paceline"
)

func TestAgents(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"gemini", "mine"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := Environment{"PATH=" + bin, "HOME=/h", "GEMINI_API_KEY=stray"}
	for _, tt := range []struct {
		name string
		a    paceline.Account
		note string
	}{
		{"P6 one whose money nobody named is never ready", paceline.Account{Harness: "gemini"}, "nobody said whose money it spends: give its account a posture"},
		{"F67 a declared one is", paceline.Account{Harness: "gemini", Posture: paceline.PostureSubscription}, ""},
		{"F67 one that is not installed is not", paceline.Account{Harness: "qwen", Posture: paceline.PostureLocal}, "it is not installed: npm install -g @qwen-code/qwen-code, then run `qwen` once"},
		{"F67 a user's own", paceline.Account{Harness: "acp", Command: "mine --acp", Posture: paceline.PostureLocal}, ""},
		{"F67 a user's own that is nowhere", paceline.Account{Harness: "acp", Command: "gone --acp", Posture: paceline.PostureLocal}, "it is not installed: its account's command says how it is started"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, ok := Named(tt.a.Harness)
			if !ok {
				t.Fatal("it is not driven")
			}
			if p, _ := h.Probe(t.Context(), tt.a, env); p.Note != tt.note {
				t.Errorf("%q, want %q", p.Note, tt.note)
			}
			if Proves(h) || Silence(h) != "acp" {
				t.Error("its own word was taken for proof")
			}
		})
	}
	t.Run("P6 only a declared key reaches it", func(t *testing.T) {
		h, _ := Named("gemini")
		s := h.(speaker)
		a := paceline.Account{Posture: paceline.PostureMetered, Key: "k"}
		if got := s.agent.variables(a, Children(env, nil)).Get("GEMINI_API_KEY"); got != "k" {
			t.Errorf("the key is %q", got)
		}
		a.Posture = paceline.PostureSubscription
		if got := s.agent.variables(a, Children(env, nil)).Get("GEMINI_API_KEY"); got != "" {
			t.Error("a subscription was given a key")
		}
	})
	t.Run("P5 it may write where it keeps itself", func(t *testing.T) {
		h, _ := Named("opencode")
		got := homes(h, paceline.Account{}, env)
		for _, want := range []string{"/h/.config/opencode", "/h/.local/share/opencode"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s is not among %q", want, got)
			}
		}
	})
	t.Run("P5 what a project brings for it is listed", func(t *testing.T) {
		tree := t.TempDir()
		for _, name := range []string{".gemini/settings.json", ".opencode/plugin/a.js", ".opencode/node_modules/b.js", "opencode.json"} {
			path := filepath.Join(tree, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files, before := Project(tree, tree)
		if want := []string{".gemini/settings.json", "opencode.json", ".opencode/plugin/a.js"}; !slices.Equal(files, want) {
			t.Errorf("%q, want %q", files, want)
		}
		if err := os.WriteFile(filepath.Join(tree, ".opencode/plugin/a.js"), []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, after := Project(tree, tree); after == before {
			t.Error("a plugin that changed is trusted as before")
		}
	})
}
