package cause

import (
	"regexp"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
)

// words are looked for in a failed call's own notice, the first that holds.
// The order is the knowledge: a purse is named in the words of a limit, and a
// throttle in the words of both.
var words = []struct {
	in    *regexp.Regexp
	cause paceline.Cause
}{
	{regexp.MustCompile(`not your usage limit`), paceline.CauseServer},
	{regexp.MustCompile(`proxy|tunnel`), paceline.CauseTransport}, // whatever status it sends
	{regexp.MustCompile(`throttl`), paceline.CauseThrottle},
	{regexp.MustCompile(`quota exceeded for (quota )?metric[^\n]*per ?_?day|daily (quota|limit)`), paceline.CauseUsageLimit},
	{regexp.MustCompile(`quota exceeded for (quota )?metric`), paceline.CauseThrottle},
	{regexp.MustCompile(`(balance|credits?) (is|are) (too low|depleted)|credits are depleted|insufficient balance|out of credits|payment required|billing|spend(ing)? (limit|cap)`), paceline.CauseBilling},
	{regexp.MustCompile(`usage (limit|quota|exceeded)|quota limit|cooling down|free-models-per-day|exceeded your (current )?quota|quota (was |is )?(reached|exhausted|exceeded)|no quota|exhausted your (\w+ )?(quota|capacity)|(weekly|monthly|daily) rate limit|hit your [\w -]*limit|\btpd\b`), paceline.CauseUsageLimit},
	{regexp.MustCompile(`not (signed|logged) in|sign in|log ?in\b|api key|no auth|auth method|auth type|authentication|credentials|unauthenticated|unauthorized|denied access|not eligible|ineligible|verify your account|region,? or territory`), paceline.CauseAuth},
	{regexp.MustCompile(`context (window|length|limit)|token count|maximum number of tokens|prompt is too long|too many tokens`), paceline.CauseContext},
	{regexp.MustCompile(`model [^\n]{0,80}(not found|does not exist|not supported)|unknown model|^model: `), paceline.CauseModel},
	{regexp.MustCompile(`rate.limit|too many requests|resource has been exhausted|\(code 429\)`), paceline.CauseThrottle},
	{regexp.MustCompile(`overloaded|high (traffic|demand)|no capacity|at capacity|internal error|service unavailable|execution terminated due to error|error code: 5\d\d`), paceline.CauseServer},
	{regexp.MustCompile(`fetch failed|network (issue|error)|connection (refused|reset|failed|error|closed)|econn|enotfound|eai_again|name resolution|other side closed|x509|certificate|timed out|no route to host|stream (closed|disconnected)`), paceline.CauseTransport},
}

// ByText reads a failed call's own notice. It is never given anything that a
// model may have written (P7).
func ByText(text string) paceline.Cause {
	text = strings.ToLower(strings.ReplaceAll(text[:min(len(text), 4<<10)], "’", "'"))
	for _, w := range words {
		if w.in.MatchString(text) {
			return w.cause
		}
	}
	return paceline.CauseOther
}

// reset is when the notice says that it lifts.
func reset(text string, at time.Time) paceline.Reset {
	r := notice.ResetAt(text, at)
	if at.IsZero() && r.Source != paceline.ResetStated {
		return paceline.Reset{} // a time of day on nobody knows which day
	}
	return r
}
