package codex

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// idle are the notifications that are not work, whatever they carry. Everything
// that is neither here nor an item is unknown, and makes work unknown.
var idle = map[string]bool{
	"warning": true, "guardianWarning": true, "deprecationNotice": true, "configWarning": true,
	"serverRequest/resolved": true, "skills/changed": true, "app/list/updated": true, "project/changed": true,
	"thread/tokenUsage/updated": true, // sent after a failed request as well; output shows as items
	"thread/compacted":          true,
}

// idleHooks run around a turn, not because of what was done in it (F49). Every
// other hook is work, and so is one with a name that this build does not know.
var idleHooks = map[string]bool{
	"sessionStart": true, "sessionEnd": true, "userPromptSubmit": true, "preCompact": true, "postCompact": true,
	"preModelRequest": true, "interrupt": true,
}

var idlePrefix = []string{"thread/status", "thread/name", "thread/settings", "thread/goal", "thread/readState", "thread/environment", "thread/queue", "thread/closed", "thread/archived", "thread/unarchived", "thread/deleted", "thread/section", "thread/attachment", "thread/project", "thread/prediction", "account/", "mcpServer/", "remoteControl/", "model/", "modelProvider/", "fs/", "windows", "externalAgentConfig/", "fuzzyFileSearch/"}

// item takes in what happened within the turn.
func (r *Reader) item(method string, p gjson.Result, root bool) []wire.Event {
	if !strings.HasPrefix(method, "item/") {
		if root && method == "thread/tokenUsage/updated" {
			r.turn.counted()
		}
		return r.other(method, p)
	}
	it := p.Get("item")
	kind := it.Get("type").String()
	switch {
	case kind == "userMessage":
		return r.mine(it, root)
	case kind == "contextCompaction", kind == "hookPrompt", kind == "enteredReviewMode", kind == "exitedReviewMode":
		return nil // F3: compaction alone is not work; a review's marks are not its findings
	case kind == "agentMessage" && strings.HasPrefix(it.Get("text").String(), "Review was interrupted."):
		return nil
	case kind == "agentMessage" && method == "item/started":
		return append(r.begins(root, kind, it), r.work(method, kind)...) // F3
	}
	var events []wire.Event
	switch method {
	case "item/started":
		events = r.begins(root, kind, it)
	case "item/completed":
		r.turn.ends(it.Get("id").String())
	}
	events = append(events, r.work(method, kind)...)
	switch {
	case method == "item/agentMessage/delta" && root:
		r.turn.answer.WriteString(p.Get("delta").String())
		events = append(events, wire.Event{Kind: wire.Text, Line: r.line, Text: p.Get("delta").String()})
	case method == "item/completed" && kind == "agentMessage" && root:
		// A message that came without deltas is shown whole.
		if text := it.Get("text").String(); !strings.HasSuffix(r.turn.answer.String(), text) {
			r.turn.answer.WriteString(text)
			events = append(events, wire.Event{Kind: wire.Text, Line: r.line, Text: text})
		}
	case method == "item/started":
		events = append(events, begun(r.line, kind, it)...)
	case method == "item/completed":
		events = append(events, done(r.line, kind, it)...)
	}
	return events
}

// begins is an item of the model that begins. What a child does says nothing of
// its parent's commands.
func (r *Reader) begins(root bool, kind string, it gjson.Result) []wire.Event {
	if !root {
		return nil
	}
	return r.turn.begins(r.line, kind, it)
}

// mine is the echo of a message of ours.
func (r *Reader) mine(it gjson.Result, root bool) []wire.Event {
	if !root || r.turn.acked && it.Get("clientId").String() == "" {
		return nil
	}
	r.turn.acked = true
	return []wire.Event{{Kind: wire.Acked, Line: r.line, UUID: it.Get("clientId").String()}}
}

func begun(line int, kind string, it gjson.Result) []wire.Event {
	switch kind {
	case "reasoning", "agentMessage", "plan":
		return nil
	}
	return []wire.Event{{Kind: wire.Tool, Line: line, Name: kind, ID: it.Get("id").String(), Detail: wire.Brief(about(kind, it)), OK: kind == "webSearch" || kind == "imageView"}}
}

// about is what a call was asked to do.
func about(kind string, it gjson.Result) string {
	switch kind {
	case "commandExecution":
		return it.Get("command").String()
	case "fileChange":
		var paths []string
		for _, c := range it.Get("changes").Array() {
			paths = append(paths, c.Get("path").String())
		}
		return strings.Join(paths, "\n")
	}
	return it.Raw
}

func done(line int, kind string, it gjson.Result) (out []wire.Event) {
	switch kind {
	case "reasoning", "agentMessage", "plan":
		return nil
	case "fileChange": // F4
		for _, c := range it.Get("changes").Array() {
			out = append(out, wire.Event{Kind: wire.File, Line: line, Name: c.Get("path").String()})
		}
	}
	ok := it.Get("status").String() == "completed"
	return append(out, wire.Event{Kind: wire.ToolDone, Line: line, ID: it.Get("id").String(), OK: ok})
}

// other takes in what is not an item.
func (r *Reader) other(method string, p gjson.Result) []wire.Event {
	switch method {
	case "turn/diff/updated", "turn/plan/updated", "command/exec/outputDelta", "rawResponseItem/completed":
		return r.work(method, "")
	case "turn/moderationMetadata", "rawResponse/completed", "autoApprovalReview/strictReviewRequired":
		return nil
	}
	if strings.HasPrefix(method, "hook/") {
		if name := p.Get("run.eventName").String(); !idleHooks[name] {
			return r.work(method, name)
		}
		return nil
	}
	if idle[method] {
		return nil
	}
	for _, prefix := range idlePrefix {
		if strings.HasPrefix(method, prefix) {
			return nil
		}
	}
	return r.unknown(method, "")
}

// asked is a request of the server: it is work, since the model wanted to act
// (F3, F8, F50).
func (r *Reader) asked(method string, id, p gjson.Result) []wire.Event {
	switch method {
	case "account/chatgptAuthTokens/refresh", "attestation/generate", "currentTime/read":
		return nil
	}
	about := p.Get("command").String()
	if about == "" {
		about = p.Get("reason").String()
	}
	return append(r.work(method, ""), wire.Event{Kind: wire.Approval, Line: r.line, ID: id.Raw, Name: strings.TrimSuffix(strings.TrimPrefix(method, "item/"), "/requestApproval"), Detail: about})
}

// work notes the first work of the turn. It is never unseen again (F5).
func (r *Reader) work(frame, kind string) []wire.Event {
	if r.turn == nil || r.turn.work == paceline.WorkSome {
		return nil
	}
	r.turn.work = paceline.WorkSome
	e := paceline.Evidence{Frame: frame, Line: r.line, Says: kind, Means: "work"}
	r.turn.evidence = append(r.turn.evidence, e)
	return []wire.Event{{Kind: wire.Worked, Line: r.line, Evidence: e}}
}

// unknown is a frame that this build cannot read: work can no longer be ruled
// out.
func (r *Reader) unknown(frame, kind string) []wire.Event {
	e := paceline.Evidence{Frame: frame, Line: r.line, Says: kind, Means: "unknown"}
	events := []wire.Event{{Kind: wire.Unknown, Line: r.line, Evidence: e}}
	if r.turn != nil && r.turn.work == paceline.WorkNone {
		r.turn.work = paceline.WorkUnknown
		r.turn.evidence = append(r.turn.evidence, e)
		events = append(events, wire.Event{Kind: wire.Worked, Line: r.line, Evidence: e})
	}
	return events
}
