package agy

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
	"github.com/paceline/paceline/internal/wire"
)

// Stderr takes one line of the standard error in.
func (r *Reader) Stderr(line []byte, at time.Time) []wire.Event {
	if r.fold == nil {
		return nil
	}
	text := strings.TrimSpace(string(line[:min(len(line), 16<<10)]))
	if body, ok := strings.CutPrefix(text, "AGY_ERROR:"); ok {
		f := apiError(gjson.Parse(body), at)
		r.now.api = &f
		r.fold.See(0, "AGY_ERROR", f.Code, f.Cause.String())
		return nil
	}
	switch {
	case strings.HasPrefix(text, "[agy] print timeout"):
		r.now.timeout = true
		r.fold.See(0, "stderr", "print timeout", "not ended")
	case strings.HasPrefix(text, "warning: conversation ") && strings.HasSuffix(text, " not found"):
		r.now.lost = true
		r.fold.See(0, "stderr", "conversation not found", "a new conversation")
		return []wire.Event{{Kind: wire.Announcement, Text: "agy did not find the conversation and began a new one, which knows nothing of it"}}
	case strings.HasPrefix(text, "terminating ") && strings.Contains(text, "background task"):
		return r.fold.Worked(0, "stderr", "background task")
	case unsigned(text):
		r.now.unsigned = true
	}
	return nil
}

// apiError reads AGY_ERROR. Its retryable is not believed: it is true of a used
// up quota as well.
func apiError(e gjson.Result, at time.Time) paceline.Failure {
	c := notice.Call{Code: e.Get("status").String(), Text: e.Get("short_error").String()}
	if e.Get("code_kind").String() == "http" {
		c.Status = e.Get("error_code").Int()
	}
	return notice.Read(c, at).Failure()
}

// Log takes one line of --log-file in. It alone tells a sign-out from a missing
// network, and up to 1.0 it alone tells of a limit.
func (r *Reader) Log(line []byte, at time.Time) {
	if r.fold == nil {
		return
	}
	text := string(line[:min(len(line), 16<<10)])
	switch {
	case strings.Contains(text, "Singleflight refresh failed"):
		// fetched in the background; no turn depends on it
	case strings.Contains(text, "due to network error"):
		r.now.log = paceline.CauseTransport
		r.fold.See(0, "log", "network error", "transport")
	case strings.Contains(text, "invalid_grant"), strings.Contains(text, "saved token invalid"):
		r.now.log = paceline.CauseAuth
		r.fold.See(0, "log", "token invalid", "auth")
	case strings.Contains(text, "agent executor error:"):
		_, said, _ := strings.Cut(text, "agent executor error:")
		f := notice.Read(notice.Call{Text: strings.TrimSpace(said)}, at).Failure()
		r.now.notice = &f
		r.fold.See(0, "log", "agent executor error", f.Cause.String())
	}
}

// AccountFrom reads the answer to `agy --print=/usage --output-format json`,
// which costs no quota. Of several windows that are used up, the one that lifts
// last counts.
func AccountFrom(answer []byte) wire.Account {
	a := wire.Account{Posture: paceline.PostureSubscription}
	for _, b := range gjson.GetBytes(answer, "command.data.groups.#.buckets|@flatten").Array() {
		left := b.Get("remaining_fraction")
		if left.Type != gjson.Number || left.Float() > 0 {
			continue
		}
		a.Limited = true
		if t, err := time.Parse(time.RFC3339, b.Get("reset_time").String()); err == nil && t.After(a.Reset.At) {
			a.Reset, a.Scope = paceline.Reset{At: t.UTC(), Source: paceline.ResetStated}, b.Get("id").String()
		}
	}
	return a
}

// Prompt is a message as agy takes it on its standard input.
func Prompt(text string) []byte {
	type content struct {
		Content string `json:"content"`
	}
	line, err := json.Marshal(struct {
		Event   string  `json:"event"`
		Message content `json:"message"`
	}{"user", content{text}})
	if err != nil {
		panic(err) // two strings
	}
	return append(line, '\n')
}

// Init is what agy says of itself before it is asked anything; ok is false for
// every other line.
func Init(line []byte) (conversation, dir string, ok bool) {
	f := gjson.GetManyBytes(line, "event", "conversation_id", "init.cwd")
	return f[1].String(), f[2].String(), f[0].String() == "init"
}
