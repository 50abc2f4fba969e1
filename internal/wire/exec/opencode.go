package exec

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
	"github.com/paceline/paceline/internal/wire"
)

// opencode is `opencode run --format json --print-logs --log-level ERROR`.
// Without the log it says nothing at all of a limit, and never exits. It tells
// of a tool when that has ended, so its silence proves nothing.
var opencode = program{frame: opencodeFrame, stderr: opencodeLog}

func opencodeFrame(r *Reader, f gjson.Result, at time.Time) []wire.Event {
	part := f.Get("part")
	switch kind := f.Get("type").String(); kind {
	case "step_start":
		return append(r.opened(f.Get("sessionID").String()), r.fold.Worked(r.line, kind, "")...)
	case "text":
		return r.fold.Said(r.line, kind, part.Get("text").String())
	case "reasoning":
		return r.fold.Worked(r.line, kind, "")
	case "tool_use":
		id, ok := part.Get("callID").String(), part.Get("state.status").String() == "completed"
		return append(r.fold.Worked(r.line, kind, part.Get("tool").String()),
			wire.Event{Kind: wire.Tool, Line: r.line, Name: part.Get("tool").String(), ID: id},
			wire.Event{Kind: wire.ToolDone, Line: r.line, ID: id, OK: ok})
	case "step_finish":
		out := r.fold.Worked(r.line, kind, "")
		if part.Get("reason").String() != "stop" {
			return out
		}
		r.fold.See(r.line, kind, "reason=stop", "completed")
		return append(out, r.completed()...)
	case "error":
		failure := opencodeError(f.Get("error"), at)
		return r.failed(kind, failure.Code, failure)
	}
	return r.fold.Unknown(r.line, f.Get("type").String(), "")
}

// opencodeError reads the one error here that has everything: status, headers
// and body.
func opencodeError(e gjson.Result, at time.Time) paceline.Failure {
	d := e.Get("data")
	c := notice.Call{Status: d.Get("statusCode").Int(), Text: d.Get("responseBody").String()}
	if c.Text == "" {
		c.Text = d.Get("message").String()
	}
	f := notice.Read(c, at).Failure()
	f.Notice = d.Get("message").String()
	if f.Code == "" {
		f.Code = e.Get("name").String()
	}
	switch f.Cause {
	case paceline.CauseUsageLimit, paceline.CauseThrottle:
		if s, err := strconv.Atoi(d.Get("responseHeaders.retry-after").String()); err == nil && s < 1<<31 {
			if reset := notice.After(time.Duration(s)*time.Second, at); reset.Known() {
				f.Reset = reset
			}
		}
	default:
	}
	return f
}

// opencodeLog reads a line of its log. The small model, which writes the title,
// fails without the turn failing.
func opencodeLog(r *Reader, text string, at time.Time) []wire.Event {
	if !strings.Contains(text, `level=ERROR`) || !strings.Contains(text, `message="stream error"`) || strings.Contains(text, " small=true ") {
		return nil
	}
	_, said, ok := strings.Cut(text, `error.error="`)
	if !ok {
		return nil
	}
	return r.retrying(notice.Read(notice.Call{Text: strings.TrimSuffix(said, `"`)}, at).Failure())
}
