package config

import (
	"time"

	"github.com/paceline/paceline/internal/health"
)

// healths are the keys of [fallback.health] (Z85). What is measured against them
// is shared by all threads of a host: a repository's file may lower, shorten and
// disable, as everywhere.
var healths = []key{
	{
		name: "fallback.health.enabled", kind: truth, rule: narrow, stands: "true",
		about: "Whether new work keeps off a route that just failed; it does not either where fallback.enabled is false.",
		set:   func(p *Policy, _ string, v value) { p.Fallback.Health.Enabled = v.truth },
	},
	{
		name: "fallback.health.open_after_failures", kind: number, rule: narrow, stands: "3", least: 1, most: health.MaxFails,
		about: "How many failures of the connection or of the vendor's servers in a row, within the window, have new work keep off a route.",
		set:   func(p *Policy, _ string, v value) { p.Fallback.Health.OpenAfter = v.number },
	},
	{
		name: "fallback.health.window_secs", kind: number, rule: narrow, stands: "600", least: 1,
		about: "For how many seconds what a route did counts.",
		set:   func(p *Policy, _ string, v value) { p.Fallback.Health.Window = time.Duration(v.number) * time.Second },
	},
	{
		name: "fallback.health.cooldown_secs", kind: number, rule: narrow, stands: "300", least: 1,
		about: "After how many seconds one run tries such a route again.",
		set:   func(p *Policy, _ string, v value) { p.Fallback.Health.Cooldown = time.Duration(v.number) * time.Second },
	},
	{
		name: "fallback.health.degrade_error_rate_pct", kind: number, rule: narrow, stands: "25", least: 1, most: 100,
		about: "How many of a hundred turns within the window may fail before a route comes last.",
		set:   func(p *Policy, _ string, v value) { p.Fallback.Health.ErrorPct = v.number },
	},
	{
		name: "fallback.health.degrade_min_samples", kind: number, rule: narrow, stands: "8", least: 2,
		about: "How many turns it takes to say so.",
		set:   func(p *Policy, _ string, v value) { p.Fallback.Health.MinSamples = v.number },
	},
	{
		name: "fallback.health.degrade_ttft_ms", kind: number, rule: narrow, least: 1000,
		about: "How many milliseconds the first word of an answer may take, in the median, before a route comes last; without it, as long as it takes.",
		set: func(p *Policy, _ string, v value) {
			p.Fallback.Health.TTFT = time.Duration(v.number) * time.Millisecond
		},
	},
}
