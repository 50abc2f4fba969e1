package codex

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// exec takes in a line of `codex exec --json`. It has neither codes nor limits:
// a failure's own message is all there is.
func (r *Reader) exec(f gjson.Result, at time.Time) []wire.Event {
	switch kind := f.Get("type").String(); kind {
	case "thread.started":
		r.root = f.Get("thread_id").String()
		r.open(r.root)
		return []wire.Event{{Kind: wire.Opened, Line: r.line, Conversation: paceline.ConversationID(r.root)}}
	case "turn.started":
		if r.turn == nil {
			r.open("")
		}
		return []wire.Event{{Kind: wire.Acked, Line: r.line}}
	case "item.started", "item.updated", "item.completed":
		return r.execItem(kind, f.Get("item"))
	case "error":
		// The same type tells of a retry and of the end; only turn.failed is final.
		if r.turn == nil {
			return nil
		}
		text := f.Get("message").String()
		return []wire.Event{{Kind: wire.Retrying, Line: r.line, Cause: worded(text)}}
	case "turn.completed":
		if r.turn == nil {
			return nil
		}
		r.see(kind, "", "completed")
		return r.end(paceline.OutcomeCompleted)
	case "turn.failed":
		if r.turn == nil {
			return nil
		}
		failure := r.classify(f.Get("error"), at)
		r.turn.failure = &failure
		r.see(kind, "", failure.Cause.String())
		return r.end(paceline.OutcomeFailed)
	default:
		return r.unknown(kind, "")
	}
}

func (r *Reader) execItem(frame string, it gjson.Result) []wire.Event {
	if r.turn == nil {
		return nil
	}
	switch kind := it.Get("type").String(); kind {
	case "error":
		return nil // a warning
	case "agent_message":
		events := r.work(frame, kind)
		if frame == "item.completed" {
			r.turn.answer.WriteString(it.Get("text").String())
			events = append(events, wire.Event{Kind: wire.Text, Line: r.line, Text: it.Get("text").String()})
		}
		return events
	case "reasoning", "command_execution", "file_change", "collab_tool_call", "mcp_tool_call", "web_search", "todo_list":
		return r.work(frame, kind)
	default:
		return r.unknown(frame, kind)
	}
}
