package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is a problem as a table holds it: its place and what happened, then its
// hint.
func told(ps Problems) []string {
	var out []string
	for _, p := range ps {
		s := p.Error()
		if p.Hint != "" {
			s += " | " + p.Hint
		}
		out = append(out, s)
	}
	return out
}

const yours = "it belongs in your own configuration file"

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name string
		said said
		want []string
	}{
		{
			"an unknown key names its nearest neighbour",
			said{user: "mode = \"ask\"\n[fallback]\nmax_hop = 1\nenabeld = true\n"},
			[]string{
				"user.toml:3:1: unknown key fallback.max_hop | did you mean fallback.max_hops?",
				"user.toml:4:1: unknown key fallback.enabeld | did you mean fallback.enabled?",
			},
		},
		{
			"an unknown table is told once, whatever it holds",
			said{user: "\n[falback]\nenabled = true\nx = 1\n[falback.health]\ny = 2\n"},
			[]string{
				"user.toml:2:2: unknown key falback | did you mean fallback?",
				"user.toml:5:2: unknown key falback | did you mean fallback?",
			},
		},
		{
			"a key below the wrong heading is found under its own",
			said{user: "max_hops = 1\nharness = \"codex\"\n"},
			[]string{
				"user.toml:1:1: unknown key max_hops | did you mean fallback.max_hops?",
				"user.toml:2:1: unknown key harness | did you mean accounts.NAME.harness?",
			},
		},
		{
			"a wrong key below the wrong heading too",
			said{user: "[chain]\nmax_hop = 1\n"},
			[]string{"user.toml:2:1: unknown key chain.max_hop | did you mean fallback.max_hops?"},
		},
		{
			"a key that resembles none is told which there are",
			said{user: "[vendors.openai]\nzzzzzz = 1\n[vendors]\nqqqqqqq.x = 1\n"},
			[]string{
				"user.toml:2:1: unknown key vendors.openai.zzzzzz | the keys here are several_accounts",
				"user.toml:4:9: unknown key vendors.qqqqqqq.x | the keys here are several_accounts",
			},
		},
		{
			"a key of a later version is unknown to this one",
			said{user: "[fleet]\ncodex = 60\n"},
			[]string{"user.toml:1:2: unknown key fleet | the keys here are mode, chain, fallback, containment, env, notify, store, vendors, accounts, stall"},
		},
		{
			"a name with escapes in it is shown with them",
			said{user: "\"\\u001b[31m\" = 1\n"},
			[]string{`user.toml:1:1: unknown key "\x1b[31m" | the keys here are mode, chain, fallback, containment, env, notify, store, vendors, accounts, stall`},
		},
		{
			"a value is not a table, nor the other way round",
			said{user: "fallback = true\naccounts.codex = 1\n[mode]\nx = 1\n[chain.default.x]\n"},
			[]string{
				"user.toml:1:1: fallback is a table, not a value | its keys are enabled, max_hops, weaker, overage, rollover, health",
				"user.toml:2:10: accounts.codex is a table, not a value | its keys are harness, command, home, posture, key_env, key_command, base_url, enabled, capacity",
				"user.toml:3:2: mode is a value, not a table",
				"user.toml:5:8: chain.default is a value, not a table",
			},
		},
		{
			"a group of names is no table either",
			said{user: "accounts = []\nmode.x = 1\n"},
			[]string{
				"user.toml:1:1: accounts is a table, not a value | its keys are NAME.harness, NAME.command, NAME.home, NAME.posture, NAME.key_env, NAME.key_command, NAME.base_url, NAME.enabled, NAME.capacity",
				"user.toml:2:1: mode is a value, not a table",
			},
		},
		{
			"no table comes in several",
			said{user: "[[accounts]]\nname = \"x\"\n[[fallbock]]\n"},
			[]string{
				"user.toml:1:3: accounts is not a list of tables | write it with one pair of brackets",
				"user.toml:3:3: unknown key fallbock | did you mean fallback?",
			},
		},
		{
			"each value of a wrong form is told, by its form",
			said{user: "mode = 1\n[fallback]\nenabled = \"true\"\nmax_hops = 1.5\nweaker = true\n[chain]\ndefault = \"claude\"\n[env]\npass = [\"A\", 1]\n[containment]\nwritable = {}\n"},
			[]string{
				"user.toml:1:8: mode must be one of read, ask, edit, full",
				"user.toml:3:11: fallback.enabled must be true or false",
				"user.toml:4:12: fallback.max_hops must be a whole number",
				"user.toml:5:10: fallback.weaker must be one of skip, announce",
				"user.toml:7:11: chain.default must be a list of strings",
				"user.toml:9:1: env.pass must be a list of strings",
				"user.toml:11:12: containment.writable must be a list of strings",
			},
		},
		{
			"a wrong word names the near one",
			said{user: "mode = \"reed\"\nfallback.overage = \"anounce\"\nfallback.weaker = \"sometimes\"\nfallback.rollover = \"\"\n"},
			[]string{
				`user.toml:1:8: mode "reed" is not one of read, ask, edit, full | did you mean read?`,
				`user.toml:2:20: fallback.overage "anounce" is not one of stop, announce, use | did you mean announce?`,
				`user.toml:3:19: fallback.weaker "sometimes" is not one of skip, announce`,
				`user.toml:4:21: fallback.rollover "" is not one of off, settled, always`,
			},
		},
		{
			"a bound may not be negative, nor too large to be one",
			said{user: "fallback.max_hops = -1\n", env: []string{"PACELINE_FALLBACK__MAX_HOPS=-2"}},
			[]string{
				"user.toml:1:21: fallback.max_hops must not be negative",
				"environment: PACELINE_FALLBACK__MAX_HOPS must not be negative",
			},
		},
		{
			"Z85 a breaker that could never trip, or never close, is refused at load, with its line",
			said{
				user: "[fallback.health]\nopen_after_failures = 0\nwindow_secs = 0\ncooldown_secs = -1\ndegrade_error_rate_pct = 101\ndegrade_min_samples = 1\ndegrade_ttft_ms = 999\n",
				env:  []string{"PACELINE_FALLBACK__HEALTH__OPEN_AFTER_FAILURES=21", "PACELINE_FALLBACK__HEALTH__DEGRADE_ERROR_RATE_PCT=0"},
			},
			[]string{
				"user.toml:2:23: fallback.health.open_after_failures must be 1 to 20",
				"user.toml:3:15: fallback.health.window_secs must be at least 1",
				"user.toml:4:17: fallback.health.cooldown_secs must be at least 1",
				"user.toml:5:26: fallback.health.degrade_error_rate_pct must be 1 to 100",
				"user.toml:6:23: fallback.health.degrade_min_samples must be at least 2",
				"user.toml:7:19: fallback.health.degrade_ttft_ms must be at least 1000",
				"environment: PACELINE_FALLBACK__HEALTH__DEGRADE_ERROR_RATE_PCT must be 1 to 100",
				"environment: PACELINE_FALLBACK__HEALTH__OPEN_AFTER_FAILURES must be 1 to 20",
			},
		},
		{
			"a number past all bounds is none",
			said{user: "fallback.max_hops = 4294967296\n"},
			[]string{"user.toml:1:21: fallback.max_hops must be a whole number"},
		},

		{
			"an unknown harness, and nothing else about its account",
			said{user: "[accounts.g]\nharness = \"aider\"\n[accounts.c]\nharness = \"codx\"\n[chain]\ndefault = [\"g\"]\n"},
			[]string{
				`user.toml:2:11: accounts.g.harness "aider" is not one of claude, codex, agy, gemini, opencode, qwen, copilot, grok, kimi, claude-acp, codex-acp, acp | an agent that speaks ACP is harness = "acp", with its command`,
				`user.toml:4:11: accounts.c.harness "codx" is not one of claude, codex, agy, gemini, opencode, qwen, copilot, grok, kimi, claude-acp, codex-acp, acp | did you mean codex?`,
			},
		},
		{
			"an agent of one's own needs its command, and only that one has it",
			said{user: "[accounts.mine]\nharness = \"acp\"\n[accounts.g]\nharness = \"gemini\"\ncommand = \"gemini --acp\"\n"},
			[]string{
				`user.toml:1:11: accounts.mine does not say how its agent is started | add command = "my-agent acp"`,
				`user.toml:5:11: accounts.g.command is for an agent of your own | say harness = "acp", or leave it out`,
			},
		},
		{
			"an account without a harness, at its heading",
			said{user: "\n[accounts.office]\nhome = \"/x\"\n[accounts.other]\n"},
			[]string{
				`user.toml:2:11: accounts.office does not say which harness it is an account of | add harness = "claude" or harness = "codex"`,
				`user.toml:4:11: accounts.other does not say which harness it is an account of | add harness = "claude" or harness = "codex"`,
			},
		},
		{
			"but not where its harness is a misspelt key",
			said{user: "[accounts.office]\nharnes = \"codex\"\n"},
			[]string{"user.toml:2:1: unknown key accounts.office.harnes | did you mean accounts.office.harness?"},
		},
		{
			"an account of a harness's name drives that harness",
			said{user: "[accounts.claude]\nharness = \"codex\"\n"},
			[]string{"user.toml:2:11: accounts.claude is always an account of claude | give the account another name"},
		},
		{
			"an account's name has to fit into a chain",
			said{user: "[accounts.\"a:b\"]\nharness = \"codex\"\n"},
			[]string{`user.toml:1:11: accounts."a:b" is not a name that a chain could hold | use letters, digits, - and _`},
		},
		{
			"a key needs an account that is declared as metered",
			said{user: office + "key_env = \"K\"\n[accounts.two]\nharness = \"codex\"\nposture = \"subscription\"\nkey_command = \"x\"\n"},
			[]string{
				`user.toml:3:11: accounts.office.key_env needs an account that is declared as metered | add posture = "metered"`,
				`user.toml:7:15: accounts.two.key_command needs an account that is declared as metered | add posture = "metered"`,
			},
		},
		{
			"which is not doubted where the posture is only misspelt",
			said{user: office + "posture = \"meterd\"\nkey_env = \"K\"\n"},
			[]string{`user.toml:3:11: accounts.office.posture "meterd" is not one of subscription, metered, local | did you mean metered?`},
		},
		{
			"an unknown posture is not declared but found",
			said{user: office + "posture = \"unknown\"\n"},
			[]string{`user.toml:3:11: accounts.office.posture "unknown" is not one of subscription, metered, local`},
		},
		{
			"there is one way to a key",
			said{user: office + "posture = \"metered\"\nkey_env = \"K\"\nkey_command = \"x\"\n"},
			[]string{"user.toml:5:15: accounts.office has both key_env and key_command | keep one of them"},
		},
		{
			"an empty command prints no key",
			said{user: office + "posture = \"metered\"\nkey_command = \" \"\n"},
			[]string{"user.toml:4:15: accounts.office.key_command is empty | write the command as a shell takes it"},
		},
		{
			"a home is an absolute path",
			said{user: office + "home = \"codex\"\n", env: []string{"PACELINE_ACCOUNTS__CODEX__HOME=~bob/x"}},
			[]string{
				`user.toml:3:8: accounts.office.home is "codex", which is not an absolute path | begin it with / or ~/`,
				`environment: PACELINE_ACCOUNTS__CODEX__HOME is "~bob/x", which is not an absolute path | begin it with / or ~/`,
			},
		},
		{
			"a writable root is one too, and each entry has its own place",
			said{user: "[containment]\nwritable = [\n  \"/a\",\n  \"b\",\n  \"\",\n]\n"},
			[]string{
				`user.toml:4:3: containment.writable is "b", which is not an absolute path | begin it with / or ~/`,
				`user.toml:5:3: containment.writable is "", which is not an absolute path | begin it with / or ~/`,
			},
		},
		{
			"an unknown vendor names the near one",
			said{user: "vendors.opnai.several_accounts = \"mine\"\nvendors.initech.several_accounts = \"mine\"\nvendors.openai.several_accounts = \"yours\"\n"},
			[]string{
				"user.toml:1:34: unknown vendor opnai | did you mean openai?",
				"user.toml:2:36: unknown vendor initech | this build knows alibaba, anthropic, github, google, moonshot, openai, xai",
				`user.toml:3:35: vendors.openai.several_accounts "yours" is not "mine"`,
			},
		},

		{
			"a chain names accounts",
			said{user: office + "[chain]\ndefault = [\"offcie\", \"claude\",\n  \"gpt-5.6\"]\n"},
			[]string{
				`user.toml:4:12: chain.default names "offcie", which is no account | did you mean office?`,
				`user.toml:5:3: chain.default names "gpt-5.6", which is no account | there are claude, codex, office`,
			},
		},
		{
			"a chain on the command line too, where nobody declared one",
			said{flags: Flags{Chain: []string{"claude", "work"}}},
			[]string{`flags: --chain names "work", which is no account | declare it as [accounts.work]; there are claude, codex`},
		},
		{
			"a chain has no empty entry",
			said{user: "chain.default = [\"claude\", \" \"]", env: []string{"PACELINE_CHAIN__DEFAULT=claude,,codex"}},
			[]string{
				`user.toml:1:28: chain.default has an empty entry | name an account, as in "claude" or "office:MODEL"`,
				`environment: PACELINE_CHAIN__DEFAULT has an empty entry | name an account, as in "claude" or "office:MODEL"`,
			},
		},
		{
			"an entry is an account, or an account with a model",
			said{user: "chain.default = [\"claude:\", \":opus\"]"},
			[]string{
				`user.toml:1:18: chain.default has an entry "claude:" that is no engine | write an account, or account:model`,
				`user.toml:1:29: chain.default has an entry ":opus" that is no engine | write an account, or account:model`,
			},
		},
		{
			"an engine stands in a chain once",
			said{user: "chain.default = [\"claude\", \"codex\", \"claude \"]"},
			[]string{"user.toml:1:37: chain.default names claude twice | an engine serves a message once: leave the second out"},
		},
		{
			"two accounts of one vendor want to be declared",
			said{user: office + "[chain]\ndefault = [\"codex\", \"claude\", \"office:mini\"]\n"},
			[]string{`user.toml:4:31: chain.default names two accounts of openai: codex and office | if both are yours and its terms allow it, say so: [vendors.openai] several_accounts = "mine"`},
		},
		{
			"a declaration for one vendor is none for another",
			said{user: office + "[vendors.anthropic]\nseveral_accounts = \"mine\"\n", flags: Flags{Chain: []string{"codex,office"}}},
			[]string{`flags: --chain names two accounts of openai: codex and office | if both are yours and its terms allow it, say so: [vendors.openai] several_accounts = "mine"`},
		},
		{
			"an engine of the command line exists, is one, and stands alone",
			said{flags: Flags{Engine: "cladue", Mode: "rw"}},
			[]string{
				`flags: --engine names "cladue", which is no account | did you mean claude?`,
				`flags: --mode "rw" is not one of read, ask, edit, full`,
			},
		},
		{
			"a pin is one engine",
			said{flags: Flags{Engine: "claude,codex"}},
			[]string{"flags: --engine names more than one engine | --chain takes several"},
		},
		{
			"a pin and a chain contradict each other",
			said{flags: Flags{Engine: "claude", Chain: []string{"codex"}}},
			[]string{"flags: --engine and --chain cannot both be given | an engine is a pin; name it first in the chain to begin there"},
		},

		{
			"a variable that would spend another account's money is not passed on",
			said{user: "env.pass = [\"A\", \"ANTHROPIC_API_KEY\", \"CLAUDE_CODE_RETRY_WATCHDOG\", \"PACELINE_RUN\", \"A=1\", \"\", \"AWS_*\"]"},
			[]string{
				`user.toml:1:18: env.pass names ANTHROPIC_API_KEY, which would spend another account's money | declare an account for it: posture = "metered" and key_env = "ANTHROPIC_API_KEY"`,
				"user.toml:1:39: env.pass names CLAUDE_CODE_RETRY_WATCHDOG, which children never get | leave it out",
				"user.toml:1:69: env.pass names PACELINE_RUN, which is not for children | leave it out",
				"user.toml:1:85: env.pass has an entry that is not a variable's name | list names alone, without values",
				"user.toml:1:92: env.pass has an entry that is not a variable's name | list names alone, without values",
				"user.toml:1:96: env.pass has an entry that is not a variable's name | list names alone, without values",
			},
		},

		{
			"an unknown variable names its nearest neighbour",
			said{env: []string{
				"PACELINE_FALLBACK__ENABELD=1", "PACELINE_FALLBACK_ENABLED=1", "PACELINE_MOED=ask", "PACELINE_mode=ask",
				"PACELINE_CHAIN=claude", "PACELINE_ACCOUNTS__CODEX__HOM=/x", "PACELINE_STAET=/x", "PACELINE_FLEET__CODEX=1",
				"PACELINE_\x1b__X=1",
			}},
			[]string{
				`environment: unknown variable "PACELINE_\x1b__X"`,
				"environment: unknown variable PACELINE_ACCOUNTS__CODEX__HOM | did you mean PACELINE_ACCOUNTS__CODEX__HOME?",
				"environment: PACELINE_CHAIN names a group of keys, not a key | put two underscores before the key, as in PACELINE_CHAIN__DEFAULT",
				"environment: unknown variable PACELINE_FALLBACK_ENABLED | did you mean PACELINE_FALLBACK__ENABLED?",
				"environment: unknown variable PACELINE_FALLBACK__ENABELD | did you mean PACELINE_FALLBACK__ENABLED?",
				"environment: unknown variable PACELINE_FLEET__CODEX",
				"environment: unknown variable PACELINE_MOED | did you mean PACELINE_MODE?",
				"environment: unknown variable PACELINE_STAET | did you mean PACELINE_STATE?",
				"environment: unknown variable PACELINE_mode | did you mean PACELINE_MODE?",
			},
		},
		{
			"a variable has its key's form",
			said{env: []string{"PACELINE_FALLBACK__ENABLED=maybe", "PACELINE_FALLBACK__MAX_HOPS=two", "PACELINE_MODE=sudo"}},
			[]string{
				"environment: PACELINE_FALLBACK__ENABLED must be true or false",
				"environment: PACELINE_FALLBACK__MAX_HOPS must be a whole number",
				`environment: PACELINE_MODE "sudo" is not one of read, ask, edit, full`,
			},
		},
		{
			"an account that a variable begins is finished by others",
			said{env: []string{"PACELINE_ACCOUNTS__WORK__HOME=/x"}},
			[]string{`environment: accounts.work does not say which harness it is an account of | add harness = "claude" or harness = "codex"`},
		},

		{
			"broken TOML is told with its place",
			said{user: "mode = \"ask\"\n[fallback\nenabled = true\n"},
			[]string{"user.toml:2:10: it is not TOML: expected ']' to close table name"},
		},
		{
			"a key that is set twice is told too",
			said{user: "mode = \"ask\"\nmode = \"read\"\n"},
			[]string{"user.toml:2:1: it is not TOML: key mode is already defined"},
		},
		{
			"of a broken file nothing is concluded",
			said{user: "[accounts.office\n", repo: "mode = \"full\"\n", env: []string{"PACELINE_CHAIN__DEFAULT=office,claude"}},
			[]string{"user.toml:1:17: it is not TOML: expected ']' to close table name"},
		},
		{
			"text that is not UTF-8 is told with its place",
			said{user: "mode = \"ask\"\n", repo: "mode = \"read\"\n# caf\xe9\n"},
			[]string{"repo.toml:2:6: it is not UTF-8 text | save it as UTF-8"},
		},
		{
			"all problems of all layers come at once, in order",
			said{
				user: "[fallback]\nenabled = 1\nmode = \"ask\"\n", repo: "chain.default = [\"codex\"]\nmoed = \"ask\"\n",
				env: []string{"PACELINE_MODE=x"}, flags: Flags{Mode: "y"},
			},
			[]string{
				"user.toml:2:11: fallback.enabled must be true or false",
				"user.toml:3:1: unknown key fallback.mode | did you mean mode?",
				"repo.toml:1:7: a repository file may not set chain.default | " + yours,
				"repo.toml:2:1: unknown key moed | did you mean mode?",
				`environment: PACELINE_MODE "x" is not one of read, ask, edit, full`,
				`flags: --mode "y" is not one of read, ask, edit, full`,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, problems := c.said.resolve()
			if diff := cmp.Diff(c.want, told(problems)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExcerpts(t *testing.T) {
	for _, c := range []struct{ name, user, want string }{
		{
			"the line, and a caret below the place", "mode = \"ask\"\nfallback.overage = \"anounce\" # why\n",
			"  2 | fallback.overage = \"anounce\" # why\n" +
				"    |                    ^^^^^^^^^",
		},
		{
			"a tab is as wide as the caret thinks", "[fallback]\n\tmax_hops\t= true\n",
			"  2 |  max_hops = true\n" +
				"    |             ^^^^",
		},
		{
			"a line break of another system is no part of it", "mode = 1\r\n",
			"  1 | mode = 1\n" +
				"    |        ^",
		},
		{
			"what a terminal would obey is not sent to it", "mode = 1 # caf\u00e9 \u202e\n",
			"  1 | mode = 1 # caf\u00e9 ?\n" +
				"    |        ^",
		},
		{"a line of nothing but a value is not shown", "chain.default = [\n\"\",\n]\n", ""},
		{"a very long line is not shown", "mode = \"" + strings.Repeat("x", 200) + "\"\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, problems := said{user: c.user}.resolve()
			if len(problems) != 1 {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(c.want, problems[0].Excerpt); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSecretsAreNeverRepeated puts a secret wherever one might be pasted.
func TestSecretsAreNeverRepeated(t *testing.T) {
	const secret = "sk-ant-hunter2"
	metered := office + "posture = \"metered\"\n"
	for _, c := range []struct {
		name string
		said said
	}{
		{"a password in an address", said{user: office + "base_url = \"https://ada:" + secret + "@proxy.example\"\n"}},
		{"a user name alone", said{user: office + "base_url = \"https://" + secret + "@proxy.example\"\n"}},
		{"a token in a query", said{user: office + "base_url = \"https://proxy.example/?key=" + secret + "\"\n"}},
		{"a token in a fragment", said{user: office + "base_url = \"https://proxy.example/#" + secret + "\"\n"}},
		{"an address that cannot be read", said{user: office + "base_url = \"https://" + secret + ":%zz@x\"\n"}},
		{"an address of another scheme", said{user: office + "base_url = \"ftp://ada:" + secret + "@x\"\n"}},
		{"an address without a host", said{user: office + "base_url = \"" + secret + "\"\n"}},
		{"a key in place of its variable", said{user: metered + "key_env = \"" + secret + "\"\n"}},
		{"a key under a name of its own", said{user: office + "api_key = \"" + secret + "\"\n"}},
		{"a key under such a name, inline", said{user: "accounts.office = { harness = \"codex\", key = \"" + secret + "\" }\n"}},
		{"inline, in an account that is called like a key", said{user: "[accounts]\nmode = { key = \"" + secret + "\" }\n"}},
		{"a command with a key, in an account without a posture", said{user: office + "key_command = \"echo " + secret + "\"\n"}},
		{"a line that is not TOML", said{user: office + "key_env = \"" + secret + "\n"}},
		{"a line without a name", said{user: office + secret + "\n"}},
		{"two settings on a line", said{user: "mode = \"ask\" key_env = \"" + secret + "\"\n"}},
		{"a variable's value among the names", said{user: "env.pass = [\n\"TOKEN=" + secret + "\",\n]\n"}},
		{"an address in the environment", said{env: []string{"PACELINE_ACCOUNTS__CODEX__BASE_URL=https://a:" + secret + "@x"}}},
		{"a key in the environment", said{env: []string{"PACELINE_ACCOUNTS__CODEX__KEY_ENV=" + secret}}},
		{"an unknown variable", said{env: []string{"PACELINE_ACCOUNTS__CODEX__API_KEY=" + secret}}},
		{"a database of another kind", said{user: "store.url = \"mysql://ada:" + secret + "@db/x\"\n"}},
		{"a database without a name", said{user: "store.url = \"postgres://ada:" + secret + "@db\"\n"}},
		{"a database without a host", said{user: "store.url = \"postgres://ada:" + secret + "@/x\"\n"}},
		{"a database whose password holds a slash", said{user: "store.url = \"postgres://ada:" + secret + "/x@db/x\"\n"}},
		{"a database in the environment", said{env: []string{"PACELINE_STORE__URL=ada:" + secret + "@db"}}},
		{"a repository's database", said{repo: "store.url = \"postgres://ada:" + secret + "@db/x\""}},
		{"a repository's address", said{repo: "accounts.x.base_url = \"https://a.example/" + secret + "\""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, problems := c.said.resolve()
			if len(problems) == 0 {
				t.Fatal("no problem was found")
			}
			for _, p := range problems {
				if strings.Contains(p.File+p.Key+p.What+p.Hint+p.Excerpt, secret) {
					t.Errorf("the secret is shown: %+v", p)
				}
			}
		})
	}
	shown := said{user: "store.url = \"postgres://ada:" + secret + "@db/x\"\n" + metered + "key_command = \"echo " + secret + "\"\nbase_url = \"http://[::1]/" + secret + "\"\n"}
	_, all, problems := shown.resolve()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, s := range all {
		if strings.Contains(s.Value, secret) {
			t.Errorf("the secret is shown: %+v", s)
		}
	}
	if got := find(all, "accounts.office.base_url").Value; got != `"[::1]:80"` {
		t.Errorf("the route is shown as %s", got)
	}
}

func TestProblemsReadAsOneText(t *testing.T) {
	_, _, problems := said{user: "moed = \"ask\"\n", env: []string{"PACELINE_MODE=x"}}.resolve()
	want := `user.toml:1:1: unknown key moed
  1 | moed = …
    | ^^^^
  hint: did you mean mode?
environment: PACELINE_MODE "x" is not one of read, ask, edit, full`
	if diff := cmp.Diff(want, problems.Error()); diff != "" {
		t.Error(diff)
	}
	var err error = problems
	var one Problem
	if !errors.As(err, &one) || one.Key != "moed" {
		t.Errorf("errors.As gives %+v", one)
	}
	var many strings.Builder
	for i := range 42 {
		fmt.Fprintf(&many, "k%d = 1\n", i)
	}
	_, _, problems = said{user: many.String()}.resolve()
	if got := problems.Error(); !strings.HasSuffix(got, "\nand 17 more") || strings.Count(got, "unknown key") != 25 {
		t.Errorf("of %d problems it tells\n%s", len(problems), got)
	}
	if got := (Problem{What: "it is so"}).Error(); got != "it is so" {
		t.Errorf("a problem without a place reads %q", got)
	}
}
