package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/stall"
)

// kind is the form that a key's value has.
type kind uint8

const (
	text kind = iota
	truth
	number
	list
)

var kindNames = []string{"a string", "true or false", "a whole number", "a list of strings"}

func (k kind) String() string { return word(kindNames, uint8(k)) }

// rule says what a repository's file may do with a key.
type rule uint8

const (
	operator rule = iota // nothing: it is the operator's
	narrow               // set it to something no wider than what holds without it
)

// anyName stands in a key's name for a name that people choose.
const anyName = "*"

// key is one thing that can be set.
type key struct {
	name string
	// about says in a sentence what it is for; the schema carries it.
	about string
	kind  kind
	rule  rule
	// words are all the values of a text, the narrowest first.
	words []string
	// pattern is as much of what clean checks as an editor can know.
	pattern string
	// clean checks a text, or each entry of a list, and returns its full form.
	clean func(s, home string) (string, *fault)
	// stands is the default where it is not in standing.
	stands string
	// least and most bound a number; 0 is no bound, but that none is negative.
	least, most int
	// secret values are shown nowhere, or only in part by what shown returns.
	secret bool
	shown  func(s string) string
	// set is called with the name that anyName stands for, "" where there is none.
	set func(p *Policy, name string, v value)
}

// keys is everything that can be set, in the order in which it is shown.
var keys = slices.Concat(general, healths, silences())

var general = []key{
	{
		name: "mode", rule: narrow, words: []string{"read", "ask", "edit", "full"},
		about: "What a run may do, unless --mode says it.",
		set:   func(p *Policy, _ string, v value) { must(p.Mode.UnmarshalText([]byte(v.text))) },
	},

	{
		name: "chain.default", kind: list, clean: engine,
		about: "The engines that may serve a new thread, in this order: an account, or account:model. Standing here is consent to send an engine what the thread is about.",
		set:   func(p *Policy, _ string, v value) { p.Chain = engines(v.texts()) },
	},

	{
		name: "fallback.enabled", kind: truth, rule: narrow,
		about: "Whether work may move to another engine at all.",
		set:   func(p *Policy, _ string, v value) { p.Fallback.Enabled = v.truth },
	},
	{
		name: "fallback.max_hops", kind: number, rule: narrow,
		about: "How many times one message may move; 0 is the chain's length.",
		set:   func(p *Policy, _ string, v value) { p.Fallback.MaxHops = v.number },
	},
	{
		name: "fallback.weaker", rule: narrow, words: weakerNames,
		about: "What becomes of an engine that would hold a run less tightly: it is passed over, or used and told.",
		set: func(p *Policy, _ string, v value) {
			p.Fallback.Weaker = place.Weaker(slices.Index(weakerNames, v.text))
		},
	},
	{
		name: "fallback.overage", rule: narrow, words: overageNames,
		about: "What to do when a subscription begins to cost extra.",
		set:   func(p *Policy, _ string, v value) { must(p.Fallback.Overage.UnmarshalText([]byte(v.text))) },
	},
	{
		name: "fallback.rollover", rule: narrow, words: rolloverNames,
		about: "When work that was begun goes on elsewhere, with a packet: where every effect has settled, always, or never.",
		set:   func(p *Policy, _ string, v value) { must(p.Fallback.Rollover.UnmarshalText([]byte(v.text))) },
	},

	{
		name: "containment.writable", kind: list, clean: absolute,
		about: "Further folders, in full or from ~/, that runs in ask and edit mode may write to.",
		set:   func(p *Policy, _ string, v value) { p.Writable = v.texts() },
	},
	{
		name: "env.pass", kind: list, clean: passable,
		about: "Names of further variables that the engines' programs get.",
		set:   func(p *Policy, _ string, v value) { p.Pass = v.texts() },
	},

	// It runs as the operator, outside of every cage.
	{
		name: "notify.command", clean: command,
		about: "A shell command that is run when work moves, waits or ends.",
		set:   func(p *Policy, _ string, v value) { p.Notify = v.text },
	},

	// Whoever names the database is told of every prompt.
	{
		name: "store.url", clean: database, secret: true, shown: passwordless,
		about: "A PostgreSQL database that keeps the state instead of a file.",
		set:   func(p *Policy, _ string, v value) { p.Store = v.text },
	},

	{
		name: "vendors.*.several_accounts", words: []string{"mine"},
		about: "That several accounts of this vendor are yours; needed before two of them share a chain.",
		set:   func(*Policy, string, value) {},
	}, // it permits a chain, see validate

	{
		name: "accounts.*.harness", words: slices.Concat(harnesses, declared),
		about: "The program that the account signs in with.",
		set:   account(func(a *paceline.Account, v value) { a.Harness, a.Vendor = v.text, vendors[v.text] }),
	},
	{
		name: "accounts.*.command", clean: command,
		about: "The command that starts an agent which speaks ACP.",
		set:   account(func(a *paceline.Account, v value) { a.Command = v.text }),
	},
	{
		name: "accounts.*.home", clean: absolute,
		about: "The program's own folder for this account, in full or from ~/.",
		set:   account(func(a *paceline.Account, v value) { a.Home = v.text }),
	},
	{
		name: "accounts.*.posture", words: []string{"subscription", "metered", "local"},
		about: "How the account pays; without it, the program is asked.",
		set:   account(func(a *paceline.Account, v value) { must(a.Posture.UnmarshalText([]byte(v.text))) }),
	},
	{
		name: "accounts.*.key_env", clean: keyVariable, secret: true, shown: whole,
		about: "The variable that holds the key of a metered account; never the key.",
		set:   account(func(a *paceline.Account, v value) { a.KeyEnv = v.text }),
	},
	{
		name: "accounts.*.key_command", clean: command, secret: true, shown: hidden,
		about: "A command that prints the key of a metered account.",
		set:   account(func(a *paceline.Account, v value) { a.KeyCmd = v.text }),
	},
	{
		name: "accounts.*.base_url", clean: endpoint, secret: true, shown: hostPort,
		about: "An address that stands in for the vendor's API.",
		set:   account(func(a *paceline.Account, v value) { a.BaseURL = v.text }),
	},
	{
		name: "accounts.*.enabled", kind: truth,
		about: "Whether the account may serve at all.",
		set:   account(func(a *paceline.Account, v value) { a.Disabled = !v.truth }),
	},
	{
		name: "accounts.*.capacity", words: capacityNames,
		about: "How large a task the account is meant for.",
		set: func(p *Policy, name string, v value) {
			if v.text == CapacityFull.String() {
				return
			}
			if p.Capacity == nil {
				p.Capacity = map[string]Capacity{}
			}
			p.Capacity[name] = CapacitySmallOnly
		},
	},
}

// harnesses are the programs of which each is an account of its own name.
var harnesses = []string{"claude", "codex"}

// declared are those that serve only accounts which somebody wrote down: the
// agents that speak ACP do not say whose money they spend, and agy's vendor may
// mind. "acp" is a user's own.
var declared = []string{"agy", "gemini", "opencode", "qwen", "copilot", "grok", "kimi", "claude-acp", "codex-acp", "acp"}

// vendors tells whose account a harness signs in to. Of opencode and of a user's
// own agent nobody knows.
var vendors = map[string]string{
	"claude": "anthropic", "codex": "openai", "claude-acp": "anthropic", "codex-acp": "openai",
	"agy": "google", "gemini": "google", "qwen": "alibaba", "copilot": "github", "grok": "xai", "kimi": "moonshot",
}

func account(set func(*paceline.Account, value)) func(*Policy, string, value) {
	return func(p *Policy, name string, v value) {
		a := p.Accounts[name]
		a.Name = name
		set(&a, v)
		p.Accounts[name] = a
	}
}

// silences are how long each harness may be silent. Their names are fixed, so
// that a misspelt one is found.
func silences() (out []key) {
	for _, h := range slices.Concat(harnesses, []string{"acp"}) { // all that speak it
		for _, b := range []struct {
			name, about string
			of          func(*stall.Bounds) *time.Duration
		}{
			{"first", "How long %s may take until it is first heard of.", func(b *stall.Bounds) *time.Duration { return &b.First }},
			{"progress", "How long %s may be silent while it works.", func(b *stall.Bounds) *time.Duration { return &b.Progress }},
			{"tool", "How long %s may be silent while one of its tools runs.", func(b *stall.Bounds) *time.Duration { return &b.Tool }},
			{"grace", "How much longer than announced a retry of %s may take.", func(b *stall.Bounds) *time.Duration { return &b.Grace }},
		} {
			standing := stall.Bounds{}.Or(h)
			out = append(out, key{name: "stall." + h + "." + b.name, about: fmt.Sprintf(b.about, h), clean: span, pattern: spanPattern, stands: b.of(&standing).String(), set: func(p *Policy, _ string, v value) {
				d, err := time.ParseDuration(v.text)
				must(err)
				bounds := p.Stall[h]
				*b.of(&bounds) = d
				if p.Stall == nil {
					p.Stall = map[string]stall.Bounds{}
				}
				p.Stall[h] = bounds
			}})
		}
	}
	return out
}

// must is for words that the table has already checked.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (k *key) path() []string { return strings.Split(k.name, ".") }

// named is k for one of the names that people choose.
func (k *key) named(name string) []string {
	path := k.path()
	for i := range path {
		if path[i] == anyName {
			path[i] = name
		}
	}
	return path
}

// found is what a path leads to.
type found uint8

const (
	unknown found = iota // no key: path[depth] is the first part that is none
	leaf                 // a key
	table                // a table of keys
	beyond               // past a key: path[:depth] is one
)

// lookup follows a path through the table of keys.
func lookup(path []string) (k *key, what found, depth int) {
	for i := range keys {
		parts := keys[i].path()
		n := common(parts, path)
		switch {
		case n == len(parts) && n == len(path):
			return &keys[i], leaf, n
		case n == len(parts):
			return &keys[i], beyond, n
		case n == len(path):
			what, depth = table, n
		case what == unknown:
			depth = max(depth, n)
		}
	}
	return nil, what, depth
}

// common counts the leading parts of a path that a key's own parts allow.
func common(parts, path []string) int {
	n := 0
	for n < len(parts) && n < len(path) && (parts[n] == path[n] || parts[n] == anyName) {
		n++
	}
	return n
}

// children are the names that may follow a known path.
func children(path []string) []string {
	var out []string
	for i := range keys {
		parts := keys[i].path()
		if n := len(path); len(parts) > n && common(parts, path) == n && parts[n] != anyName && !slices.Contains(out, parts[n]) {
			out = append(out, parts[n])
		}
	}
	return out
}

// meant is the key that an unknown path[depth] was probably meant to be: a
// neighbour of nearly that name, or else a key of that name elsewhere, since a
// line is easily put below the wrong heading. It is "" where there is none.
func meant(path []string, depth int) string {
	name := path[depth]
	if near := Nearest(name, children(path[:depth])); near != "" {
		return spell(append(slices.Clone(path[:depth]), near))
	}
	for i := range keys {
		parts := keys[i].path()
		if parts[len(parts)-1] == name {
			return strings.ReplaceAll(keys[i].name, anyName, "NAME")
		}
	}
	var tails []string
	for i := range keys {
		parts := keys[i].path()
		tails = append(tails, parts[len(parts)-1])
	}
	if i := slices.Index(tails, Nearest(name, tails)); i >= 0 {
		return strings.ReplaceAll(keys[i].name, anyName, "NAME")
	}
	return ""
}
