package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sources are where a policy comes from.
type Sources struct {
	UserFile string // may be absent, unless it was named
	Named    bool   // PACELINE_CONFIG names UserFile
	RepoFile string // may be absent
	Environ  []string
	Home     string // what ~ stands for
	Flags    Flags
}

// largest is more than any configuration needs. A file past it is something
// else that came to lie in its place.
const largest = 256 << 10

// Find says where the layers of a process in tree are. It reads nothing; Flags
// are left to the command.
func Find(environ []string, home, tree string) Sources {
	s := Sources{Environ: environ, Home: home}
	vars := map[string]string{}
	for _, kv := range environ {
		name, text, _ := strings.Cut(kv, "=")
		vars[name] = text
	}
	if named := vars["PACELINE_CONFIG"]; named != "" {
		s.UserFile, s.Named = named, true
		if rest, ok := strings.CutPrefix(named, "~/"); ok && home != "" {
			s.UserFile = filepath.Join(home, rest)
		}
	} else if dir := vars["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		s.UserFile = filepath.Join(dir, "paceline", "config.toml")
	} else if home != "" {
		s.UserFile = filepath.Join(home, ".config", "paceline", "config.toml")
	}
	if tree != "" {
		s.RepoFile = filepath.Join(tree, ".paceline", "config.toml")
	}
	return s
}

// Load reads the layers and resolves them. Its error is Problems, and holds all
// of them; then there is no policy.
func Load(s Sources) (Policy, []Shown, error) {
	user := read(s.UserFile, LayerUser, s.Named, s.Home)
	repo := read(s.RepoFile, LayerRepo, false, s.Home)
	p, shown, problems := resolve(user, repo, s)
	if len(problems) > 0 {
		return Policy{}, nil, problems
	}
	return p, shown, nil
}

// Store is the URL of the database that state is kept in, "" for a file in the
// state folder. It needs nothing else of the configuration to be in order: what
// is on record can be looked at while a file is being mended.
func Store(s Sources) (string, error) {
	url := ""
	for _, l := range []layer{read(s.UserFile, LayerUser, s.Named, s.Home), environment(s.Environ, harnesses, s.Home)} {
		if l.broken || l.spoilt["store.url"] {
			return "", l.problems
		}
		for _, v := range l.settings {
			if v.key.name == "store.url" {
				url = v.value.text
			}
		}
	}
	return url, nil
}

// resolve decides, from what the two files say.
func resolve(user, repo layer, s Sources) (Policy, []Shown, Problems) {
	known := slices.Sorted(maps.Keys(user.names)) // a repository declares none
	env := environment(s.Environ, slices.Concat(known, harnesses), s.Home)
	known = slices.Concat(known, slices.Sorted(maps.Keys(env.names)), harnesses)
	slices.Sort(known)
	m, problems := merge(defaults(slices.Compact(known)), user, repo, env, flags(s.Flags, s.Home))
	if !user.broken { // else what is named may well be declared
		problems = append(problems, m.validate()...)
	}
	if len(problems) > 0 {
		return Policy{}, nil, problems.sorted()
	}
	return m.policy(), m.show(), nil
}

// read reads a file's settings; must says that it has to be there.
func read(path string, l Layer, must bool, home string) layer {
	if path == "" || must && path == os.DevNull { // which says: none
		return newLayer()
	}
	b, f := contents(path, must)
	if f != nil {
		out := newLayer()
		out.broken = true
		out.problems = Problems{{File: path, What: f.what, Hint: f.hint, layer: l}}
		return out
	}
	if b == nil {
		return newLayer()
	}
	return file(newDocument(path, l, b), home)
}

// contents is nil without a fault where there is no file and none is needed.
func contents(path string, must bool) ([]byte, *fault) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !must:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, &fault{"there is no such file", "PACELINE_CONFIG names it"}
	case err != nil:
		return nil, unreadable(err)
	case info.IsDir():
		return nil, &fault{"it is a directory, not a file", ""}
	case !info.Mode().IsRegular(): // a pipe would hold us up for ever
		return nil, &fault{"it is not a regular file", ""}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, largest+1))
	switch {
	case err != nil:
		return nil, unreadable(err)
	case len(b) > largest:
		return nil, &fault{fmt.Sprintf("it is larger than %d KiB", largest>>10), "a configuration file is a few lines of TOML"}
	}
	return bytes.TrimPrefix(b, []byte("\ufeff")), nil // an empty file is not nil
}

// unreadable leaves out the path, which the problem names already.
func unreadable(err error) *fault {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &fault{"it cannot be read: " + err.Error(), ""}
}
