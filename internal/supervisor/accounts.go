package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/logkey"
	"github.com/paceline/paceline/internal/store"
)

// accounts remembers what programs said of their accounts. Asking starts a
// process, so an answer is kept, on disk too, until a file that it rests on
// changes.
type accounts struct {
	store *store.Store
	log   *slog.Logger

	mu    sync.Mutex
	known map[string]store.AccountRow
}

// fresh is how long an answer is believed although nothing changed on disk: a
// keychain changes without a trace.
const fresh = 12 * time.Hour

// asking is how long a program may take to say who is signed in.
const asking = 20 * time.Second

func newAccounts(st *store.Store, log *slog.Logger) *accounts {
	return &accounts{store: st, log: log, known: map[string]store.AccountRow{}}
}

// look returns what is known of an account, asking its program where needed.
func (a *accounts) look(ctx context.Context, h harness.Harness, acc paceline.Account, env harness.Environment) harness.Probed {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := stamp(h, acc, env)
	if r, ok := a.remembered(ctx, acc.Name); ok && r.Stamp == now && time.Since(r.Seen) < fresh {
		return harness.Probed{SignedIn: r.SignedIn, Posture: r.Posture, Note: r.Note}
	}
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	p, err := h.Probe(ctx, acc, env)
	if ctx.Err() != nil {
		return harness.Probed{Note: "it does not say whether it is signed in"}
	}
	r := store.AccountRow{
		Name: acc.Name, Harness: h.Name(), SignedIn: p.SignedIn, Posture: p.Posture, Note: p.Note,
		// The stamp is taken again: asking may itself touch the files.
		Stamp: stamp(h, acc, env), Seen: time.Now(),
	}
	if err == nil {
		a.keep(ctx, r)
	}
	return p
}

func (a *accounts) remembered(ctx context.Context, name string) (store.AccountRow, bool) {
	if r, ok := a.known[name]; ok {
		return r, true
	}
	rows, err := a.store.Accounts(ctx)
	if err != nil {
		return store.AccountRow{}, false
	}
	for _, r := range rows {
		a.known[r.Name] = r
	}
	r, ok := a.known[name]
	return r, ok
}

// opened keeps what a child said of its account when it opened a conversation.
func (a *accounts) opened(ctx context.Context, h harness.Harness, acc paceline.Account, env harness.Environment, o harness.Opened) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, _ := a.remembered(ctx, acc.Name)
	if o.Version == "" {
		o.Version = r.Version
	}
	if r.Version == o.Version && r.Posture == o.Posture && r.SignedIn == !o.SignedOut && r.Note == "" {
		return
	}
	r.Name, r.Harness, r.Version, r.SignedIn, r.Note = acc.Name, h.Name(), o.Version, !o.SignedOut, ""
	if o.Posture != paceline.PostureUnknown {
		r.Posture = o.Posture
	}
	r.Stamp, r.Seen = stamp(h, acc, env), time.Now()
	a.keep(ctx, r)
}

// forget makes the next look ask again.
func (a *accounts) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.known[name]
	r.Name, r.Stamp = name, ""
	a.known[name] = r
}

func (a *accounts) keep(ctx context.Context, r store.AccountRow) {
	a.known[r.Name] = r
	err := a.store.InTx(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.PutAccount(ctx, r) })
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "account not kept", slog.Any(logkey.Error, err))
	}
}

// stamp changes when a file changes that a sign-in rests on. Only sizes and
// times are looked at, never contents.
func stamp(h harness.Harness, acc paceline.Account, env harness.Environment) string {
	var b strings.Builder
	path, _ := h.Find(env)
	home := h.Home(acc, env)
	for _, f := range []string{path, filepath.Join(home, ".credentials.json"), filepath.Join(home, "auth.json"), filepath.Join(home, "config.toml")} {
		if info, err := os.Stat(f); err == nil {
			fmt.Fprintf(&b, "%d.%d ", info.Size(), info.ModTime().UnixNano())
		} else {
			b.WriteString("- ")
		}
	}
	fmt.Fprintf(&b, "%s %s %t %s", home, acc.Posture, env.Get("CLAUDE_CODE_OAUTH_TOKEN") != "", acc.BaseURL)
	return b.String()
}
