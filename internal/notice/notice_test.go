package notice

import (
	"testing"
	"time"

	"github.com/paceline/paceline"
)

// in is a moment in a zone, as printed there.
func in(tb testing.TB, zone, text string) time.Time {
	tb.Helper()
	l, err := time.LoadLocation(zone)
	if err != nil {
		tb.Fatal(err)
	}
	t, err := time.ParseInLocation("2006-01-02 15:04:05", text, l)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// tell is a notice in one line: class, window, model, and when it lifts.
func tell(n Notice) string {
	s := n.Class.String()
	for _, word := range []string{n.Window, n.Model} {
		if word != "" {
			s += " " + word
		}
	}
	if n.Going {
		s += " going"
	}
	if n.Reset.Known() {
		s += " " + n.Reset.At.Format(time.RFC3339) + " " + n.Reset.Source.String()
	}
	return s
}

func TestRead(t *testing.T) {
	at := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		call Call
		want string
	}{
		// Every wording that was in the field is one grammar (bug-01, bug-02).
		{"A2 the limit alone", Call{Text: "You've hit your limit · resets 3pm (UTC)"}, "usage_limit 2026-12-01T15:00:00Z derived"},
		{"A2 bug-02 the word between is its window", Call{Text: "You've hit your session limit · resets 3am (UTC)"}, "usage_limit session 2026-12-01T03:00:00Z derived"},
		{"A2 bug-02 a week", Call{Text: "You’ve hit your weekly limit · resets Thu 9am (UTC)"}, "usage_limit weekly 2026-12-03T09:00:00Z derived"},
		{"A2 bug-01 a model's own week", Call{Text: "You've hit your Opus weekly limit ∙ resets Dec 3, 9am (UTC)"}, "usage_limit weekly opus 2026-12-03T09:00:00Z derived"},
		{"A2 bug-01 five hours", Call{Text: "5-hour limit reached ∙ resets 4:30am (UTC)"}, "usage_limit 5h 2026-12-01T04:30:00Z derived"},
		{"A2 A7 a model and no time", Call{Text: "You've reached your Fable 5 limit. Run /usage-credits to continue or switch models with /model."}, "usage_limit fable 5"},
		{"A2 a window of any length is data", Call{Text: "You've hit your 3-hour limit · resets 4am (UTC)"}, "usage_limit 3h 2026-12-01T04:00:00Z derived"},
		{"A3 bug-01 the straight apostrophe", Call{Text: "You've hit your usage limit. Try again at 3:51 AM."}, "usage_limit 2026-12-01T03:51:00Z derived"},
		{"A3 bug-01 the apostrophe of print, for one model", Call{Text: "You’ve hit your usage limit for Spark. Switch to another model now, or try again at 8:29 AM."}, "usage_limit spark 2026-12-01T08:29:00Z derived"},
		{"A3 bug-15 a date with ordinal and year", Call{Text: "You've hit your usage limit. Try again at Dec 6th, 2026 9:15 PM."}, "usage_limit 2026-12-06T21:15:00Z derived"},
		{"A3 bug-15 the same without them", Call{Text: "You've hit your usage limit. Try again at Dec 6, 9:15 PM."}, "usage_limit 2026-12-06T21:15:00Z derived"},
		{"A3 a wrap inside the date", Call{Text: "You've hit your usage\n limit. Try again at Dec\n6th, 2026 9:15 PM."}, "usage_limit 2026-12-06T21:15:00Z derived"},
		{"A4 a duration as Go writes it", Call{Text: "RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h31m33s."}, "usage_limit 2026-12-01T04:31:33Z derived"},
		{"A6 no time is none", Call{Text: "You've hit your usage limit. Try again later."}, "usage_limit"},
		{"A35 words unlike any known", Call{Text: "The gremlins are asleep"}, "none"},
		{"A2 a box in colours, in two rows", Call{Text: "\x1b[33m╭────╮\n│ ⚠ You've hit your limit │\n│ · resets 3pm (UTC) │\n╰────╯\x1b[0m"}, "usage_limit 2026-12-01T15:00:00Z derived"},
		{"A2 the program goes on by itself", Call{Text: "Usage limit reached · continuing automatically at 7am (UTC)"}, "usage_limit going 2026-12-01T07:00:00Z derived"},
		{"A2 and tells that it is over", Call{Text: "Usage limit reset · continuing automatically"}, "none going"},

		// Codes and statuses.
		{"F6 a code decides before its text", Call{Code: "insufficient_quota", Text: "usage limit reached"}, "billing"},
		{"R11 a status that one cause has outweighs every text", Call{Status: 503, Text: "429 Too Many Requests usage limit"}, "server"},
		{"R11 a proxy's refusal is the route's, whatever status it names", Call{Text: "Cannot connect to proxy: 503 Service Unavailable"}, "transport"},
		{"R11 not your usage limit", Call{Text: "Server is temporarily limiting requests (not your usage limit)"}, "rate_limit_transient"},
		{"F6 a sign-out sent as 400", Call{Status: 400, Text: "API key not valid. Please pass a valid API key."}, "auth"},
		{"F6 an empty purse sent as 429", Call{Status: 429, Text: "You exceeded your current quota, please check your plan and billing details."}, "billing"},
		{"F6 a burst in the words of a purse", Call{Status: 429, Text: "please check your plan and billing details.\n* Quota exceeded for metric: x_requests, limit: 2"}, "rate_limit_transient"},
		{"F6 a 429 that says nothing", Call{Status: 429, Text: "Resource has been exhausted (e.g. check quota)."}, "rate_limit_transient"},
		{"F6 credentials that cool down are no sign-out", Call{Code: "model_cooldown", Text: "All credentials for model x are cooling down"}, "usage_limit"},
		{"F14 the sharing cap has no time of its own", Call{Status: 429, Text: `{"error":{"code":"subscription_sharing_usage_limit_exceeded","message":"allowance exhausted, try again in 2 hours"}}`}, "usage_limit weekly"},
		{"F6 a code that ended up in prose", Call{Text: "stream disconnected before completion: organization_usage_limit_exceeded."}, "usage_limit"},
		{"F6 a body in a body", Call{Text: `API Error: 400 {"error":{"message":"Error from provider: {\"error\":{\"message\":\"maximum context length is 10 tokens\"}}"}}`}, "context_overflow"},
		{"R2 a throttle in the words of a context", Call{Text: "ThrottlingException: Too many tokens, please wait before trying again."}, "rate_limit_transient"},
		{"R7 a burst of hours is a usage window", Call{Text: "Rate limit exceeded. Please try again in 15 hours 23 minutes."}, "usage_limit 2026-12-01T17:23:00Z derived"},
		{"R5 a header says only when to ask again", Call{Text: "HTTP/1.1 429 Too Many Requests\nretry-after: 17\n\n{\"error\":{\"type\":\"rate_limit_exceeded\",\"message\":\"retry after 2s\"}}"}, "rate_limit_transient 2026-12-01T02:00:17Z derived"},
		{"a dead route", Call{Text: "TypeError: fetch failed"}, "transport"},
		{"an unknown model", Call{Status: 404, Text: "model foo not found"}, "model_unavailable"},
		{"a full context", Call{Status: 400, Text: "prompt is too long"}, "context_overflow"},
		{"nothing told", Call{Text: "Unexpected server error. Check server logs"}, "none"},

		// Which of several times (bug-16 to bug-24).
		{"R2 bug-24 a stated time beats both delays", Call{Text: `{"error":{"code":429,"message":"Individual quota reached. Resets in 9h.","status":"RESOURCE_EXHAUSTED","details":[{"reason":"QUOTA_EXHAUSTED","metadata":{"quotaResetDelay":"25h20m26s","quotaResetTimeStamp":"2026-12-02T03:20:26Z"}},{"retryDelay":"300s"}]}}`}, "usage_limit 2026-12-02T03:20:26Z stated"},
		{"R2 a delay counts from when it was told", Call{Text: `{"error":{"code":429,"message":"x","details":[{"retryDelay":"90s"}]}}`}, "rate_limit_transient 2026-12-01T02:01:30Z derived"},
		{"R2 a delay beyond every window is not believed", Call{Text: `{"error":{"code":429,"message":"x","details":[{"retryDelay":"90000h"}]}}`}, "rate_limit_transient"},
		{"A2 an epoch beats the prose beside it", Call{Text: `{"error":{"type":"usage_limit_reached","message":"Try again at 9:15 PM.","resets_at":1796106633}}`}, "usage_limit 2026-12-01T06:30:33Z stated"},
		{"A2 milliseconds", Call{Text: "Claude AI usage limit reached|1796106633000"}, "usage_limit 2026-12-01T06:30:33Z stated"},
		{"A2 an epoch that is none", Call{Text: "Claude AI usage limit reached|invalid_timestamp"}, "usage_limit"},
		{"A2 a program's own pause is no reset", Call{Text: "429 Too many requests · Retrying in 4 seconds… (attempt 4/10)"}, "rate_limit_transient going"},
		{"A2 unless nobody but the vendor pauses so long", Call{Text: "Too Many Requests: quota exceeded [retrying in ~2 weeks attempt #1]"}, "usage_limit going 2026-12-15T02:00:00Z derived"},
		{"A2 the reset before the program's own pause", Call{Text: "Rate limit is exceeded. Try again in 4 seconds.; retrying 1/5 in 209ms…"}, "rate_limit_transient going 2026-12-01T02:00:04Z derived"},
		{"A2 a wait of minutes is not a week's", Call{Text: "Please wait 2 minutes before trying again. You've exceeded your weekly rate limit."}, "usage_limit weekly"},
		{"A2 in a minute is a phrase", Call{Text: "Our servers are experiencing high traffic right now, please try again in a minute."}, "server"},

		// Money (bug-70, bug-73, bug-74): the engine is closed, and nothing waits.
		{"F9 bug-70 a spend limit behind a retry-after", Call{Status: 429, Text: "HTTP/1.1 429 Too Many Requests\nretry-after: 600\n\n{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"You have reached your monthly spend limit\"}}"}, "billing monthly"},
		{"F9 bug-73 out of credits, and no time", Call{Text: "HTTP/1.1 429 Too Many Requests\nanthropic-ratelimit-unified-overage-disabled-reason: out_of_credits\nx-should-retry: true\n"}, "usage_limit"},
		{"F9 bug-74 a cap until a date", Call{Status: 400, Text: "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC."}, "billing 2027-01-01T00:00:00Z stated"},
		{"F9 bug-74 a cap until somebody pays", Call{Status: 402, Text: "Insufficient credits. Add more"}, "billing"},
		{"F9 the purse is for what goes beyond the window", Call{Text: "You've hit your monthly spend limit · your session limit resets 4am (UTC)"}, "usage_limit session 2026-12-01T04:00:00Z derived"},

		// Usage windows in headers (bug-22): the rejected one that ends last.
		{"A2 bug-22 the rejected window of two", Call{Text: "HTTP/1.1 429 Too Many Requests\nanthropic-ratelimit-unified-5h-reset: 1796106633\nanthropic-ratelimit-unified-5h-status: rejected\nanthropic-ratelimit-unified-7d-reset: 1796441433\nanthropic-ratelimit-unified-7d-status: allowed\nretry-after: 9\n\n{}"}, "usage_limit 5h 2026-12-01T06:30:33Z stated"},
		{"A2 bug-21 both rejected", Call{Text: "HTTP/1.1 429 Too Many Requests\nanthropic-ratelimit-unified-5h-reset: 1796106633\nanthropic-ratelimit-unified-5h-status: rejected\nanthropic-ratelimit-unified-7d-reset: 1796441433\nanthropic-ratelimit-unified-7d-status: rejected\n\n{}"}, "usage_limit weekly 2026-12-05T03:30:33Z stated"},
		{"A2 an overload beside a window's reset", Call{Text: "HTTP/1.1 529\nanthropic-ratelimit-unified-status: allowed\nanthropic-ratelimit-unified-reset: 1796106633\n\n{\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"}, "server"},
		{"A3 Codex's windows have any length and any name", Call{Text: "HTTP/1.1 429 Too Many Requests\nx-codex-primary-used-percent: 100\nx-codex-primary-window-minutes: 10080\nx-codex-primary-reset-at: 1796441433\n\n{}"}, "usage_limit weekly 2026-12-05T03:30:33Z stated"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tell(Read(tt.call, at)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFrom(t *testing.T) {
	at := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	const limit = "You've hit your session limit · resets 3pm (UTC)"
	for _, tt := range []struct{ name, channel, text, want string }{
		{"P7 the whole of a model's answer", "model_text", limit, "none"},
		{"P7 what a user asked", "transcript_row", `{"type":"user","message":{"content":"why ` + limit + `?"}}`, "none"},
		{"P7 what a model said in a row", "transcript_row", `{"type":"assistant","message":{"content":[{"type":"text","text":"` + limit + `"}]}}`, "none"},
		{"P7 what a tool printed", "structured_json", `{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"` + limit + `"}}`, "none"},
		{"A2 bug-11 an error under the name of success", "structured_json", `{"type":"result","subtype":"success","is_error":true,"result":"API Error: Request rejected (429) · Rate limited"}`, "rate_limit_transient"},
		{"A2 bug-13 an empty purse under the name of success", "structured_json", `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 402 Insufficient balance"}`, "billing"},
		{"A2 bug-13 an unknown model under the name of success", "structured_json", `{"type":"result","subtype":"success","is_error":true,"result":"The model foo does not exist"}`, "model_unavailable"},
		{"A2 bug-11 the same in plain mode", "stdout_text", "API Error: Rate limit reached", "rate_limit_transient"},
		{"P7 how a turn was told to end is no notice", "structured_json", `{"type":"result","subtype":"error_max_turns","is_error":true,"result":""}`, "none"},
		{"P7 bug-04 names of tests", "stdout_text", "test record_rate_limit_cooldown ... ok\ntest usage_limit_reached ... ok\n", "none"},
		{"P7 bug-05 a diff", "stdout_text", "+ if quota.exceeded(limit) {\n+   return errLimit\n+ }", "none"},
		{"P7 bug-07 rows of a picker", "stdout_text", "❯ 2 hours ago · main · 5-hour limit reached ∙ resets 2am\n  #7157 [closed] Claude AI usage limit reached", "none"},
		{"P7 bug-08 our own status", "stdout_text", "claude   Rate limits: no issues\ncodex    Rate limits: no issues", "none"},
		{"P7 somebody else's limit", "stdout_text", "toomanyrequests: You have reached your pull rate limit.", "none"},
		{"P7 a disk's", "stdout_text", "write /dev/sda1: Disk quota exceeded", "none"},
		{"A1 bug-10 a rejected window that is paid beyond", "structured_json", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","isUsingOverage":true,"overageStatus":"allowed","resetsAt":1796106633}}`, "warning"},
		{"A1 bug-21 an allowed window whose overage is rejected", "structured_json", `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","overageStatus":"rejected","rateLimitType":"seven_day","resetsAt":1796441433}}`, "none weekly"},
		{"A2 bug-22 the rejected window of several, whole numbers or not", "structured_json", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour","resetsAt":1,"unifiedWindows":{"five_hour":{"status":"rejected","utilization":1,"resetsAt":1796106633},"seven_day":{"status":"allowed","utilization":0.61,"resetsAt":1796441433}}}}`, "usage_limit 5h 2026-12-01T06:30:33Z stated"},
		{"A2 bug-21 of two rejected ones the later", "structured_json", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour","resetsAt":1796106633,"unifiedWindows":{"five_hour":{"status":"rejected","resetsAt":1796106633},"seven_day":{"status":"rejected","resetsAt":1796441433}}}}`, "usage_limit weekly 2026-12-05T03:30:33Z stated"},
		{"A2 bug-19 the typed time holds though the words are unread", "transcript_row", `{"isApiErrorMessage":true,"type":"assistant","apiErrorParams":{"rate_limit_info":{"status":"rejected","resetsAt":1796106633,"rateLimitType":"five_hour"}},"message":{"content":[{"type":"text","text":"No more today, friend"}]}}`, "usage_limit 5h 2026-12-01T06:30:33Z stated"},
		{"A1 a limit that is near", "stdout_text", "Approaching usage limit · resets at 7pm", "warning"},
		{"A5 a notice is short", "stdout_text", "You've hit your limit" + string(make([]byte, 2000)), "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tell(From(tt.channel, tt.text, at)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	at := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, text, scope string
		retryable         bool
	}{
		{"A7 the session is the five hours", "You've hit your session limit", "five_hour", true},
		{"A7 an account's week closes all its models", "You've hit your weekly limit", "weekly", true},
		{"A7 a model's week is its own", "You've hit your Opus weekly limit", "weekly_model", true},
		{"P8 a window that goes unnamed is not guessed", "You've hit your usage limit. Try again in 5 days.", "", true},
		{"F9 an empty purse does not fill by itself", "Your credit balance is too low", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f := Read(Call{Text: tt.text}, at).Failure(); f.Scope != tt.scope || f.Retryable != tt.retryable {
				t.Errorf("scope %q retryable %t, want %q %t", f.Scope, f.Retryable, tt.scope, tt.retryable)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	for _, tt := range []struct {
		name, text string
		want       time.Duration
	}{
		{"R5 the vendor's words", "rate limit exceeded: Please try again in 11.054s.", 11054 * time.Millisecond},
		{"R5 in milliseconds", "Please try again in 350ms", 350 * time.Millisecond},
		{"R7 two hours, told in seconds", "Please try again in 7200s", 2 * time.Hour},
		{"R5 a Retry-After in seconds", "last status: 429 Too Many Requests, Retry-After: 17", 17 * time.Second},
		{"R5 a Retry-After as a date counts from the notice", "retry-after: Tue, 01 Dec 2026 11:02:00 GMT", 2 * time.Minute},
		{"R5 a date that has passed puts nothing off", "retry-after: Tue, 01 Dec 2026 10:02:00 GMT", 0},
		{"R5 a date that is none", "retry-after: Tue, 41 Dec 2026 10:02:00 GMT", 0},
		{"R7 more seconds than a duration holds are still far away", "retry-after: 99999999999", 1e9 * time.Second},
		{"R4 nothing is told", "exceeded retry limit, last status: 429 Too Many Requests", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Delay(tt.text, at); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestReset(t *testing.T) {
	for _, tt := range []struct{ name, zone, at, text, want string }{
		{"R14 a time of day still to come", "UTC", "2026-12-01 14:30:20", "Try again at 4:05 PM.", "2026-12-01T16:05:00Z"},
		{"R14 one that has passed is tomorrow's", "UTC", "2026-12-01 14:30:20", "try again at 8:28 AM.", "2026-12-02T08:28:00Z"},
		{"R14 this very minute is today's", "UTC", "2026-12-01 14:30:20", "try again at 2:30 PM.", "2026-12-01T14:30:00Z"},
		{"R14 midnight", "UTC", "2026-12-01 14:30:20", "try again at 12:00 AM.", "2026-12-02T00:00:00Z"},
		{"R14 noon", "UTC", "2026-12-01 14:30:20", "resets at noon", "2026-12-02T12:00:00Z"},
		{"R14 a distance", "UTC", "2026-12-01 14:30:20", "try again in 5 days 22 hours 11 minutes.", "2026-12-07T12:41:20Z"},
		{"P8 no time is no reset", "UTC", "2026-12-01 14:30:20", "Try again later.", ""},
		{"P8 nonsense is no reset", "UTC", "2026-12-01 14:30:20", "try again at 27:99 PM", ""},
		{"P8 a day that no month has", "UTC", "2026-12-01 14:30:20", "resets Feb 30, 9am", ""},

		// bug-16, bug-18: the zone that is named holds, wherever it is read.
		{"A2 bug-16 read in its zone", "Asia/Tokyo", "2026-04-15 09:43:47", "resets 8pm (Asia/Tokyo)", "2026-04-15T11:00:00Z"},
		{"A2 bug-16 read in UTC", "UTC", "2026-04-15 00:43:47", "resets 8pm (Asia/Tokyo)", "2026-04-15T11:00:00Z"},
		{"A2 bug-16 read across the sea", "America/Los_Angeles", "2026-04-14 17:43:47", "resets 8pm (Asia/Tokyo)", "2026-04-15T11:00:00Z"},
		{"A2 bug-18 a verb and a zone in brackets", "UTC", "2026-06-10 20:24:00", "resets 11:30pm (Europe/Berlin)", "2026-06-10T21:30:00Z"},
		{"A2 half an hour", "UTC", "2026-12-01 02:00:00", "resets 9am (Asia/Kolkata)", "2026-12-01T03:30:00Z"},
		{"A2 three quarters of an hour", "UTC", "2026-12-01 02:00:00", "resets 9am (Asia/Kathmandu)", "2026-12-01T03:15:00Z"},
		{"A2 a name that is no longer used", "UTC", "2026-12-01 02:00:00", "resets 9am (Asia/Calcutta)", "2026-12-01T03:30:00Z"},
		{"A2 Etc/GMT has its sign the other way round", "UTC", "2025-06-14 17:56:06", "Your limit will reset at 1pm (Etc/GMT+5).", "2025-06-14T18:00:00Z"},
		{"A2 GMT-3 has not", "UTC", "2026-03-13 20:00:00", "Access resets at 10:57 PM GMT-3.", "2026-03-14T01:57:00Z"},
		{"A2 an offset outweighs the letters behind it", "UTC", "2026-07-30 05:00:00", "It will reset at 2026-07-30 16:11:46 +0800 CST.", "2026-07-30T08:11:46Z"},

		// Clocks that are put forward and back.
		{"A2 summer time begins during the wait", "Europe/Berlin", "2026-03-28 23:00:00", "resets 4am", "2026-03-29T02:00:00Z"},
		{"A2 an hour that is skipped", "Europe/Berlin", "2026-03-29 00:30:00", "resets 2:30am", "2026-03-29T01:30:00Z"},
		{"A2 summer time ends during the wait", "Europe/Berlin", "2026-10-24 23:00:00", "resets 4am", "2026-10-25T03:00:00Z"},
		{"A2 an hour that is shown twice: the first", "America/New_York", "2026-10-31 20:00:00", "resets 1:30am", "2026-11-01T05:30:00Z"},
		{"A2 a dated target after the change", "America/New_York", "2026-10-28 12:00:00", "Try again at Nov 3rd, 2026 9:15 PM.", "2026-11-04T02:15:00Z"},

		{"A3 New Year", "UTC", "2026-12-30 08:00:00", "resets Jan 2, 9am (Europe/Madrid)", "2027-01-02T08:00:00Z"},
		{"A3 a weekday", "UTC", "2026-08-14 12:00:00", "resets Mon 12:00am", "2026-08-17T00:00:00Z"},
		{"A3 the same weekday, later", "UTC", "2026-08-14 12:00:00", "resets Friday 3pm", "2026-08-14T15:00:00Z"},
		{"A3 the same weekday, next week", "UTC", "2026-08-14 12:00:00", "resets Friday 9am", "2026-08-21T09:00:00Z"},
		{"A3 a day alone begins at its midnight", "Europe/Berlin", "2026-08-03 10:00:00", "resets Aug 8", "2026-08-07T22:00:00Z"},
		{"A3 a day under way ends at the next", "UTC", "2026-08-08 10:00:00", "resets Aug 8", "2026-08-09T00:00:00Z"},
		{"P8 a date of last month is not next year's", "UTC", "2026-12-01 10:00:00", "resets Oct 24, 9am", ""},
		{"A3 tomorrow", "UTC", "2026-12-01 02:00:00", "try again tomorrow at 9am", "2026-12-02T09:00:00Z"},
		{"A3 the other order of day and month", "UTC", "2026-05-21 22:33:00", "Tu límite de uso se restablece el 26 may 2026, 2:40 p.m.", "2026-05-26T14:40:00Z"},
		{"A3 slashes", "Asia/Kolkata", "2025-12-12 15:30:00", "You can resume using this model at 12/16/2025, 7:15:56 PM.", "2025-12-16T13:45:56Z"},
		{"A4 days and hours", "UTC", "2026-12-01 02:00:00", "Refreshes in 6 days and 18 hours", "2026-12-07T20:00:00Z"},
		{"A4 an hour", "UTC", "2026-12-01 02:00:00", "try again in an hour", "2026-12-01T03:00:00Z"},
		{"A4 hours alone", "UTC", "2026-12-01 02:00:00", "Please try again in 58 hours.", "2026-12-03T12:00:00Z"},

		// A window of five hours bounds the wait: a clock beyond it is another zone's.
		{"A2 a stamp of the provider's zone", "America/New_York", "2025-10-02 17:00:00", "Usage limit reached for 5 hour. Your limit will reset at 2025-10-03 08:23:14", "2025-10-03T00:23:14Z"},
		{"P8 a clock of nobody knows which zone", "UTC", "2026-12-01 02:00:00", "5-hour limit reached ∙ resets 11am", ""},
		{"A2 five hours ahead is within", "UTC", "2026-12-01 02:00:00", "5-hour limit reached ∙ resets 7am", "2026-12-01T07:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if r := ResetAt(tt.text, in(t, tt.zone, tt.at)); r.Known() {
				got = r.At.Format(time.RFC3339)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("A4 no time of day is resolved where nobody knows the day", func(t *testing.T) {
		for _, text := range []string{"Try again at 6:25 AM.", "resets in 2 hours", "resets Mon 9am", "resets Dec 4, 9am", "resets tomorrow"} {
			if r := ResetAt(text, time.Time{}); r.Known() {
				t.Error(text, r)
			}
		}
		if r := ResetAt("reset at 2026-12-01T09:00:00Z", time.Time{}); r.Source != paceline.ResetStated {
			t.Error("an instant needs no day to count from", r)
		}
	})
}
