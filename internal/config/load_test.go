package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/paceline/paceline"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name       string
		env        []string
		home, tree string
		user, repo string
		named      bool
	}{
		{
			"the user's file is where files of its kind are",
			[]string{"XDG_CONFIG_HOME=/cfg"},
			"/home/ada", "/src/p",
			"/cfg/paceline/config.toml", "/src/p/.paceline/config.toml", false,
		},
		{
			"or in the home directory", nil, "/home/ada", "/src/p",
			"/home/ada/.config/paceline/config.toml", "/src/p/.paceline/config.toml", false,
		},
		{
			"a relative place for such files is none",
			[]string{"XDG_CONFIG_HOME=cfg"},
			"/home/ada", "",
			"/home/ada/.config/paceline/config.toml", "", false,
		},
		{
			"a variable names another",
			[]string{"XDG_CONFIG_HOME=/cfg", "PACELINE_CONFIG=/etc/p.toml"},
			"/home/ada", "",
			"/etc/p.toml", "", true,
		},
		{
			"below the home directory too",
			[]string{"PACELINE_CONFIG=~/p.toml"},
			"/home/ada", "",
			"/home/ada/p.toml", "", true,
		},
		{
			"an empty one names none",
			[]string{"PACELINE_CONFIG="},
			"/home/ada", "",
			"/home/ada/.config/paceline/config.toml", "", false,
		},
		{"without a home there may be no file at all", nil, "", "", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := Sources{UserFile: c.user, RepoFile: c.repo, Named: c.named, Environ: c.env, Home: c.home}
			if diff := cmp.Diff(want, Find(c.env, c.home, c.tree)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadReadsBothFiles(t *testing.T) {
	home, tree := t.TempDir(), t.TempDir()
	user := write(t, filepath.Join(home, ".config/paceline/config.toml"), "\ufeffmode = \"full\"\r\nchain.default = [\"claude\", \"codex\"]\r\n")
	repo := write(t, filepath.Join(tree, ".paceline/config.toml"), "mode = \"ask\"\n")
	p, shown, err := Load(Find(nil, home, tree))
	if err != nil {
		t.Fatal(err)
	}
	if p.Mode != paceline.ModeAsk || len(p.Chain) != 2 {
		t.Errorf("%+v", p)
	}
	want := []Shown{
		{Key: "mode", Value: `"ask"`, Layer: LayerRepo, From: repo + ":1", File: repo, Line: 1},
		{Key: "chain.default", Value: `["claude", "codex"]`, Layer: LayerUser, From: user + ":2", File: user, Line: 2},
	}
	if diff := cmp.Diff(want, shown[:2]); diff != "" {
		t.Error(diff)
	}
	b, err := json.Marshal(shown[0])
	if want := `{"key":"mode","value":"\"ask\"","layer":"repository file","from":"` + repo + `:1","file":"` + repo + `","line":1}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

func TestWithoutFilesTheDefaultsHold(t *testing.T) {
	p, _, err := Load(Find(nil, t.TempDir(), t.TempDir()))
	if err != nil || p.Mode != paceline.ModeEdit {
		t.Errorf("%+v, %v", p, err)
	}
	empty := write(t, filepath.Join(t.TempDir(), "c.toml"), "")
	if _, _, err := Load(Sources{UserFile: empty, RepoFile: empty}); err != nil {
		t.Error(err)
	}
	if _, _, err := Load(Find([]string{"PACELINE_CONFIG=" + os.DevNull}, "", "")); err != nil {
		t.Errorf("the empty device names no file: %v", err)
	}
}

func TestFilesThatAreNotRead(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	locked := write(t, filepath.Join(dir, "locked"), "")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	huge := write(t, filepath.Join(dir, "huge"), strings.Repeat("# a comment\n", 30000))
	for _, c := range []struct {
		name, path string
		named      bool
		what, hint string
		skip       bool
	}{
		{"a directory", dir, false, "it is a directory, not a file", "", false},
		{"a pipe, which would never end", pipe, false, "it is not a regular file", "", false},
		{"something huge", huge, false, "it is larger than 256 KiB", "a configuration file is a few lines of TOML", false},
		{"something below a file", filepath.Join(huge, "config.toml"), false, "it cannot be read: not a directory", "", false},
		{"a file that was named and is not there", filepath.Join(dir, "none"), true, "there is no such file", "PACELINE_CONFIG names it", false},
		{"a file of somebody else", locked, false, "it cannot be read: permission denied", "", os.Getuid() == 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.skip {
				t.Skip("root may read every file")
			}
			for _, s := range []Sources{{UserFile: c.path, Named: c.named}, {RepoFile: c.path}} {
				if c.named && s.UserFile == "" {
					continue
				}
				_, _, err := Load(s)
				var got Problems
				if !errors.As(err, &got) {
					t.Fatalf("the error is %v", err)
				}
				want := Problems{{File: c.path, What: c.what, Hint: c.hint}}
				if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Problem{})); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestAFileThatIsNotReadHidesNoOtherProblem(t *testing.T) {
	dir := t.TempDir()
	repo := write(t, filepath.Join(dir, "c.toml"), "chain.default = []\nmode = \"full\"\n")
	_, _, err := Load(Sources{UserFile: dir, RepoFile: repo})
	var got Problems
	if !errors.As(err, &got) {
		t.Fatalf("the error is %v", err)
	}
	want := []string{
		dir + ": it is a directory, not a file",
		// Whether full would be wider depends on the file that was not read.
		repo + ":1:7: a repository file may not set chain.default | " + yours,
	}
	if diff := cmp.Diff(want, told(got)); diff != "" {
		t.Error(diff)
	}
}

// FuzzLoad feeds foreign bytes to every layer.
func FuzzLoad(f *testing.F) {
	f.Add([]byte("mode = \"read\"\n"), []byte("[fallback]\nenabled = false\n"), "PACELINE_MODE=ask", "claude,codex")
	f.Add([]byte(office+"[vendors.openai]\nseveral_accounts = \"mine\"\n"), []byte("[[mode]]\n"), "PACELINE_ACCOUNTS__OFFICE__HOME=~", "office:x")
	f.Add([]byte("accounts = { a = { key = 1979-05-27 } }\n\"\" = '''\n'''"), []byte("[a.\"b\"]\nx.y = [[1], {}]"), "PACELINE___=", "")
	f.Add([]byte("\xff"), []byte("\xef\xbb\xbf[[[["), "PACELINE_ACCOUNTS____HARNESS=codex", ":")
	f.Add([]byte("env.pass = [\"\\u0000\"]\nfallback.max_hops = 0o7"), []byte("a = 1\r"), "=", " ")
	f.Add([]byte(""), []byte(""), "PACELINE_ACCOUNTS__0\x000__HOMA=/x", "") // its own name comes back in the hint
	f.Fuzz(func(t *testing.T, user, repo []byte, variable, chain string) {
		p, shown, problems := resolve(
			file(newDocument("user.toml", LayerUser, user), "/home/ada"),
			file(newDocument("repo.toml", LayerRepo, repo), "/home/ada"),
			Sources{Environ: []string{variable}, Home: "/home/ada", Flags: Flags{Chain: []string{chain}}},
		)
		for _, problem := range problems {
			if problem.What == "" || problem.File == "" {
				t.Errorf("a problem says nothing: %+v", problem)
			}
			for _, s := range []string{problem.What, problem.Hint, problem.Excerpt, problem.Key} {
				if !utf8.ValidString(s) || strings.ContainsAny(strings.ReplaceAll(s, "\n", ""), "\x00\x1b\x07\r\t") {
					t.Errorf("a terminal would obey %q", s)
				}
			}
		}
		if len(problems) > 0 {
			return
		}
		if len(shown) < 9+2*3 {
			t.Errorf("only %d keys are shown", len(shown))
		}
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back Policy
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, back, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("a stored policy reads back as another:\n%s", diff)
		}
	})
}
