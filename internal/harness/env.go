package harness

import (
	"slices"
	"strings"
)

// Environment is the variables that a child gets. It is made from a client's
// own, by name: nothing reaches a child that was not asked for, and the
// server's environment never does.
type Environment []string

// passed are the variables that programs and the tools they run need to be
// themselves. A name that ends in * is a prefix.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "TMPDIR",
	"XDG_*", "SSH_AUTH_SOCK", "GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"CLAUDE_CONFIG_DIR", "CODEX_HOME",
	"PACELINE_STATE", // an agent may read its own thread
	// A subscription's sign-in where there is no keychain, and endpoints: both
	// name the account rather than another one's money.
	"CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL",
	"CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS", "CODEX_REFRESH_TOKEN_URL_OVERRIDE",
	// Toolchains that keep their place in the environment.
	"GOPATH", "GOROOT", "GOPROXY", "GOFLAGS", "GOCACHE", "GOMODCACHE", "GOPRIVATE", "CARGO_HOME", "RUSTUP_HOME",
	"NVM_DIR", "NVM_BIN", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "NPM_CONFIG_*", "npm_config_*",
	"VIRTUAL_ENV", "CONDA_*", "PYENV_ROOT", "UV_*", "PIP_*", "JAVA_HOME", "GRADLE_USER_HOME", "ANDROID_HOME", "DOTNET_ROOT",
}

// stripped never reach a child of an undeclared account: they would spend
// another account's money, or make the program sleep through a limit by itself
// and wake up as a second writer.
var stripped = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY", "CLAUDE_CODE_RETRY_WATCHDOG",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
}

// Children makes a child's environment from a client's, with the extra names
// that the operator passes.
func Children(client []string, extra []string) Environment {
	var env Environment
	for _, kv := range client {
		name, _, ok := strings.Cut(kv, "=")
		if ok && (named(passed, name) || slices.Contains(extra, name)) && !slices.Contains(stripped, name) {
			env = append(env, kv)
		}
	}
	return env
}

// Stray lists the variables of a client that are kept from children although
// their programs would have used them.
func Stray(client []string) []string {
	var out []string
	for _, kv := range client {
		name, value, _ := strings.Cut(kv, "=")
		if value != "" && slices.Contains(stripped, name) {
			out = append(out, name)
		}
	}
	return out
}

func named(names []string, name string) bool {
	for _, n := range names {
		if p, ok := strings.CutSuffix(n, "*"); n == name || ok && strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// Get returns a variable's value, or "".
func (e Environment) Get(name string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// With returns e with more variables set; later ones win.
func (e Environment) With(kv ...string) Environment {
	out := make(Environment, 0, len(e)+len(kv))
	for _, old := range e {
		name, _, _ := strings.Cut(old, "=")
		if !slices.ContainsFunc(kv, func(s string) bool { return strings.HasPrefix(s, name+"=") }) {
			out = append(out, old)
		}
	}
	return append(out, kv...)
}

// secret reports whether a variable may hold something that belongs on no disk.
func secret(kv string) bool {
	name, value, _ := strings.Cut(kv, "=")
	return strings.Contains(strings.ToUpper(name), "TOKEN") && !strings.HasSuffix(name, "_URL_OVERRIDE") ||
		strings.Contains(strings.ToUpper(name), "KEY") || strings.Contains(strings.ToUpper(name), "SECRET") ||
		strings.Contains(strings.ToUpper(name), "PASSWORD") ||
		strings.Contains(value, "://") && strings.Contains(value, "@") // a proxy's own password
}

// Public is the part of e that may be kept on disk.
func (e Environment) Public() Environment {
	return slices.DeleteFunc(slices.Clone(e), secret)
}

// Secret is the part of e that is kept in memory alone.
func (e Environment) Secret() Environment {
	return slices.DeleteFunc(slices.Clone(e), func(kv string) bool { return !secret(kv) })
}
