package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/store"
)

// Refusal is what a person is told: what happened, then what to try.
type Refusal struct {
	Msg  string `json:"msg"`
	Hint string `json:"hint,omitempty"` // "" where there is nothing to try
	Code int    `json:"code"`           // the exit code
	// Untrusted is what somebody must agree to first; nil where that is not it.
	Untrusted *Untrusted `json:"untrusted,omitempty"`
}

func (r *Refusal) Error() string { return r.Msg }

// Begin makes a thread, which Accept then puts on record with its first
// message. Where the policy names no chain, it is the first harness that is
// installed and signed in. What cannot begin is a *Refusal.
func (s *Supervisor) Begin(ctx context.Context, dir, tree, prompt string, policy config.Policy, env harness.Environment) (store.Thread, error) {
	chain := policy.Chain
	if len(chain) == 0 {
		e, err := s.first(ctx, policy, env)
		if err != nil {
			return store.Thread{}, err
		}
		chain = []paceline.Engine{e}
	}
	if err := usable(chain, policy, env); err != nil {
		return store.Thread{}, err
	}
	now := time.Now()
	th := store.Thread{
		ID: paceline.ThreadID(store.NewID("t")), Dir: dir, Tree: tree, Title: titled(prompt),
		Mode: policy.Mode, Chain: chain, Env: env.Public(), Created: now, Updated: now,
	}
	return th, th.SetPolicy(policy)
}

// first is the first harness, in the order claude, codex, that is installed and
// signed in.
func (s *Supervisor) first(ctx context.Context, policy config.Policy, env harness.Environment) (paceline.Engine, error) {
	var notes []string
	installed := false
	for _, h := range harness.All() {
		a, ok := policy.Accounts[h.Name()]
		if !ok || a.Disabled {
			continue
		}
		p := s.accounts.look(ctx, h, a, env)
		if p.Note == "" {
			return paceline.Engine{Account: a.Name}, nil
		}
		_, err := h.Find(env)
		installed = installed || !errors.Is(err, harness.ErrNotInstalled)
		notes = append(notes, h.Name()+": "+p.Note)
	}
	code := 4
	if !installed {
		code = 2
	}
	return paceline.Engine{}, &Refusal{Msg: "no engine is ready", Hint: strings.Join(notes, "\n"), Code: code}
}

// usable refuses a chain of which nothing is installed.
func usable(chain []paceline.Engine, policy config.Policy, env harness.Environment) error {
	var notes []string
	for _, e := range chain {
		a := policy.Accounts[e.Account]
		h, ok := harness.Named(a.Harness)
		if !ok {
			notes = append(notes, fmt.Sprintf("%s: this build does not drive %q", e, a.Harness))
			continue
		}
		_, err := h.Find(env)
		switch {
		case a.Disabled:
			notes = append(notes, fmt.Sprintf("%s is disabled", e))
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s is not installed: %s", e, h.Install()))
		default:
			return nil
		}
	}
	return &Refusal{Msg: "nothing in the chain can be used", Hint: strings.Join(notes, "\n"), Code: 2}
}

// titled makes a thread's title of its first prompt: one short line.
func titled(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	if r := []rune(line); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return line
}
