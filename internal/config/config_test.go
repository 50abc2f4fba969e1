package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/health"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/stall"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew; read every changed line")

// said is what the layers of a test say.
type said struct {
	user, repo string
	env        []string
	flags      Flags
}

func (s said) resolve() (Policy, []Shown, Problems) {
	return resolve(
		file(newDocument("user.toml", LayerUser, []byte(s.user)), "/home/ada"),
		file(newDocument("repo.toml", LayerRepo, []byte(s.repo)), "/home/ada"),
		Sources{Environ: s.env, Home: "/home/ada", Flags: s.flags},
	)
}

func (s said) policy(t *testing.T) Policy {
	t.Helper()
	p, _, problems := s.resolve()
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	return p
}

const office = "[accounts.office]\nharness = \"codex\"\n"

func TestWithNothingSaid(t *testing.T) {
	want := Policy{
		Mode: paceline.ModeEdit,
		Accounts: map[string]paceline.Account{
			"claude": {Name: "claude", Harness: "claude", Vendor: "anthropic"},
			"codex":  {Name: "codex", Harness: "codex", Vendor: "openai"},
		},
		Fallback: Fallback{Enabled: true, Weaker: place.WeakerSkip, Overage: OverageAnnounce, Rollover: RolloverSettled, Health: health.Policy{
			Enabled: true, OpenAfter: 3, Window: 10 * time.Minute, Cooldown: 5 * time.Minute, ErrorPct: 25, MinSamples: 8,
		}},
		Stall: map[string]stall.Bounds{"claude": stall.Bounds{}.Or("claude"), "codex": stall.Bounds{}.Or("codex"), "acp": stall.Bounds{}.Or("acp")},
	}
	p := said{}.policy(t)
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	if p.Chain != nil {
		t.Errorf("there is a default chain: %v", p.Chain)
	}
}

func TestPolicy(t *testing.T) {
	account := func(p Policy, name string) paceline.Account { return p.Accounts[name] }
	for _, c := range []struct {
		name string
		said said
		read func(Policy) any
		want any
	}{
		{
			"a second account has its own home, and ~ is the user's",
			said{user: office + "home = \"~/.codex-office\"\nposture = \"subscription\"\n"},
			func(p Policy) any { return account(p, "office") },
			paceline.Account{Name: "office", Harness: "codex", Vendor: "openai", Home: "/home/ada/.codex-office", Posture: paceline.PostureSubscription},
		},
		{
			"an account of a harness's own name needs no harness",
			said{user: "[accounts.claude]\nhome = \"~\"\n"},
			func(p Policy) any { return account(p, "claude") },
			paceline.Account{Name: "claude", Harness: "claude", Vendor: "anthropic", Home: "/home/ada"},
		},
		{
			"a metered account names the variable that holds its key",
			said{user: office + "posture = \"metered\"\nkey_env = \"OPENAI_API_KEY\"\nbase_url = \"https://proxy.example/v1\"\n"},
			func(p Policy) any { return account(p, "office") },
			paceline.Account{Name: "office", Harness: "codex", Vendor: "openai", Posture: paceline.PostureMetered, KeyEnv: "OPENAI_API_KEY", BaseURL: "https://proxy.example/v1"},
		},
		{
			"or the command that prints it",
			said{user: office + "posture = \"metered\"\nkey_command = \"pass show openai\"\n"},
			func(p Policy) any { return account(p, "office").KeyCmd }, "pass show openai",
		},
		{
			"a disabled account stays known",
			said{user: "accounts.codex.enabled = false"},
			func(p Policy) any { return account(p, "codex").Disabled }, true,
		},
		{
			"an account may be for small tasks only",
			said{user: office + "capacity = \"small-only\"\n"},
			func(p Policy) any { return p.Capacity },
			map[string]Capacity{"office": CapacitySmallOnly},
		},
		{
			"a chain holds engines, models included",
			said{user: "chain.default = [\"claude:opus\", \"claude\", \"codex\"]"},
			func(p Policy) any { return p.Chain },
			[]paceline.Engine{{Account: "claude", Model: "opus"}, {Account: "claude"}, {Account: "codex"}},
		},
		{
			"two accounts of one vendor stand in one chain once they are declared to be one's own",
			said{user: office + "[vendors.openai]\nseveral_accounts = \"mine\"\n[chain]\ndefault = [\"codex\", \"office\"]\n"},
			func(p Policy) any { return p.Chain },
			[]paceline.Engine{{Account: "codex"}, {Account: "office"}},
		},
		{
			"an engine on the command line is a chain of its own",
			said{user: "chain.default = [\"claude\", \"codex\"]", flags: Flags{Engine: "codex:mini"}},
			func(p Policy) any { return p.Chain },
			[]paceline.Engine{{Account: "codex", Model: "mini"}},
		},
		{
			"an empty chain is none",
			said{user: "chain.default = []"},
			func(p Policy) any { return p.Chain }, []paceline.Engine(nil),
		},
		{
			"writable roots are made whole",
			said{user: "containment.writable = [\"~/go/pkg/\", \"/srv/a/../b\"]"},
			func(p Policy) any { return p.Writable },
			[]string{"/home/ada/go/pkg", "/srv/b"},
		},
		{
			"further variables may be passed to children",
			said{user: "env.pass = [\"KUBECONFIG\", \"_x1\"]"},
			func(p Policy) any { return p.Pass },
			[]string{"KUBECONFIG", "_x1"},
		},
		{
			"inline tables, quoted names and dotted names are the same keys",
			said{user: "accounts = { \"office\" = { harness = 'codex', enabled = false } }\n\"fallback\" . max_hops = 0x2"},
			func(p Policy) any { return []any{account(p, "office").Disabled, p.Fallback.MaxHops} },
			[]any{true, 2},
		},
		{
			"a variable finds the account that it cannot spell",
			said{user: "[accounts.Office-2]\nharness = \"codex\"\n", env: []string{"PACELINE_ACCOUNTS__OFFICE_2__ENABLED=false"}},
			func(p Policy) any { return account(p, "Office-2").Disabled }, true,
		},
		{
			"a variable may declare an account",
			said{env: []string{"PACELINE_ACCOUNTS__WORK__HARNESS=claude", "PACELINE_CHAIN__DEFAULT=work, codex"}},
			func(p Policy) any { return p.Chain },
			[]paceline.Engine{{Account: "work"}, {Account: "codex"}},
		},
		{
			"an empty variable sets nothing",
			said{user: "mode = \"read\"", env: []string{"PACELINE_MODE=", "PACELINE_CHAIN__DEFAULT="}},
			func(p Policy) any { return p.Mode }, paceline.ModeRead,
		},
		{
			"of a variable given twice the last counts",
			said{env: []string{"PACELINE_MODE=read", "PACELINE_MODE=ask"}},
			func(p Policy) any { return p.Mode }, paceline.ModeAsk,
		},
		{
			"reserved and foreign variables are no keys",
			said{env: []string{"PACELINE_RUN=r1", "PACELINE_STATE=/x", "PACELINE_CONFIG=/y", "PACELINE_CRASH_POINT=1", "MODE=full", "x"}},
			func(p Policy) any { return p.Mode }, paceline.ModeEdit,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.read(c.said.policy(t))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPrecedence sets every key in every layer that may set it, one layer more
// at a time.
func TestPrecedence(t *testing.T) {
	type step struct {
		said said // added to what the steps before it say
		from string
		want string
	}
	user := func(toml, want string) step { return step{said{user: toml}, "user.toml", want} }
	repo := func(toml, want string) step { return step{said{repo: toml}, "repo.toml", want} }
	env := func(name, text, want string) step { return step{said{env: []string{name + "=" + text}}, name, want} }
	flagged := func(name string, f Flags, want string) step { return step{said{flags: f}, name, want} }
	for key, steps := range map[string][]step{
		"mode": {
			{said{}, "default", `"edit"`},
			user(`mode = "full"`, `"full"`), repo(`mode = "read"`, `"read"`),
			env("PACELINE_MODE", "ask", `"ask"`), flagged("--mode", Flags{Mode: "full"}, `"full"`),
		},
		"chain.default": {
			{said{}, "default", `[]`},
			user(`chain.default = ["claude", "codex"]`, `["claude", "codex"]`),
			env("PACELINE_CHAIN__DEFAULT", "codex,claude", `["codex", "claude"]`),
			flagged("--chain", Flags{Chain: []string{"claude:opus", "codex"}}, `["claude:opus", "codex"]`),
		},
		"fallback.enabled": {
			{said{}, "default", `true`},
			user(`fallback.enabled = true`, `true`), repo(`fallback.enabled = false`, `false`),
			env("PACELINE_FALLBACK__ENABLED", "true", `true`),
		},
		"fallback.max_hops": {
			{said{}, "default", `0`},
			user(`fallback.max_hops = 3`, `3`), repo(`fallback.max_hops = 2`, `2`),
			env("PACELINE_FALLBACK__MAX_HOPS", "4", `4`),
		},
		"fallback.weaker": {
			{said{}, "default", `"skip"`},
			user(`fallback.weaker = "announce"`, `"announce"`), repo(`fallback.weaker = "skip"`, `"skip"`),
			env("PACELINE_FALLBACK__WEAKER", "announce", `"announce"`),
		},
		"fallback.overage": {
			{said{}, "default", `"announce"`},
			user(`fallback.overage = "use"`, `"use"`), repo(`fallback.overage = "stop"`, `"stop"`),
			env("PACELINE_FALLBACK__OVERAGE", "announce", `"announce"`),
		},
		"fallback.rollover": {
			{said{}, "default", `"settled"`},
			user(`fallback.rollover = "always"`, `"always"`), repo(`fallback.rollover = "off"`, `"off"`),
			env("PACELINE_FALLBACK__ROLLOVER", "settled", `"settled"`),
		},
		"fallback.health.enabled": {
			{said{}, "default", `true`},
			user(`fallback.health.enabled = true`, `true`), repo(`fallback.health.enabled = false`, `false`),
			env("PACELINE_FALLBACK__HEALTH__ENABLED", "true", `true`),
		},
		"fallback.health.open_after_failures": {
			{said{}, "default", `3`},
			user(`fallback.health.open_after_failures = 20`, `20`), repo(`fallback.health.open_after_failures = 2`, `2`),
			env("PACELINE_FALLBACK__HEALTH__OPEN_AFTER_FAILURES", "5", `5`),
		},
		"fallback.health.window_secs": {
			{said{}, "default", `600`},
			user(`fallback.health.window_secs = 900`, `900`), repo(`fallback.health.window_secs = 60`, `60`),
			env("PACELINE_FALLBACK__HEALTH__WINDOW_SECS", "1200", `1200`),
		},
		"fallback.health.cooldown_secs": {
			{said{}, "default", `300`},
			user(`fallback.health.cooldown_secs = 900`, `900`), repo(`fallback.health.cooldown_secs = 60`, `60`),
			env("PACELINE_FALLBACK__HEALTH__COOLDOWN_SECS", "1200", `1200`),
		},
		"fallback.health.degrade_error_rate_pct": {
			{said{}, "default", `25`},
			user(`fallback.health.degrade_error_rate_pct = 100`, `100`), repo(`fallback.health.degrade_error_rate_pct = 1`, `1`),
			env("PACELINE_FALLBACK__HEALTH__DEGRADE_ERROR_RATE_PCT", "50", `50`),
		},
		"fallback.health.degrade_min_samples": {
			{said{}, "default", `8`},
			user(`fallback.health.degrade_min_samples = 20`, `20`), repo(`fallback.health.degrade_min_samples = 2`, `2`),
			env("PACELINE_FALLBACK__HEALTH__DEGRADE_MIN_SAMPLES", "10", `10`),
		},
		"fallback.health.degrade_ttft_ms": {
			user(`fallback.health.degrade_ttft_ms = 60000`, `60000`), repo(`fallback.health.degrade_ttft_ms = 1000`, `1000`),
			env("PACELINE_FALLBACK__HEALTH__DEGRADE_TTFT_MS", "20000", `20000`),
		},
		"containment.writable": {
			{said{}, "default", `[]`},
			user(`containment.writable = ["/a"]`, `["/a"]`),
			env("PACELINE_CONTAINMENT__WRITABLE", "/b,~/c", `["/b", "/home/ada/c"]`),
		},
		"env.pass": {
			{said{}, "default", `[]`}, user(`env.pass = ["A"]`, `["A"]`), env("PACELINE_ENV__PASS", "B,C", `["B", "C"]`),
		},
		"notify.command": {
			{said{}, "default", `""`}, user(`notify.command = "a"`, `"a"`), env("PACELINE_NOTIFY__COMMAND", "b", `"b"`),
		},
		"store.url": {
			{said{}, "default", `""`},
			user(`store.url = "postgres://ada:secret@db:5432/paceline?sslmode=require"`, `"postgres://ada@db:5432/paceline"`),
			env("PACELINE_STORE__URL", "postgresql:///x?host=/run", `"postgresql:///x"`),
		},
		"vendors.openai.several_accounts": {
			user(`vendors.openai.several_accounts = "mine"`, `"mine"`),
			env("PACELINE_VENDORS__OPENAI__SEVERAL_ACCOUNTS", "mine", `"mine"`),
		},
		"accounts.work.harness": {
			user(`accounts.work.harness = "codex"`, `"codex"`), env("PACELINE_ACCOUNTS__WORK__HARNESS", "claude", `"claude"`),
		},
		"accounts.mine.command": {
			user("accounts.mine = { harness = \"acp\", command = \"a\" }", `"a"`), env("PACELINE_ACCOUNTS__MINE__COMMAND", "b", `"b"`),
		},
		"stall.acp.first": {
			user(`stall.acp.first = "90s"`, `"90s"`), env("PACELINE_STALL__ACP__FIRST", "2m", `"2m"`),
		},
		"stall.acp.progress": {
			user(`stall.acp.progress = "90s"`, `"90s"`), env("PACELINE_STALL__ACP__PROGRESS", "2m", `"2m"`),
		},
		"stall.acp.tool": {
			user(`stall.acp.tool = "90s"`, `"90s"`), env("PACELINE_STALL__ACP__TOOL", "2m", `"2m"`),
		},
		"stall.acp.grace": {
			user(`stall.acp.grace = "90s"`, `"90s"`), env("PACELINE_STALL__ACP__GRACE", "2m", `"2m"`),
		},
		"accounts.codex.home": {
			user(`accounts.codex.home = "/a"`, `"/a"`), env("PACELINE_ACCOUNTS__CODEX__HOME", "~/b", `"/home/ada/b"`),
		},
		"accounts.codex.posture": {
			user(`accounts.codex.posture = "local"`, `"local"`), env("PACELINE_ACCOUNTS__CODEX__POSTURE", "metered", `"metered"`),
		},
		"accounts.codex.key_env": {
			user("accounts.codex.posture = \"metered\"\naccounts.codex.key_env = \"A\"", `"A"`),
			env("PACELINE_ACCOUNTS__CODEX__KEY_ENV", "B", `"B"`),
		},
		"accounts.codex.key_command": {
			user("accounts.codex.posture = \"metered\"\naccounts.codex.key_command = \"a\"", `"…"`),
			env("PACELINE_ACCOUNTS__CODEX__KEY_COMMAND", "b", `"…"`),
		},
		"accounts.codex.base_url": {
			user(`accounts.codex.base_url = "http://a:1/x"`, `"a:1"`), env("PACELINE_ACCOUNTS__CODEX__BASE_URL", "https://b", `"b:443"`),
		},
		"accounts.codex.enabled": {
			{said{}, "default", `true`}, user(`accounts.codex.enabled = false`, `false`), env("PACELINE_ACCOUNTS__CODEX__ENABLED", "1", `true`),
		},
		"stall.claude.first": {
			user(`stall.claude.first = "90s"`, `"90s"`), env("PACELINE_STALL__CLAUDE__FIRST", "2m", `"2m"`),
		},
		"stall.claude.progress": {
			user(`stall.claude.progress = "90s"`, `"90s"`), env("PACELINE_STALL__CLAUDE__PROGRESS", "2m", `"2m"`),
		},
		"stall.claude.tool": {
			user(`stall.claude.tool = "90s"`, `"90s"`), env("PACELINE_STALL__CLAUDE__TOOL", "2m", `"2m"`),
		},
		"stall.claude.grace": {
			user(`stall.claude.grace = "90s"`, `"90s"`), env("PACELINE_STALL__CLAUDE__GRACE", "2m", `"2m"`),
		},
		"stall.codex.first": {
			user(`stall.codex.first = "90s"`, `"90s"`), env("PACELINE_STALL__CODEX__FIRST", "2m", `"2m"`),
		},
		"stall.codex.progress": {
			user(`stall.codex.progress = "90s"`, `"90s"`), env("PACELINE_STALL__CODEX__PROGRESS", "2m", `"2m"`),
		},
		"stall.codex.tool": {
			user(`stall.codex.tool = "90s"`, `"90s"`), env("PACELINE_STALL__CODEX__TOOL", "2m", `"2m"`),
		},
		"stall.codex.grace": {
			user(`stall.codex.grace = "90s"`, `"90s"`), env("PACELINE_STALL__CODEX__GRACE", "2m", `"2m"`),
		},
		"accounts.codex.capacity": {
			{said{}, "default", `"full"`},
			user(`accounts.codex.capacity = "small-only"`, `"small-only"`),
			env("PACELINE_ACCOUNTS__CODEX__CAPACITY", "full", `"full"`),
		},
	} {
		t.Run(key, func(t *testing.T) {
			var all said
			for _, s := range steps {
				all.user += s.said.user + "\n"
				all.repo += s.said.repo + "\n"
				all.env = append(all.env, s.said.env...)
				if s.said.flags.Mode != "" || s.said.flags.Chain != nil {
					all.flags = s.said.flags
				}
				_, shown, problems := all.resolve()
				if len(problems) > 0 {
					t.Fatalf("%+v:\n%v", all, problems)
				}
				got := find(shown, key)
				from, _, _ := strings.Cut(got.From, ":")
				if got.Value != s.want || from != s.from {
					t.Errorf("%s is %s from %s, want %s from %s", key, got.Value, got.From, s.want, s.from)
				}
			}
		})
		covered[generic(key)] = true
	}
	for _, k := range keys {
		if !covered[k.name] {
			t.Errorf("no precedence is tested for %s", k.name)
		}
	}
}

var covered = map[string]bool{}

// generic is the table's name for a key.
func generic(key string) string {
	k, _, _ := lookup(strings.Split(key, "."))
	return k.name
}

func find(shown []Shown, key string) Shown {
	for _, s := range shown {
		if s.Key == key {
			return s
		}
	}
	return Shown{}
}

func TestShow(t *testing.T) {
	_, shown, problems := said{
		user: `mode = "full"

[chain]
default = ["claude", "office:mini"]

[vendors.openai]
several_accounts = "mine"

[accounts.office]
harness = "codex"
home = "~/.codex-office"
posture = "metered"
key_env = "OFFICE_KEY"
base_url = "http://127.0.0.1:4000/v1"
capacity = "small-only"

[accounts.ci]
harness = "claude"
posture = "metered"
key_command = "printf sk-ant-not-to-be-shown"
`,
		repo:  "mode = \"ask\"\nfallback.max_hops = 1\n",
		env:   []string{"PACELINE_FALLBACK__OVERAGE=stop", "PACELINE_ACCOUNTS__OFFICE__ENABLED=false"},
		flags: Flags{Mode: "read"},
	}.resolve()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got strings.Builder
	for _, s := range shown {
		fmt.Fprintf(&got, "%s = %s  # %s, %s\n", s.Key, s.Value, s.Layer, s.From)
	}
	golden(t, "show.golden", got.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-rewrite writes it anew):\n%s", path, diff)
	}
}

func TestAStoredPolicyReadsBack(t *testing.T) {
	want := said{
		user: office + `posture = "metered"
key_env = "K"
capacity = "small-only"
[chain]
default = ["claude:opus", "office"]
[fallback]
weaker = "announce"
overage = "use"
rollover = "always"
max_hops = 2
[containment]
writable = ["/srv"]
[env]
pass = ["KUBECONFIG"]
`,
	}.policy(t)
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{`"weaker":"announce"`, `"overage":"use"`, `"rollover":"always"`, `"office":"small-only"`, `"mode":"edit"`} {
		if !strings.Contains(string(b), word) {
			t.Errorf("%s is not stored as a word: %s", word, b)
		}
	}
	var got Policy
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{`{"fallback":{"weaker":"any"}}`, `{"fallback":{"overage":"x"}}`, `{"fallback":[]}`} {
		if err := json.Unmarshal([]byte(bad), new(Policy)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	if got := Overage(9).String(); got != "9?" {
		t.Errorf("an unnamed overage prints %q", got)
	}
}

func TestTheZeroPolicyIsTheSafeOne(t *testing.T) {
	var p Policy
	if err := json.Unmarshal([]byte(`{"fallback":{}}`), &p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Policy{}, p); diff != "" {
		t.Error(diff)
	}
	f := p.Fallback
	if p.Mode != paceline.ModeRead || f.Enabled || f.Weaker != place.WeakerSkip || f.Overage != OverageStop || f.Rollover != RolloverOff {
		t.Errorf("%+v", p)
	}
}

func TestWithoutAHomeThereIsNoTilde(t *testing.T) {
	_, _, problems := resolve(newLayer(), newLayer(), Sources{Environ: []string{"PACELINE_ACCOUNTS__CODEX__HOME=~/x"}})
	want := []string{`environment: PACELINE_ACCOUNTS__CODEX__HOME is "~/x", and no home directory is known | write the path in full`}
	if diff := cmp.Diff(want, told(problems)); diff != "" {
		t.Error(diff)
	}
}

func TestNamesAreInOrder(t *testing.T) {
	got := said{user: office}.policy(t).Names()
	if diff := cmp.Diff([]string{"claude", "codex", "office"}, got); diff != "" {
		t.Error(diff)
	}
}
