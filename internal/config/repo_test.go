package config

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/paceline/paceline"
)

func TestRepositoryFile(t *testing.T) {
	const widen = " | leave it out here, or set the wider value in your own configuration file"
	for _, c := range []struct {
		name string
		said said
		want []string // problems
		mode paceline.Mode
	}{
		{"Z8 a repository file may narrow the mode", said{repo: "mode = \"read\"\n"}, nil, paceline.ModeRead},
		{
			"Z8 and never widen it",
			said{repo: "\nmode = \"full\"\n"},
			[]string{`repo.toml:2:8: a repository file may narrow mode, never widen it: it is "edit" already, and this says "full"` + widen},
			0,
		},
		{"what it may do depends on what holds without it", said{user: "mode = \"full\"\n", repo: "mode = \"edit\"\n"}, nil, paceline.ModeEdit},
		{"to repeat what holds widens nothing", said{user: "mode = \"full\"\n", repo: "mode = \"full\"\n"}, nil, paceline.ModeFull},
		{
			"a narrower user is not widened to the default",
			said{user: "mode = \"ask\"\n", repo: "mode = \"edit\"\n"},
			[]string{`repo.toml:1:8: a repository file may narrow mode, never widen it: it is "ask" already, and this says "edit"` + widen},
			0,
		},
		{"the environment is the operator's last word", said{repo: "mode = \"read\"\n", env: []string{"PACELINE_MODE=full"}}, nil, paceline.ModeFull},
		{
			"but does not excuse a file that widens",
			said{repo: "mode = \"full\"\n", env: []string{"PACELINE_MODE=full"}},
			[]string{`repo.toml:1:8: a repository file may narrow mode, never widen it: it is "edit" already, and this says "full"` + widen},
			0,
		},
		{
			"every other key that narrows is held the same way",
			said{
				user: "[fallback]\nenabled = false\nmax_hops = 2\noverage = \"stop\"\nrollover = \"off\"\n",
				repo: "[fallback]\nenabled = true\nmax_hops = 3\nweaker = \"announce\"\noverage = \"announce\"\nrollover = \"settled\"\n",
			},
			[]string{
				"repo.toml:2:11: a repository file may narrow fallback.enabled, never widen it: it is false already, and this says true" + widen,
				"repo.toml:3:12: a repository file may narrow fallback.max_hops, never widen it: it is 2 already, and this says 3" + widen,
				`repo.toml:4:10: a repository file may narrow fallback.weaker, never widen it: it is "skip" already, and this says "announce"` + widen,
				`repo.toml:5:11: a repository file may narrow fallback.overage, never widen it: it is "stop" already, and this says "announce"` + widen,
				`repo.toml:6:12: a repository file may narrow fallback.rollover, never widen it: it is "off" already, and this says "settled"` + widen,
			},
			0,
		},
		{
			"no bound at all is the widest",
			said{user: "fallback.max_hops = 9\n", repo: "fallback.max_hops = 0\n"},
			[]string{"repo.toml:1:21: a repository file may narrow fallback.max_hops, never widen it: it is 9 already, and this says 0" + widen},
			0,
		},
		{
			"Z8 Z85 a repository lowers, shortens and disables, and never raises or enables",
			said{
				user: "[fallback.health]\nenabled = false\ndegrade_ttft_ms = 5000\n",
				repo: "[fallback.health]\nenabled = true\nopen_after_failures = 4\nwindow_secs = 601\ncooldown_secs = 299\ndegrade_ttft_ms = 5001\n",
			},
			[]string{
				"repo.toml:2:11: a repository file may narrow fallback.health.enabled, never widen it: it is false already, and this says true" + widen,
				"repo.toml:3:23: a repository file may narrow fallback.health.open_after_failures, never widen it: it is 3 already, and this says 4" + widen,
				"repo.toml:4:15: a repository file may narrow fallback.health.window_secs, never widen it: it is 600 already, and this says 601" + widen,
				"repo.toml:6:19: a repository file may narrow fallback.health.degrade_ttft_ms, never widen it: it is 5000 already, and this says 5001" + widen,
			},
			0,
		},
		{
			"paid overage is not a repository's to use",
			said{repo: "fallback.overage = \"use\"\n"},
			[]string{`repo.toml:1:20: a repository file may narrow fallback.overage, never widen it: it is "announce" already, and this says "use"` + widen},
			0,
		},
		{
			"an account without a line is refused by its heading",
			said{repo: "[accounts.codex]\n"},
			[]string{"repo.toml:1:11: a repository file may not set accounts.codex | " + yours},
			0,
		},
		{
			"and does not become one that a chain could name",
			said{repo: "[accounts.x]\n", env: []string{"PACELINE_CHAIN__DEFAULT=x"}},
			[]string{
				"repo.toml:1:11: a repository file may not set accounts.x | " + yours,
				`environment: PACELINE_CHAIN__DEFAULT names "x", which is no account | declare it as [accounts.x]; there are claude, codex`,
			},
			0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _, problems := c.said.resolve()
			if diff := cmp.Diff(c.want, told(problems)); diff != "" {
				t.Error(diff)
			}
			if p.Mode != c.mode {
				t.Errorf("the mode is %s, want %s", p.Mode, c.mode)
			}
		})
	}
}

// samples are a right value for each key that is the operator's.
var samples = map[string]string{
	"chain.default": `["claude"]`, "containment.writable": `["/x"]`, "env.pass": `["X"]`,
	"notify.command":             `"x"`,
	"store.url":                  `"postgres://db/x"`,
	"vendors.*.several_accounts": `"mine"`,
	"accounts.*.harness":         `"codex"`, "accounts.*.home": `"/x"`, "accounts.*.posture": `"metered"`,
	"accounts.*.key_env": `"K"`, "accounts.*.key_command": `"x"`, "accounts.*.base_url": `"http://x"`,
	"stall.claude.first": `"1m"`, "stall.claude.progress": `"1m"`, "stall.claude.tool": `"1m"`, "stall.claude.grace": `"1m"`,
	"stall.codex.first": `"1m"`, "stall.codex.progress": `"1m"`, "stall.codex.tool": `"1m"`, "stall.codex.grace": `"1m"`,
	"stall.acp.first": `"1m"`, "stall.acp.progress": `"1m"`, "stall.acp.tool": `"1m"`, "stall.acp.grace": `"1m"`,
	"accounts.*.command": `"x"`, "accounts.*.enabled": `false`, "accounts.*.capacity": `"full"`,
}

func TestEveryOperatorKeyIsRefusedByName(t *testing.T) {
	for _, k := range keys {
		if k.rule == narrow {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			sample, ok := samples[k.name]
			if !ok {
				t.Fatal("no sample: say what a right value is, or why a repository may set it")
			}
			path := strings.ReplaceAll(k.name, "*", "openai")
			_, _, problems := said{repo: "\n\n" + path + " = " + sample + "\n"}.resolve()
			if len(problems) != 1 || problems[0].Line != 3 || problems[0].What != "a repository file may not set "+path || problems[0].Key != path {
				t.Errorf("%s: %v", path, problems)
			}
		})
	}
}

// TestARepositoryNeverWidens lets repositories say anything: what loads is no
// wider than what holds without it.
func TestARepositoryNeverWidens(t *testing.T) {
	loaded := 0
	rapid.Check(t, func(t *rapid.T) {
		s := said{user: settings(t, "user"), env: variables(t)}
		without, _, problems := s.resolve()
		if len(problems) > 0 {
			t.Fatalf("the user's own layers are wrong: %v\n%s\n%s", problems, s.user, s.env)
		}
		s.repo = settings(t, "repo")
		if rapid.Bool().Draw(t, "operator key") {
			s.repo = foreign(t) + s.repo
		}
		with, _, problems := s.resolve()
		if len(problems) > 0 {
			return // refused, which is the other way of not widening
		}
		loaded++
		if with.Mode > without.Mode {
			t.Errorf("mode went from %s to %s", without.Mode, with.Mode)
		}
		a, b := without.Fallback, with.Fallback
		if b.Enabled && !a.Enabled || bound(b.MaxHops) > bound(a.MaxHops) || b.Weaker > a.Weaker || b.Overage > a.Overage || b.Rollover > a.Rollover {
			t.Errorf("the fallback went from %+v to %+v", a, b)
		}
		h, g := a.Health, b.Health
		if g.Enabled && !h.Enabled || g.OpenAfter > h.OpenAfter || g.Window > h.Window || g.Cooldown > h.Cooldown ||
			g.ErrorPct > h.ErrorPct || g.MinSamples > h.MinSamples || bound(int(g.TTFT)) > bound(int(h.TTFT)) {
			t.Errorf("health went from %+v to %+v", h, g)
		}
		with.Mode, with.Fallback = without.Mode, without.Fallback
		if diff := cmp.Diff(without, with, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("a repository changed what is the operator's:\n%s", diff)
		}
	})
	if loaded == 0 {
		t.Error("no repository's file was ever accepted, so nothing was tried")
	}
}

func bound(hops int) int {
	if hops == 0 {
		return math.MaxInt
	}
	return hops
}

// settings draws a file of keys that narrow.
func settings(t *rapid.T, layer string) string {
	var b strings.Builder
	for _, k := range keys {
		if k.rule == narrow && rapid.IntRange(0, 2).Draw(t, layer+" sets "+k.name) == 0 {
			fmt.Fprintf(&b, "%s = %s\n", k.name, literal(&k, draw(t, layer, k)))
		}
	}
	return b.String()
}

// variables draws an environment of the same keys.
func variables(t *rapid.T) []string {
	var out []string
	for _, k := range keys {
		if k.rule == narrow && rapid.IntRange(0, 5).Draw(t, "environment sets "+k.name) == 0 {
			out = append(out, envName(k.path())+"="+strings.Trim(literal(&k, draw(t, "environment", k)), `"`))
		}
	}
	return out
}

func draw(t *rapid.T, layer string, k key) value {
	label := layer + " " + k.name
	switch k.kind {
	case truth:
		return value{truth: rapid.Bool().Draw(t, label)}
	case number:
		return value{number: k.least + rapid.IntRange(0, 4).Draw(t, label)}
	}
	return value{text: rapid.SampledFrom(k.words).Draw(t, label)}
}

// foreign draws a key that no repository may set, in any of its spellings.
func foreign(t *rapid.T) string {
	var lines []string
	for _, k := range keys {
		if sample, ok := samples[k.name]; ok {
			path := strings.Split(strings.ReplaceAll(k.name, "*", "openai"), ".")
			tail := path[len(path)-1]
			lines = append(lines,
				strings.Join(path, ".")+" = "+sample+"\n",
				strings.Join(path[:len(path)-1], ".")+" = { "+tail+" = "+sample+" }\n",
				"\""+path[0]+"\" . '"+strings.Join(path[1:], "'.'")+"' = "+sample+"\n")
		}
	}
	return rapid.SampledFrom(lines).Draw(t, "foreign")
}
