package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStoreURL(t *testing.T) {
	const user, env = "postgres://ada:secret@db/user", "postgres://ada:secret@db/env"
	for _, c := range []struct {
		name, file, repo string
		env              []string
		want             string
		bad              bool
	}{
		{name: "nobody names a database"},
		{name: "the user's file does", file: "[store]\nurl = \"" + user + "\"\n", want: user},
		{name: "the environment is stronger", file: "[store]\nurl = \"" + user + "\"\n", env: []string{"PACELINE_STORE__URL=" + env}, want: env},
		{name: "a repository is not asked", repo: "[store]\nurl = \"" + user + "\"\n"},
		{name: "what else is wrong does not matter", file: "mode = \"wide\"\nstore.url = \"" + user + "\"\n", want: user},
		{name: "a file that cannot be read may have named one", file: "[store\n", bad: true},
		{name: "a wrong one is no reason to use another", file: "store.url = \"mysql://ada:secret@db/x\"\n", bad: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"config.toml": c.file, ".paceline/config.toml": c.repo} {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := Find(append(c.env, "PACELINE_CONFIG="+filepath.Join(dir, "config.toml")), dir, dir)
			got, err := Store(s)
			if got != c.want || (err != nil) != c.bad {
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("it says the password: %v", err)
			}
		})
	}
	t.Run("the URL is no part of a policy that is stored or sent", func(t *testing.T) {
		p, _, problems := said{user: "store.url = \"" + user + "\"\n"}.resolve()
		if len(problems) > 0 || p.Store != user {
			t.Fatal(p.Store, problems)
		}
		if b, err := json.Marshal(p); err != nil || strings.Contains(string(b), "secret") {
			t.Errorf("%s, %v", b, err)
		}
	})
}
