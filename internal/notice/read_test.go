package notice

import (
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline"
)

var at = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		call  Call
		want  paceline.Cause
		reset string
	}{
		{"F6 a code decides before its text", Call{Code: "insufficient_quota", Text: "usage limit reached"}, paceline.CauseBilling, ""},
		{"R11 a status that one cause has outweighs every text", Call{Status: 503, Text: "429 Too Many Requests usage limit"}, paceline.CauseServer, ""},
		{"F6 a sign-out sent as 400", Call{Status: 400, Text: "API key not valid. Please pass a valid API key."}, paceline.CauseAuth, ""},
		{"F6 an empty purse sent as 429", Call{Status: 429, Text: "You exceeded your current quota, please check your plan and billing details."}, paceline.CauseBilling, ""},
		{"F6 a burst in the words of a purse", Call{Status: 429, Text: "please check your plan and billing details.\n* Quota exceeded for metric: x_requests, limit: 2"}, paceline.CauseThrottle, ""},
		{"F6 a 429 that says nothing", Call{Status: 429, Text: "Resource has been exhausted (e.g. check quota)."}, paceline.CauseThrottle, ""},
		{"R11 not your usage limit", Call{Text: "Server is temporarily limiting requests (not your usage limit)"}, paceline.CauseThrottle, ""},
		{"F6 an apostrophe of print", Call{Text: "You’ve hit your weekly limit"}, paceline.CauseUsageLimit, ""},
		{"R2 a stated time beats a delay", Call{Text: `{"error":{"code":429,"message":"Individual quota reached.","status":"RESOURCE_EXHAUSTED","details":[{"reason":"QUOTA_EXHAUSTED","metadata":{"quotaResetDelay":"1h","quotaResetTimeStamp":"2026-12-01T09:00:00Z"}}]}}`}, paceline.CauseUsageLimit, "2026-12-01T09:00:00Z stated"},
		{"R2 a delay counts from when it was told", Call{Text: `{"error":{"code":429,"message":"x","details":[{"retryDelay":"90s"}]}}`}, paceline.CauseThrottle, "2026-12-01T02:01:30Z derived"},
		{"R2 a delay beyond every window is not believed", Call{Text: `{"error":{"code":429,"message":"x","details":[{"retryDelay":"90000h"}]}}`}, paceline.CauseThrottle, ""},
		{"R11 a proxy's refusal is the route's, whatever status it names", Call{Text: "Cannot connect to proxy: 503 Service Unavailable"}, paceline.CauseTransport, ""},
		{"F6 credentials that cool down are no sign-out", Call{Code: "model_cooldown", Text: "All credentials for model x are cooling down"}, paceline.CauseUsageLimit, ""},
		{"R2 a throttle in the words of a context", Call{Text: "ThrottlingException: Too many tokens, please wait before trying again."}, paceline.CauseThrottle, ""},
		{"a dead route", Call{Text: "TypeError: fetch failed"}, paceline.CauseTransport, ""},
		{"an unknown model", Call{Status: 404, Text: "model foo not found"}, paceline.CauseModel, ""},
		{"a full context", Call{Status: 400, Text: "prompt is too long"}, paceline.CauseContext, ""},
		{"nothing told", Call{Text: "Unexpected server error. Check server logs"}, paceline.CauseOther, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Read(tt.call, at).Failure()
			got := ""
			if f.Reset.Known() {
				got = f.Reset.At.Format(time.RFC3339) + " " + f.Reset.Source.String()
			}
			if f.Cause != tt.want || got != tt.reset {
				t.Errorf("%s %q, want %s %q", f.Cause, got, tt.want, tt.reset)
			}
		})
	}
	t.Run("A4 no time of day is resolved where nobody knows the day", func(t *testing.T) {
		if f := Read(Call{Text: "You've hit your usage limit. Try again at 6:25 AM."}, time.Time{}); f.Reset.Known() {
			t.Error(f.Reset)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("RESOURCE_EXHAUSTED", int64(429), `{"error":{"code":429,"details":[{"retryDelay":"1s"}]}}`)
	f.Add("", int64(0), "{")
	f.Fuzz(func(t *testing.T, code string, status int64, text string) {
		for _, when := range []time.Time{at, {}} {
			r := Read(Call{code, status, text}, when).Reset
			if when.IsZero() && r.Known() && r.Source != paceline.ResetStated {
				t.Error("a time was resolved before its notice")
			}
		}
	})
}

func TestLongText(t *testing.T) {
	if got := Read(Call{Text: strings.Repeat("x", 10<<20)}, at).Class.Cause(); got != paceline.CauseOther {
		t.Errorf("P7 only a notice's length is read: %s", got)
	}
}
