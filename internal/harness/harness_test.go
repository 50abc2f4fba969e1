package harness

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/guard"
	"github.com/paceline/paceline/internal/wire"
)

func TestChildren(t *testing.T) {
	client := []string{
		"PATH=/bin", "HOME=/h", "LC_TIME=C", "ANTHROPIC_API_KEY=sk-1", "OPENAI_API_KEY=sk-2", "CLAUDE_CODE_RETRY_WATCHDOG=1",
		"AWS_SECRET_ACCESS_KEY=x", "MY_TOOL=1", "PACELINE_RUN=r-1",
	}
	t.Run("P6 bug-71 stray keys and switches never reach a child, even when they are named", func(t *testing.T) {
		got := Children(client, []string{"MY_TOOL", "ANTHROPIC_API_KEY"})
		if want := (Environment{"PATH=/bin", "HOME=/h", "LC_TIME=C", "MY_TOOL=1"}); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("P6 the key of a declared metered account does", func(t *testing.T) {
		a := paceline.Account{Name: "m", Harness: "claude", Posture: paceline.PostureMetered, Key: "sk-3"}
		if got := (claude{}).environment(a, Children(client, nil)).Get("ANTHROPIC_API_KEY"); got != "sk-3" {
			t.Errorf("got %q", got)
		}
		a.Posture = paceline.PostureSubscription
		if got := (claude{}).environment(a, Children(client, nil)).Get("ANTHROPIC_API_KEY"); got != "" {
			t.Error("a subscription was given a key")
		}
	})
	t.Run("P6 stray keys are named, never shown", func(t *testing.T) {
		if got := Stray(client); !slices.Equal(got, []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CLAUDE_CODE_RETRY_WATCHDOG"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestContain(t *testing.T) {
	if _, err := guard.CageAvailable(); err != nil {
		t.Skip("not run: this kernel has no cage: ", err)
	}
	env := Environment{"HOME=/h"}
	in := func(mode paceline.Mode, tree, root string) bool {
		return slices.Contains(Contain(claude{}, paceline.Account{}, mode, tree, env, []string{"/extra"}).Writable, root)
	}
	for _, tt := range []struct {
		name, tree, root string
		mode             paceline.Mode
		want             bool
	}{
		{"F44 edit may write in the tree", "/work", "/work", paceline.ModeEdit, true},
		{"F44 edit may write where the operator said", "/work", "/extra", paceline.ModeEdit, true},
		{"F44 read may not write in the tree", "/work", "/work", paceline.ModeRead, false},
		{"F44 read may not write where edit may", "/work", "/extra", paceline.ModeRead, false},
		{"F44 read leaves out a temporary folder that holds the tree", "/tmp/work", "/tmp", paceline.ModeRead, false},
		{"F44 a program keeps its own folder", "/work", "/h/.claude", paceline.ModeRead, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := in(tt.mode, tt.tree, tt.root); got != tt.want {
				t.Errorf("%s writable: %t", tt.root, got)
			}
		})
	}
	if c := Contain(codex{}, paceline.Account{}, paceline.ModeFull, "/work", env, nil); c.Cage != nil || c.By != "none" {
		t.Errorf("full mode is caged: %+v", c)
	}
}

func TestTree(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"repo/.git", "repo/a/b", "plain/x"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range map[string]string{"repo/a/b": "repo", "repo": "repo", "plain/x": "plain/x"} {
		if got := Tree(filepath.Join(dir, in)); got != filepath.Join(dir, want) {
			t.Errorf("the tree of %s is %s", in, got)
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", wire.MaxLine+100)
	in := bufio.NewReader(strings.NewReader("a\r\n" + long + "\nlast"))
	var got []int
	for {
		line, err := wire.ReadLine(in)
		got = append(got, len(line))
		if err != nil {
			break
		}
	}
	if want := []int{1, wire.MaxLine, 4}; !slices.Equal(got, want) {
		t.Errorf("lengths %v, want %v", got, want)
	}
}

func TestStderrKeepsNoSecrets(t *testing.T) {
	var said tail
	_, _ = said.Write([]byte("bad token sk-ant-oat01-abc for me@example.com eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0\nsecond"))
	got := said.first()
	for _, secret := range []string{"sk-ant", "me@example.com", "eyJ", "second"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is in %q", secret, got)
		}
	}
}
