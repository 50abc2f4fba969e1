package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	scan "github.com/paceline/paceline/internal/usage"
)

// windowStatus is what an account's own files say of one of its usage windows.
// Nobody is asked for it (Z25).
type windowStatus struct {
	Account  string     `json:"account"`
	Window   string     `json:"window"`
	Left     float64    `json:"left_pct"`
	ResetsAt *time.Time `json:"resets_at,omitempty"`
	ReadAt   time.Time  `json:"read_at"`
	Stale    bool       `json:"stale"` // too old to be taken for the present
}

// scans remembers what was read of each account's files, for a status that is
// looked at again and again.
type scans map[string]*scan.Scanner

// windows reads the usage windows that are on disk. One that has reset since it
// was read tells nothing, and is left out.
func (k scans) windows(ctx context.Context, policy config.Policy, env harness.Environment, state string) (out []windowStatus) {
	for _, name := range policy.Names() {
		a := policy.Accounts[name]
		h, ok := harness.Named(a.Harness)
		if !ok || a.Disabled || a.Harness != "codex" {
			continue // no other program's files were seen to hold readings
		}
		if k[name] == nil {
			home := h.Home(a, env)
			k[name] = scan.New(scan.Roots{Codex: []string{filepath.Join(home, "sessions"), filepath.Join(home, "archived_sessions")}},
				filepath.Join(state, "usage-"+name+".index"), time.Local)
		}
		now := time.Now()
		r, err := k[name].Recent(ctx, 0, nil)
		if err != nil {
			continue // what cannot be read is not shown
		}
		for _, w := range r.Limits {
			left, known := w.Headroom(now)
			if !known {
				continue
			}
			if w.Limit == a.Harness {
				w.Limit = "" // its own is called like itself
			}
			row := windowStatus{Account: name, Window: w.Window.String(), Left: left, ReadAt: w.Observed.UTC(), Stale: w.Stale(now)}
			if !w.Resets.IsZero() {
				at := w.Resets.UTC()
				row.ResetsAt = &at
			}
			out = append(out, row)
		}
	}
	return out
}

// line is a window as people read it, with a bar of what is left.
func (w windowStatus) line(now time.Time) string {
	const cells = 20
	full := int(w.Left/100*cells + 0.5)
	line := fmt.Sprintf("%s %s [%s%s] %.0f %% left", w.Account, w.Window, strings.Repeat("#", full), strings.Repeat("-", cells-full), w.Left)
	if w.ResetsAt != nil {
		line += ", resets " + when(*w.ResetsAt, now)
	}
	line += ", read " + distance(w.ReadAt.Sub(now))
	if w.Stale {
		line += " (stale)"
	}
	return line
}
