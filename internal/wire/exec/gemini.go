package exec

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
	"github.com/paceline/paceline/internal/wire"
)

// gemini is `gemini -p … -o stream-json`. It exits with the HTTP status modulo
// 256; with `-o json` its standard output is empty then, and the code is all.
var gemini = program{
	frame:  geminiFrame,
	stderr: geminiStderr,
	exits:  map[int]paceline.Cause{41: paceline.CauseAuth, 42: paceline.CauseOther, 53: paceline.CauseOther},
	status: func(code int) int64 {
		for _, s := range []int64{400, 401, 402, 403, 404, 429, 500, 502, 503, 504} {
			if s&0xff == int64(code) {
				return s
			}
		}
		return 0
	},
}

func geminiFrame(r *Reader, f gjson.Result, at time.Time) []wire.Event {
	switch kind := f.Get("type").String(); kind {
	case "init":
		return r.opened(f.Get("session_id").String())
	case "message":
		if f.Get("role").String() == "user" {
			return []wire.Event{{Kind: wire.Acked, Line: r.line}}
		}
		return r.fold.Said(r.line, kind, f.Get("content").String())
	case "tool_use":
		return append(r.fold.Worked(r.line, kind, f.Get("tool_name").String()),
			wire.Event{Kind: wire.Tool, Line: r.line, Name: f.Get("tool_name").String(), ID: f.Get("tool_id").String()})
	case "tool_result":
		return append(r.fold.Worked(r.line, kind, ""),
			wire.Event{Kind: wire.ToolDone, Line: r.line, ID: f.Get("tool_id").String(), OK: f.Get("status").String() == "success"})
	case "result":
		return geminiResult(r, f, at)
	case "":
		if f.Get("response").Type == gjson.String && f.Get("session_id").Exists() && !f.Get("error").Exists() {
			out := r.fold.Said(r.line, "json", f.Get("response").String()) // -o json: one object
			return append(out, r.completed()...)
		}
	}
	return r.fold.Unknown(r.line, f.Get("type").String(), "")
}

func geminiResult(r *Reader, f gjson.Result, at time.Time) []wire.Event {
	switch f.Get("status").String() {
	case "success":
		r.fold.See(r.line, "result", "status=success", "completed")
		return r.completed()
	case "error":
		var out []wire.Event
		if f.Get("stats.tool_calls").Int() > 0 { // a second witness
			out = r.fold.Worked(r.line, "result", "stats.tool_calls")
		}
		failure := notice.Read(notice.Call{Text: apiError(f.Get("error.message").String())}, at).Failure()
		return append(out, r.failed("result", "status=error "+failure.Code, failure)...)
	}
	return append(r.fold.Unknown(r.line, "result", "status"), r.end(paceline.OutcomeIncomplete, paceline.Failure{})...)
}

// apiError takes the vendor's words out of the frame that Gemini and Qwen print
// around them.
func apiError(text string) string {
	_, inner, ok := strings.Cut(text, "[API Error: ")
	if end := strings.LastIndex(inner, "]"); ok && end >= 0 {
		return inner[:end]
	}
	return text
}

// geminiStderr reads "Attempt 3 failed with status 503. Retrying with backoff...
// _ApiError: {…}": it goes on for minutes, and the standard output is silent.
func geminiStderr(r *Reader, text string, at time.Time) []wire.Event {
	head, said, ok := strings.Cut(text, "Retrying with backoff...")
	if !ok || !strings.HasPrefix(head, "Attempt ") {
		return nil
	}
	c := notice.Call{Text: said}
	if _, body, found := strings.Cut(said, "ApiError: "); found {
		c.Text = body
	}
	return r.retrying(notice.Read(c, at).Failure())
}
