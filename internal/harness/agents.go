package harness

import (
	"path/filepath"
	"strings"

	"github.com/paceline/paceline"
)

// agent is one program that speaks the Agent Client Protocol: in what it
// differs from the others, as data. What differs in its stream is in wire/acp.
type agent struct {
	name    string
	vendor  string   // whose account it signs in to; "" where its user decides that
	argv    []string // nil for a user's own, whose account says its command
	install string
	env     []string // what it needs to be itself, and nothing else
	key     string   // the variable in which it takes a key
	route   string   // where its requests go, as far as that is known
	// asks is its mode in which it asks before it acts: what it may do is then
	// our decision, and what it did is seen before it is done. plan is the one
	// in which it only looks. "" keeps the mode that it starts in.
	asks, plan string
	model      string   // the flag that picks a model; "" where the protocol's option does
	homes      []string // what it keeps for itself, below HOME
	keeps      bool     // a conversation can be opened again in a new process
	replays    bool     // and only by telling all of it again
}

// agents are those whose protocol was recorded.
var agents = []agent{
	{
		name: "gemini", vendor: "google", argv: []string{"gemini", "--acp"}, install: "npm install -g @google/gemini-cli, then run `gemini` once",
		env: []string{"GEMINI_CLI_TRUST_WORKSPACE=true", "NO_BROWSER=true"}, key: "GEMINI_API_KEY", route: "https://generativelanguage.googleapis.com",
		asks: "default", plan: "plan", model: "--model", homes: []string{".gemini"},
		// session/load answered that there is no previous session, right after a turn.
	},
	{
		name: "opencode", argv: []string{"opencode", "acp", "--print-logs", "--log-level", "ERROR"}, install: "npm install -g opencode-ai, then run `opencode auth login`",
		env:   []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", `OPENCODE_PERMISSION={"edit":"ask","bash":"ask"}`},
		homes: []string{".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"}, keeps: true,
	},
	{
		name: "qwen", vendor: "alibaba", argv: []string{"qwen", "--acp"}, install: "npm install -g @qwen-code/qwen-code, then run `qwen` once",
		key: "OPENAI_API_KEY", asks: "default", plan: "plan", model: "--model", homes: []string{".qwen"}, keeps: true,
	},
	{
		name: "copilot", vendor: "github", argv: []string{"copilot", "--acp"}, install: "npm install -g @github/copilot, then run `copilot` and /login",
		route: "https://api.githubcopilot.com", model: "--model", homes: []string{".copilot"}, keeps: true, replays: true,
	},
	{
		name: "grok", vendor: "xai", argv: []string{"grok", "agent", "stdio"}, install: "npm install -g @xai/grok-cli, then run `grok` once",
		key: "XAI_API_KEY", route: "https://api.x.ai", homes: []string{".grok"}, keeps: true,
	},
	{
		name: "kimi", vendor: "moonshot", argv: []string{"kimi", "acp"}, install: "npm install -g @moonshot-ai/kimi-code, then run `kimi` and /login",
		key: "KIMI_API_KEY", homes: []string{".kimi"}, keeps: true,
	},
	{
		name: "claude-acp", vendor: "anthropic", argv: []string{"claude-agent-acp"}, install: "npm install -g @agentclientprotocol/claude-agent-acp, then run `claude` and /login",
		key: "ANTHROPIC_API_KEY", route: "https://api.anthropic.com", asks: "default", plan: "plan", homes: []string{".claude"}, keeps: true,
	},
	{
		name: "codex-acp", vendor: "openai", argv: []string{"codex-acp"}, install: "npm install -g @agentclientprotocol/codex-acp, then run `codex login`",
		key: "OPENAI_API_KEY", route: "https://chatgpt.com", asks: "read-only", plan: "read-only", homes: []string{".codex"}, keeps: true,
	},
	{name: own, install: "its account's command says how it is started"},
}

// own is the harness of agents that a user brings.
const own = "acp"

// home is the folder that the agent's program writes to.
func (a agent) home(acct paceline.Account, env Environment) string {
	switch {
	case acct.Home != "":
		return acct.Home
	case len(a.homes) > 0 && env.Get("HOME") != "":
		return filepath.Join(env.Get("HOME"), a.homes[0])
	}
	return ""
}

// others are the further folders that it writes to.
func (a agent) others(env Environment) (out []string) {
	for i, h := range a.homes {
		if i > 0 && env.Get("HOME") != "" {
			out = append(out, filepath.Join(env.Get("HOME"), h))
		}
	}
	return out
}

// command is how it is started.
func (a agent) command(acct paceline.Account, model string, env Environment) ([]string, error) {
	if a.argv == nil {
		return []string{"/bin/sh", "-c", "exec " + acct.Command}, nil
	}
	path, err := lookPath(a.argv[0], env)
	if err != nil {
		return nil, err
	}
	argv := append([]string{path}, a.argv[1:]...)
	if model != "" && a.model != "" {
		argv = append(argv, a.model, model)
	}
	return argv, nil
}

// variables are the child's own, over those that all children get.
func (a agent) variables(acct paceline.Account, env Environment) Environment {
	env = env.With(a.env...)
	if acct.BaseURL != "" && a.name == "gemini" {
		env = env.With("GOOGLE_GEMINI_BASE_URL=" + strings.TrimRight(acct.BaseURL, "/"))
	}
	if a.key == "" {
		return env
	}
	return keyed(acct, env, a.key)
}
