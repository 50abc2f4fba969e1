package acp

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline/internal/wire"
)

// idleNotes are notifications that no turn depends on. What is neither here nor
// an update is unknown.
var idleNotes = map[string]bool{
	"elicitation/complete": true, "$/cancel_request": true, "auth/status_update": true, "_auth/status_update": true,
	"_x.ai/session/setup": true, "_x.ai/mcp/servers_updated": true,
}

// acts are what an agent asks its client for because its model wants to act.
// A request is work whatever is answered (F3, F8, F50).
var acts = map[string]bool{
	"session/request_permission": true, "elicitation/create": true, "fs/read_text_file": true, "fs/write_text_file": true,
	"terminal/create": true, "terminal/output": true, "terminal/wait_for_exit": true, "terminal/kill": true, "terminal/release": true,
}

// updates are the kinds of session/update, and what each is within a turn.
// usage_update is idle: some agents send it after a failed call as well, and
// compaction alone is not work (F3).
var updates = map[string]meaning{
	"agent_message_chunk": says, "agent_thought_chunk": works, "tool_call": works, "tool_call_update": works, "plan": works,
	"user_message_chunk": idle, "available_commands_update": idle, "current_mode_update": idle, "config_option_update": idle,
	"session_info_update": idle, "usage_update": idle, "notice": idle, "compaction_update": idle, "compaction_summary_chunk": idle,
}

type meaning uint8

const (
	unknown meaning = iota
	idle
	says
	works
)

// request takes in what the agent asks for.
func (r *Reader) request(method string, id, p gjson.Result) []wire.Event {
	if !acts[method] {
		return r.fold.Unknown(r.line, method, "request")
	}
	if r.fold == nil {
		return nil
	}
	out := r.fold.Worked(r.line, method, p.Get("toolCall.kind").String())
	if method != "session/request_permission" && method != "elicitation/create" {
		return out
	}
	name := p.Get("toolCall.name").String()
	if name == "" {
		name = p.Get("toolCall.kind").String()
	}
	return append(out, wire.Event{Kind: wire.Approval, Line: r.line, Name: name, ID: id.Raw, Detail: p.Get("toolCall.title").String()})
}

// update takes in what the agent tells of its session. Between turns it replays
// the history of a conversation that is opened again, which is nobody's work.
func (r *Reader) update(u gjson.Result) []wire.Event {
	kind := u.Get("sessionUpdate").String()
	what := updates[kind]
	if r.bare && r.fold == nil && (what == says || what == works) {
		r.begin()
	}
	if what == says || what == works {
		r.went = r.line
	}
	switch {
	case what == unknown:
		return r.fold.Unknown(r.line, "session/update", kind)
	case what == idle, r.fold == nil:
		return nil
	case what == says:
		text := u.Get("content.text").String()
		if r.agent.Warns && !u.Get("messageId").Exists() && strings.HasPrefix(text, "Warning: ") {
			return nil
		}
		return r.fold.Hold(r.line, kind, text)
	}
	return append(r.fold.Worked(r.line, kind, u.Get("kind").String()), tool(r.line, kind, u)...)
}

func tool(line int, kind string, u gjson.Result) (out []wire.Event) {
	id, status := u.Get("toolCallId").String(), u.Get("status").String()
	if kind == "tool_call" {
		name := u.Get("name").String()
		if name == "" {
			name = u.Get("kind").String()
		}
		out = append(out, wire.Event{Kind: wire.Tool, Line: line, Name: name, ID: id, Detail: wire.Brief(u.Get("title").String())})
	}
	if status != "completed" && status != "failed" {
		return out
	}
	for _, path := range u.Get(`content.#(type=="diff")#.path`).Array() {
		out = append(out, wire.Event{Kind: wire.File, Line: line, Name: path.String()})
	}
	return append(out, wire.Event{Kind: wire.ToolDone, Line: line, ID: id, OK: status == "completed"})
}
