package supervisor

import (
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
)

func TestWaiting(t *testing.T) {
	now := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	claude, opus, sonnet, codex := paceline.Engine{Account: "claude"}, paceline.Engine{Account: "claude", Model: "opus"}, paceline.Engine{Account: "claude", Model: "sonnet"}, paceline.Engine{Account: "codex"}
	limit := func(e paceline.Engine, at time.Time) paceline.Limit {
		return paceline.Limit{Engine: e, Reset: paceline.Reset{At: at, Source: paceline.ResetStated}}
	}
	later := now.Add(time.Hour)
	type limits = []paceline.Limit
	for _, tt := range []struct {
		name        string
		before, now limits
		want        bool
	}{
		{"A18 a limit that stays is slept through", limits{limit(claude, later)}, limits{limit(claude, later)}, false},
		{"F46 one whose reset has passed is asked when its wait says, not at once", limits{limit(claude, now)}, limits{limit(claude, now)}, false},
		{"A17 bug-53 a reset that came earlier is followed", limits{limit(claude, later)}, limits{limit(claude, now)}, true},
		{"A17 and one that was put off", limits{limit(claude, now)}, limits{limit(claude, later)}, true},
		{"A7 a limit that was cleared lets go", limits{limit(claude, later)}, nil, true},
		{"A18 and so does another's in the chain", limits{limit(claude, later), limit(codex, later)}, limits{limit(claude, later)}, true},
		{"A7 one that is not in the chain is none of its business", limits{limit(claude, later), limit(paceline.Engine{Account: "x"}, later)}, limits{limit(claude, later)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := moved(tt.before, tt.now, claude, []paceline.Engine{claude, codex}); got != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
	t.Run("A7 bug-51 an account's limit closes every model of it", func(t *testing.T) {
		if l := held(limits{limit(claude, later)}, sonnet); l == nil || !place.Held(l, now) {
			t.Error(l)
		}
	})
	t.Run("A7 bug-62 a model's limit closes that model alone", func(t *testing.T) {
		if one, other := held(limits{limit(opus, later)}, opus), held(limits{limit(opus, later)}, sonnet); one == nil || other != nil {
			t.Error(one, other)
		}
	})
	t.Run("A18 a message that nobody can take waits for the first to come back, margins included", func(t *testing.T) {
		words := limit(claude, later)
		words.Reset.Source = paceline.ResetDerived
		stated := limit(codex, later.Add(30*time.Second))
		chain := []place.Candidate{{Engine: claude, Limit: &words}, {Engine: codex, Limit: &stated}}
		if got := returns(chain, paceline.Message{}); got != stated.Reset {
			t.Errorf("%+v", got)
		}
		if got := returns(chain, paceline.Message{Patience: -1}); got.Known() {
			t.Errorf("--no-wait waits: %+v", got)
		}
	})
}
