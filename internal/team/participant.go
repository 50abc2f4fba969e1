package team

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paceline/paceline"
)

// A participant is a file, .paceline/participants/<id>.md: its settings between
// two lines of dashes, and below them its role.
//
//	---
//	provider: claude            # or account
//	model: opus                 # of that provider, and of no other
//	failover: [codex, claude]   # provider[:model], in order; none is the default
//	mode: read
//	enabled: true
//	---
//	You review what the others wrote.

// Participant is what such a file says.
type Participant struct {
	ID    string            `json:"id"`
	Chain []paceline.Engine `json:"chain"`          // its own engine first
	Mode  *paceline.Mode    `json:"mode,omitempty"` // nil is the team's
	Off   bool              `json:"off,omitempty"`  // enabled: false
	Role  string            `json:"role"`
	// Unused are settings that mean nothing here. Files of other programs are read
	// as they are.
	Unused []string `json:"unused,omitempty"`
}

// reserved are the names of those who are no participants.
var reserved = []string{"user", "paceline", "all", "everyone"}

// providers are names of other programs for our accounts.
var providers = map[string]string{"antigravity": "agy", "claude-code": "claude", "anthropic": "claude", "openai": "codex"}

// CheckID refuses what cannot be addressed.
func CheckID(id string) error {
	switch {
	case id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "":
		return fmt.Errorf("a participant's name %q has other characters than a-z, 0-9, - and _", id)
	case slices.Contains(reserved, id):
		return fmt.Errorf("a participant cannot be named %q", id)
	}
	return nil
}

// Parse reads a participant's file.
func Parse(id, text string) (Participant, error) {
	p := Participant{ID: id}
	if err := CheckID(id); err != nil {
		return p, err
	}
	settings, role, err := parts(text)
	if err != nil {
		return p, err
	}
	p.Role = strings.TrimSpace(role)
	var own paceline.Engine
	var chain []paceline.Engine
	for _, s := range settings {
		switch s.key {
		case "provider", "account":
			own.Account, err = s.word()
			if renamed := providers[own.Account]; renamed != "" {
				own.Account = renamed
			}
		case "model":
			own.Model, err = s.word()
		case "failover":
			chain, err = s.engines()
		case "mode":
			var m paceline.Mode
			if err = m.UnmarshalText([]byte(strings.Join(s.values, " "))); err == nil {
				p.Mode = &m
			}
		case "enabled":
			switch v := strings.Join(s.values, " "); v {
			case "true", "yes":
			case "false", "no":
				p.Off = true
			default:
				err = fmt.Errorf("%q is neither true nor false", v)
			}
		default:
			p.Unused = append(p.Unused, s.key)
		}
		if err != nil {
			return p, fmt.Errorf("line %d: %s: %w", s.line, s.key, err)
		}
	}
	if account, model, ok := strings.Cut(own.Account, ":"); ok && own.Model == "" {
		own = paceline.Engine{Account: account, Model: model}
	}
	if !own.Valid() {
		return p, fmt.Errorf("it names no provider")
	}
	p.Chain = []paceline.Engine{own}
	for _, e := range chain {
		if !slices.Contains(p.Chain, e) {
			p.Chain = append(p.Chain, e)
		}
	}
	return p, nil
}

// setting is one of a file's, with the line that it stands in.
type setting struct {
	key    string
	values []string
	line   int
}

func (s setting) word() (string, error) {
	if len(s.values) != 1 {
		return "", fmt.Errorf("it takes one name, and got %q", s.values)
	}
	return s.values[0], nil
}

func (s setting) engines() (out []paceline.Engine, err error) {
	for _, v := range s.values {
		e, err := paceline.ParseEngine(v)
		if err != nil {
			return nil, err
		}
		if renamed := providers[e.Account]; renamed != "" {
			e.Account = renamed
		}
		out = append(out, e)
	}
	return out, nil
}

// parts cuts a file into its settings and its role. It knows as much of YAML as
// such files use: words, and lists in one line or in several.
func parts(text string) (out []setting, role string, err error) {
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return nil, "", fmt.Errorf("line 1: it does not begin with a line of three dashes")
	}
	for i, line := range lines[1:] {
		bare := strings.TrimSpace(line)
		indented := bare != strings.TrimRight(line, " \t")
		key, value, ok := strings.Cut(bare, ":")
		switch {
		case !indented && bare == "---":
			return out, strings.Join(lines[i+2:], "\n"), nil
		case bare == "" || bare[0] == '#':
		case strings.HasPrefix(bare, "- ") && len(out) > 0:
			last := &out[len(out)-1]
			last.values = append(last.values, unquoted(bare[2:]))
		case indented: // a part of a setting that is read by other programs
		case !ok:
			return nil, "", fmt.Errorf("line %d: %q is no setting: name: value", i+2, bare)
		default:
			out = append(out, setting{key: strings.TrimSpace(key), values: values(value), line: i + 2})
		}
	}
	return nil, "", fmt.Errorf("its settings have no end: a line of three dashes")
}

func values(s string) (out []string) {
	s = uncommented(s)
	inner, list := strings.CutPrefix(s, "[")
	if !list {
		if s = unquoted(s); s != "" {
			out = []string{s}
		}
		return out
	}
	for v := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
		if v = unquoted(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

func uncommented(s string) string {
	if i := strings.Index(s, " #"); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSpace(s)
}

func unquoted(s string) string {
	s = uncommented(s)
	for _, q := range []string{`"`, "'"} {
		if len(s) >= 2 && strings.HasPrefix(s, q) && strings.HasSuffix(s, q) {
			return s[1 : len(s)-1]
		}
	}
	return s
}

// Widens says in what a participant goes beyond what its user configured: the
// file lies in the project and is somebody else's text, so it only narrows until
// its user has agreed to it.
func (p Participant) Widens(mode paceline.Mode, chain []paceline.Engine) (out []string) {
	for _, e := range p.Chain {
		if !slices.Contains(chain, e) {
			out = append(out, fmt.Sprintf("it runs on %s, which your chain does not name", e))
		}
	}
	if p.Mode != nil && *p.Mode > mode {
		out = append(out, fmt.Sprintf("its mode is %s, and yours is %s", *p.Mode, mode))
	}
	return out
}

// In is the mode of its rounds in a team of that mode.
func (p Participant) In(mode paceline.Mode) paceline.Mode {
	if p.Mode != nil {
		return *p.Mode
	}
	return mode
}
