package daemon

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestVariablesOfAServer(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for kv, want := range map[string]string{
		"PACELINE_CONFIG=my.toml":   "PACELINE_CONFIG=" + filepath.Join(dir, "my.toml"),
		"PACELINE_CONFIG=/etc/p":    "PACELINE_CONFIG=/etc/p",
		"PACELINE_CONFIG=~/my.toml": "PACELINE_CONFIG=~/my.toml",
		"PACELINE_CONFIG=":          "PACELINE_CONFIG=",
		"PACELINE_MODE=read":        "PACELINE_MODE=read",
	} {
		if got := rooted(kv); got != want {
			t.Errorf("%s became %s, want %s", kv, got, want)
		}
	}
}

func TestHostOf(t *testing.T) {
	dir := t.TempDir()
	t.Run("A folder that never served has no host of its own", func(t *testing.T) {
		if got, err := hostOf(dir, false); err != nil || got != unnamed {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("It is named once, and another folder of the same machine is another host", func(t *testing.T) {
		first, err := hostOf(dir, true)
		again, err2 := hostOf(dir, false)
		other, err3 := hostOf(t.TempDir(), true)
		if err != nil || err2 != nil || err3 != nil || first != again || first == other || len(first) < 11 {
			t.Errorf("%q, %q, %q: %v %v %v", first, again, other, err, err2, err3)
		}
	})
	t.Run("A machine's name is fit for a queue's", func(t *testing.T) {
		for machine, want := range map[string]string{
			"Attic.example.org": "attic", "my--box_2": "my-box-2", "-x-": "x", "": "", "ÄÖÜ": "",
			strings.Repeat("a", 23) + "-b": strings.Repeat("a", 23),
		} {
			if got := plain(machine); got != want {
				t.Errorf("%q is %q, want %q", machine, got, want)
			}
		}
	})
}
