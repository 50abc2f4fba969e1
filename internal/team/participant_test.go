package team

import (
	"slices"
	"strings"
	"testing"

	"github.com/paceline/paceline"
)

func TestParse(t *testing.T) {
	engines := func(s string) (out []paceline.Engine) {
		for _, e := range strings.Fields(s) {
			out = append(out, eng(e))
		}
		return out
	}
	for name, c := range map[string]struct{ text, chain string }{
		"A8 A14 AutoDev's own example":                         {"---\nprovider: claude\nfailover: [codex, claude]\n---\nYou lead.\n", "claude codex"},
		"A12 the pin is the primary's, and no hop carries it":  {"---\nprovider: claude\nmodel: opus\nfailover: [codex, claude]\n---\n", "claude:opus codex claude"},
		"A12 an entry may name a model itself":                 {"---\naccount: office\nfailover:\n  - claude:haiku\n  - \"codex\" # the last\n---\n", "office claude:haiku codex"},
		"A13 there is no default chain":                        {"---\nprovider: codex\n---\n", "codex"},
		"A0 antigravity is agy":                                {"---\nprovider: antigravity\nfailover: [antigravity:gemini-3.8-flash-low]\n---\n", "agy agy:gemini-3.8-flash-low"},
		"A8 lines of Windows, and a byte order mark":           {"\ufeff---\r\nprovider: 'claude'\r\n---\r\nRole.\r\n", "claude"},
		"A8 a model behind its provider":                       {"---\nprovider: claude:opus\n---\n", "claude:opus"},
		"A8 settings of other programs, nested ones, are left": {"---\nname: The Lead\nprovider: claude\npermissions:\n  allow: [all]\n  provider: codex\n---\n", "claude"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("lead", c.text)
			if err != nil || !slices.Equal(p.Chain, engines(c.chain)) || p.Off || p.Mode != nil {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	t.Run("A8 mode, enabled and the role", func(t *testing.T) {
		p, err := Parse("critic", "---\nprovider: codex\nmode: read\nenabled: false\neffort: high\n---\n\nYou review.\n---\nNever push.\n")
		if err != nil || !p.Off || p.In(paceline.ModeEdit) != paceline.ModeRead || p.Role != "You review.\n---\nNever push." || !slices.Equal(p.Unused, []string{"effort"}) {
			t.Errorf("%+v, %v", p, err)
		}
	})
	for text, want := range map[string]string{
		"provider: claude\n":                             "line 1:",
		"---\nprovider: claude\n":                        "no end",
		"---\nmodel: opus\n---\n":                        "no provider",
		"---\nprovider: claude\nmode: loud\n---\n":       "line 3: mode:",
		"---\nprovider: claude\nfailover: [:x]\n---\n":   "line 3: failover:",
		"---\nprovider: claude\nenabled: perhaps\n---\n": "line 3: enabled:",
		"---\nprovider: [a, b]\n---\n":                   "one name",
		"---\nprovider: claude\nwhat is this\n---\n":     "line 3:",
	} {
		t.Run("A file that cannot be read says where: "+want, func(t *testing.T) {
			if _, err := Parse("lead", text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	for _, id := range []string{"", "user", "A", "a b", "../x", "paceline"} {
		if _, err := Parse(id, "---\nprovider: claude\n---\n"); err == nil {
			t.Errorf("a participant is named %q", id)
		}
	}
}

func TestWidens(t *testing.T) {
	mode := func(m paceline.Mode) *paceline.Mode { return &m }
	chain := []paceline.Engine{eng("claude"), eng("codex")}
	for name, c := range map[string]struct {
		p    Participant
		want string
	}{
		"P6 one that stays within needs nobody's word":  {Participant{Chain: chain[1:], Mode: mode(paceline.ModeRead)}, ""},
		"P6 an engine that its user did not name":       {Participant{Chain: []paceline.Engine{eng("agy")}}, "agy"},
		"P6 another model may be dearer":                {Participant{Chain: []paceline.Engine{eng("claude:opus")}}, "claude:opus"},
		"P6 more than the user's mode":                  {Participant{Chain: chain, Mode: mode(paceline.ModeFull)}, "its mode is full, and yours is edit"},
		"P6 one further down its chain counts like any": {Participant{Chain: []paceline.Engine{eng("claude"), eng("agy")}}, "agy"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(c.p.Widens(paceline.ModeEdit, chain), "; ")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q", got)
			}
		})
	}
}
