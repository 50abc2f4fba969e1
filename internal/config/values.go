package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paceline/paceline"
)

// form says what a key's value looks like.
func (k *key) form() string {
	if len(k.words) > 0 {
		return oneOf(k.words)
	}
	return k.kind.String()
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return strconv.Quote(words[0])
	}
	return "one of " + strings.Join(words, ", ")
}

// take adds a setting whose value passes its key's own check.
func (l *layer) take(s setting, home string) {
	bad := len(l.problems)
	switch s.key.kind {
	case text:
		clean, f := s.key.check(s.spelt(), s.value.text, home)
		s.value.text = clean
		l.spoil(s, s.at, f)
	case list:
		entries := slices.Clone(s.value.list)
		for i, e := range entries {
			clean, f := s.key.check(s.spelt(), e.text, home)
			entries[i].text = clean
			l.spoil(s, e.at, f)
		}
		s.value.list = entries
	case number:
		l.spoil(s, s.at, s.key.bounds(s.spelt(), s.value.number))
	case truth:
	}
	if len(l.problems) == bad {
		l.settings = append(l.settings, s)
	}
}

// bounds is the key's judgement of a number.
func (k *key) bounds(name string, n int) *fault {
	switch {
	case k.most > 0 && (n < k.least || n > k.most):
		return &fault{fmt.Sprintf("%s must be %d to %d", name, k.least, k.most), ""}
	case k.least == 0 && n < 0:
		return &fault{name + " must not be negative", ""}
	case n < k.least:
		return &fault{fmt.Sprintf("%s must be at least %d", name, k.least), ""}
	}
	return nil
}

// check is the key's own judgement of a text; name is how its layer calls it.
func (k *key) check(name, s, home string) (string, *fault) {
	if len(k.words) > 0 {
		if slices.Contains(k.words, s) {
			return s, nil
		}
		f := &fault{what: fmt.Sprintf("%s %q is not %s", name, s, oneOf(k.words))}
		if near := Nearest(s, k.words); near != "" {
			f.hint = "did you mean " + near + "?"
		} else if strings.HasSuffix(k.name, ".harness") {
			f.hint = `an agent that speaks ACP is harness = "acp", with its command`
		}
		return "", f
	}
	clean, f := k.clean(s, home)
	if f != nil {
		f.what = name + " " + f.what
	}
	return clean, f
}

// engine checks an entry of a chain. Whether its account exists is known only
// once all layers are read.
func engine(s, _ string) (string, *fault) {
	if strings.TrimSpace(s) == "" {
		return "", &fault{"has an empty entry", "name an account, as in \"claude\" or \"office:MODEL\""}
	}
	e, err := paceline.ParseEngine(s)
	if err != nil {
		return "", &fault{fmt.Sprintf("has an entry %q that is no engine", s), "write an account, or account:model"}
	}
	return e.String(), nil
}

// engines reads entries that engine has checked.
func engines(entries []string) []paceline.Engine {
	var out []paceline.Engine
	for _, s := range entries {
		e, err := paceline.ParseEngine(s)
		must(err)
		out = append(out, e)
	}
	return out
}

// absolute is a path in full. A relative one would mean another folder for each
// process that reads it.
func absolute(s, home string) (string, *fault) {
	if rest, ok := strings.CutPrefix(s, "~"); ok && (rest == "" || rest[0] == '/') {
		if home == "" {
			return "", &fault{fmt.Sprintf("is %q, and no home directory is known", s), "write the path in full"}
		}
		s = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(s) || strings.ContainsRune(s, 0) {
		return "", &fault{fmt.Sprintf("is %q, which is not an absolute path", s), "begin it with / or ~/"}
	}
	return filepath.Clean(s), nil
}

// stripped are the variables that would make a child spend another account's
// money, or let it sleep through a limit and wake as a second writer.
var stripped = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY",
	"CLAUDE_CODE_RETRY_WATCHDOG", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
}

// passable checks the name of a variable that children shall get.
func passable(s, _ string) (string, *fault) {
	switch {
	case !variable(s):
		return "", &fault{"has an entry that is not a variable's name", "list names alone, without values"}
	case strings.HasPrefix(s, prefix):
		return "", &fault{fmt.Sprintf("names %s, which is not for children", s), "leave it out"}
	case !slices.Contains(stripped, s):
		return s, nil
	case strings.HasPrefix(s, "CLAUDE_CODE_"):
		return "", &fault{fmt.Sprintf("names %s, which children never get", s), "leave it out"}
	}
	return "", &fault{
		fmt.Sprintf("names %s, which would spend another account's money", s),
		fmt.Sprintf("declare an account for it: posture = \"metered\" and key_env = %q", s),
	}
}

// keyVariable checks the name of the variable that holds a key. What is no name
// may be the key itself, so it is not repeated.
func keyVariable(s, _ string) (string, *fault) {
	if !variable(s) {
		return "", &fault{"is not a variable's name", "name the variable that holds the key, never the key"}
	}
	return s, nil
}

func variable(s string) bool {
	return bare(s) && !strings.Contains(s, "-") && (s[0] < '0' || s[0] > '9')
}

// command checks the command that prints a key.
func command(s, _ string) (string, *fault) {
	if strings.TrimSpace(s) == "" || strings.ContainsRune(s, 0) {
		return "", &fault{"is empty", "write the command as a shell takes it"}
	}
	return s, nil
}

// spanPattern is what span takes, but for times of nothing.
const spanPattern = `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`

// span checks a time of the clock's own: 90s, 7m, 2h.
func span(s, _ string) (string, *fault) {
	if d, err := time.ParseDuration(s); err != nil || d <= 0 {
		return "", &fault{fmt.Sprintf("is %q, which is no time to wait", s), "as in \"90s\", \"7m\" or \"2h\""}
	}
	return s, nil
}

// endpoint checks the address of a vendor's API. It is never repeated in a
// problem: passwords and tokens are often a part of one.
func endpoint(s, _ string) (string, *fault) {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return "", &fault{"is not an http or https address", "as in \"http://127.0.0.1:4000\""}
	case u.User != nil:
		return "", &fault{"carries a user name or password", "declare posture = \"metered\" with key_env or key_command instead"}
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", &fault{"carries more than a host and a path", "leave out everything from the ? or # on"}
	}
	return s, nil
}

// database checks the URL of a store. It is never repeated in a problem.
func database(s, _ string) (string, *fault) {
	if s == "" {
		return "", nil // a file in the state folder
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme != "postgres" && u.Scheme != "postgresql", u.Opaque != "":
		return "", &fault{"is not the URL of a PostgreSQL database", "as in \"postgres://USER@HOST:5432/paceline\"; a % code stands for what is no letter in a password"}
	case u.Hostname() == "" && !u.Query().Has("host"):
		return "", &fault{"names no host", "as in \"postgres://USER@HOST:5432/paceline\", or \"postgres://USER@/paceline?host=/run/postgresql\" for a socket"}
	case strings.Trim(u.Path, "/") == "":
		return "", &fault{"names no database", "as in \"postgres://USER@HOST:5432/paceline\""}
	}
	return s, nil
}

// passwordless is as much of a database's URL as is shown.
func passwordless(s string) string {
	u, err := url.Parse(s)
	if err != nil || s == "" {
		return ""
	}
	name := ""
	if u.User != nil {
		name = u.User.Username() + "@"
	}
	return u.Scheme + "://" + name + u.Host + u.Path
}

// hostPort is as much of an address as is shown.
func hostPort(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func whole(s string) string { return s }

// hidden is shown for a command, which may hold a key among its words.
func hidden(string) string { return "…" }
