package exec

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
	"github.com/paceline/paceline/internal/wire"
)

// qwen is `qwen --output-format stream-json`: Claude's frames, but for its
// errors, which it also prints as the model's text, and for Retry-After, which
// it honours in silence.
var qwen = program{frame: qwenFrame}

func qwenFrame(r *Reader, f gjson.Result, at time.Time) []wire.Event {
	switch kind := f.Get("type").String(); kind {
	case "system":
		if f.Get("subtype").String() == "init" {
			return r.opened(f.Get("session_id").String())
		}
	case "stream_event":
		if f.Get("event.type").String() == "goal_state" {
			return nil
		}
		return r.fold.Worked(r.line, kind, f.Get("event.type").String())
	case "assistant":
		return qwenAssistant(r, f.Get("message.content").Array())
	case "user": // what its tools answered
		return r.fold.Worked(r.line, kind, "")
	case "result":
		return qwenResult(r, f, at)
	}
	return r.fold.Unknown(r.line, f.Get("type").String(), f.Get("subtype").String())
}

func qwenAssistant(r *Reader, blocks []gjson.Result) (out []wire.Event) {
	for _, b := range blocks {
		text := b.Get("text").String()
		switch kind := b.Get("type").String(); {
		case kind == "text" && strings.HasPrefix(text, "[API Error: "):
			out = append(out, r.fold.Hold(r.line, "assistant", text)...)
		case kind == "text":
			out = append(out, r.fold.Said(r.line, "assistant", text)...)
		case kind == "tool_use":
			out = append(out, r.fold.Worked(r.line, "assistant", kind)...)
			out = append(out, wire.Event{Kind: wire.Tool, Line: r.line, Name: b.Get("name").String(), ID: b.Get("id").String()})
		default:
			out = append(out, r.fold.Worked(r.line, "assistant", kind)...)
		}
	}
	return out
}

func qwenResult(r *Reader, f gjson.Result, at time.Time) []wire.Event {
	failed := f.Get("is_error")
	switch {
	case failed.Type == gjson.False && f.Get("subtype").String() == "success":
		r.fold.See(r.line, "result", "is_error=false", "completed")
		return r.completed()
	case failed.Bool():
		text := f.Get("error.message").String()
		said := apiError(text)
		failure := notice.Read(notice.Call{Status: leading(said), Text: said}, at).Failure()
		failure.Notice = text // whole: what the model seemed to say is compared with it
		return r.failed("result", "is_error=true "+failure.Code, failure)
	}
	return append(r.fold.Unknown(r.line, "result", "is_error"), r.end(paceline.OutcomeIncomplete, paceline.Failure{})...)
}

// leading is the HTTP status with which a text begins, 0 where none does.
func leading(text string) int64 {
	if len(text) < 4 || text[3] != ' ' {
		return 0
	}
	if n := gjson.Parse(text[:3]); n.Type == gjson.Number && n.Int() >= 400 && n.Int() < 600 {
		return n.Int()
	}
	return 0
}
