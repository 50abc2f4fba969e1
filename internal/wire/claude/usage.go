package claude

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// AccountFrom reads the body of a get_usage response. Only the windows that
// hold for every model count: one model's own window says nothing of the
// engine's others. Where several are used up, the last to lift decides.
//
// An account without a plan and one that is signed out answer alike, so that
// the posture is only told of a subscription.
func AccountFrom(body []byte, at time.Time) wire.Account {
	var a wire.Account
	if !gjson.ValidBytes(body) {
		return a
	}
	root := gjson.ParseBytes(body)
	if root.Get("subscription_type").String() != "" || root.Get("rate_limits_available").Bool() {
		a.Posture = paceline.PostureSubscription
	}
	for _, name := range []string{"five_hour", "seven_day"} {
		w := root.Get("rate_limits." + name)
		if w.Get("utilization").Num < 100 {
			continue
		}
		reset := paceline.Reset{}
		if t, err := time.Parse(time.RFC3339Nano, w.Get("resets_at").Str); err == nil {
			reset = paceline.Reset{At: t.UTC(), Source: paceline.ResetStated}
		}
		if reset.Known() && !reset.At.After(at) {
			continue // it has lifted since it was last told
		}
		if !a.Limited || reset.At.After(a.Reset.At) {
			a.Limited, a.Reset, a.Scope = true, reset, name
		}
	}
	return a
}
