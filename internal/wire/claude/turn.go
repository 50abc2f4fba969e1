package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

func (r *Reader) delta(f frame) []wire.Event {
	w, says := weighEvent(f)
	var events []wire.Event
	if w == working && !f.child {
		events = r.within(events)
		switch f.event.Get("type").Str {
		case "message_start": // it answers again: what failed before did not end the turn
			r.turn.fault, r.turn.streamed = nil, f.event.Get("message.id").String()
		case "content_block_delta":
			if d := f.event.Get("delta"); d.Get("type").Str == "text_delta" {
				events = append(events, wire.Event{Kind: wire.Text, Line: r.line, Text: d.Get("text").String()})
			}
		}
	}
	return r.count(events, f, w, says)
}

func (r *Reader) assistant(f frame) []wire.Event {
	var a assistantFrame
	if json.Unmarshal(f.body, &a) != nil {
		return r.count(nil, f, unread, func() string { return "a body that does not fit" })
	}
	switch {
	case f.child:
		// Even a failed call of a subagent: that it exists is its parent's work, and
		// its parent may go on.
	case a.failure():
		return r.failure(f, a)
	case a.local():
		return nil
	}
	var events []wire.Event
	if !f.child {
		events = r.within(events)
		r.turn.fault = nil
	}
	for _, b := range a.Message.Content {
		switch {
		case b.Type == "tool_use":
			events = append(events, wire.Event{Kind: wire.Tool, Line: r.line, Name: b.Name, ID: b.ID, Detail: wire.Brief(string(b.Input)), OK: looks[b.Name]})
		case b.Type == "text" && !f.child && (a.Message.ID == "" || r.turn.streamed != a.Message.ID):
			events = append(events, wire.Event{Kind: wire.Text, Line: r.line, Text: b.Text})
		}
	}
	return r.count(events, f, working, func() string { return "content=" + a.Message.Content.types() })
}

// looks are the program's own tools that change nothing: one that was cut has
// left nothing behind. A tool of the same name that a server brings is called
// mcp__SERVER__NAME.
var looks = map[string]bool{
	"Read": true, "Glob": true, "Grep": true, "LS": true, "NotebookRead": true, "WebSearch": true, "WebFetch": true, "ToolSearch": true,
}

// failure reads a frame that carries a failed call. It is no work (F7). A usage
// limit is certain from here on, a tenth of a second before the result.
func (r *Reader) failure(f frame, a assistantFrame) []wire.Event {
	events := r.within(nil)
	t := r.turn
	t.fault, t.notice = &a.fault, a.Message.Content.text()
	read := a.read(t.notice, "", r.last)
	t.failed = r.spot(f, a.says(), means(read.Cause))
	if read.Cause != paceline.CauseUsageLimit || t.limited {
		return events
	}
	t.limited = true
	read.Work, read.Evidence = t.work, r.evidence(t, read)
	return append(events, wire.Event{Kind: wire.Limited, Line: r.line, Cause: read.Cause, Code: read.Code, Failure: &read})
}

// evidence lists what a failure was read from: the work, the window, the call.
func (r *Reader) evidence(t *turn, read paceline.Failure) []paceline.Evidence {
	out := slices.Clone(t.seen)
	if read.Cause == paceline.CauseUsageLimit && r.lastLine > 0 && r.last.reset() == read.Reset && read.Reset.Known() {
		out = append(out, paceline.Evidence{Frame: "rate_limit_event", Line: r.lastLine, Says: r.last.says(), Means: "reset"})
	}
	if t.fault != nil {
		out = append(out, t.failed)
	}
	return out
}

func (r *Reader) user(f frame) []wire.Event {
	var u userFrame
	if json.Unmarshal(f.body, &u) != nil {
		return r.count(nil, f, unread, func() string { return "a body that does not fit" })
	}
	if u.note() && !f.child {
		if !u.Replay {
			return nil
		}
		return r.ack(nil, f.uuid, true)
	}
	var events []wire.Event
	if !f.child {
		events = r.within(events)
	}
	for _, b := range u.Message.Content {
		if b.Type == "tool_result" {
			events = append(events, wire.Event{Kind: wire.ToolDone, Line: r.line, ID: b.ToolUse, OK: !b.IsError})
		}
	}
	if path := u.file(); path != "" {
		events = append(events, wire.Event{Kind: wire.File, Line: r.line, Name: path})
	}
	return r.count(events, f, working, func() string { return "content=" + u.Message.Content.types() })
}

// ack says once that the program has a message. Taken means that a turn has
// taken it in, so that it will not open one of its own.
func (r *Reader) ack(events []wire.Event, uuid string, taken bool) []wire.Event {
	if t := r.turn; t != nil && taken {
		if i := slices.Index(r.queued, uuid); i >= 0 {
			r.queued = slices.Delete(r.queued, i, i+1)
		}
		if t.uuid == "" {
			t.uuid = uuid
		}
	}
	if uuid == "" || r.acked[uuid] {
		return events
	}
	r.acked[uuid] = true
	return append(events, wire.Event{Kind: wire.Acked, Line: r.line, UUID: uuid})
}

func (r *Reader) lifecycle(f frame) []wire.Event {
	var c struct {
		UUID  string `json:"command_uuid"`
		State string `json:"state"`
	}
	_ = json.Unmarshal(f.body, &c) // unreadable is no acknowledgement
	switch c.State {
	case "queued":
		return r.ack(nil, c.UUID, false)
	case "started", "completed":
		return r.ack(nil, c.UUID, true)
	}
	return nil
}

func (r *Reader) limit(f frame) []wire.Event {
	var l limitFrame
	if json.Unmarshal(f.body, &l) != nil || l.Info.Status == "" {
		return r.count(nil, f, unread, func() string { return "a body that does not fit" })
	}
	r.last, r.lastLine = l.Info, r.line
	if !l.Info.Overage || r.overage {
		return nil
	}
	r.overage = true
	text := "paid overage is in use"
	if l.Info.Type != "" {
		text += ": the " + word(l.Info.Type) + " window is used up"
	}
	return []wire.Event{{Kind: wire.Overage, Line: r.line, Text: text, Failure: &paceline.Failure{
		Cause: paceline.CauseUsageLimit, Code: "overage", Reset: l.Info.reset(), Scope: word(l.Info.Type), Notice: text,
		Evidence: []paceline.Evidence{{Frame: "rate_limit_event", Line: r.line, Says: "isUsingOverage=true", Means: "usage limit"}},
	}}}
}

func (r *Reader) request(f frame) []wire.Event {
	w, says := weighRequest(f)
	var events []wire.Event
	if c, ok := ParseControl(f.body); ok && (c.Subtype == "can_use_tool" || c.Subtype == "elicitation") {
		events = r.within(events)
		name := c.Tool
		if name == "" {
			name = c.Subtype
		}
		events = append(events, wire.Event{Kind: wire.Approval, Line: r.line, Name: name, ID: c.RequestID, Detail: c.About})
	}
	return r.count(events, f, w, says)
}

func (r *Reader) system(f frame) []wire.Event {
	w, says := r.weigh(f)
	var events []wire.Event
	switch f.sub {
	case "init":
		return r.init(f)
	case "api_retry":
		var a retryFrame
		if json.Unmarshal(f.body, &a) != nil {
			return r.count(nil, f, unread, func() string { return "a body that does not fit" })
		}
		delay := time.Duration(0)
		if a.Delay > 0 && a.Delay < 1e10 { // within what a Duration holds
			delay = time.Duration(a.Delay * float64(time.Millisecond))
		}
		return append(r.within(nil), wire.Event{Kind: wire.Retrying, Line: r.line, Cause: a.cause(), Code: a.code(), Delay: delay})
	case "model_fallback":
		var m struct {
			From string `json:"original_model"`
			To   string `json:"fallback_model"`
			Why  string `json:"trigger"`
		}
		if json.Unmarshal(f.body, &m) == nil && m.To != "" {
			text := fmt.Sprintf("claude went on with %s instead of %s (%s)", word(m.To), word(m.From), word(m.Why))
			events = append(events, wire.Event{Kind: wire.Announcement, Line: r.line, Text: text})
		}
	case "task_started", "task_progress", "task_updated", "task_notification":
		if r.earlier(f) {
			return nil
		}
	}
	return r.count(events, f, w, says)
}

// earlier reports whether a background task was begun by an earlier turn: what
// becomes of it is that turn's work, not this one's.
func (r *Reader) earlier(f frame) bool {
	var task struct {
		ID string `json:"task_id"`
	}
	if json.Unmarshal(f.body, &task) != nil || task.ID == "" || r.turn == nil {
		return false
	}
	began, ok := r.tasks[task.ID]
	if !ok {
		r.tasks[task.ID] = r.turn.n
		return false
	}
	return began != r.turn.n
}

// init opens the conversation; it is repeated at the start of every turn. A
// login and no credential at all look the same in it, so that only a key tells
// the posture.
func (r *Reader) init(f frame) []wire.Event {
	// It lists every tool, skill and server; three words of it count.
	if !gjson.ValidBytes(f.body) {
		return r.count(nil, f, unread, func() string { return "a body that does not fit" })
	}
	events := r.within(nil)
	said := gjson.GetManyBytes(f.body, "session_id", "model", "apiKeySource")
	e := wire.Event{Kind: wire.Opened, Conversation: paceline.ConversationID(said[0].String()), Model: said[1].String()}
	if key := said[2].String(); key != "" && key != "none" {
		e.Posture = paceline.PostureMetered
	}
	if same(e, r.opened) {
		return events
	}
	r.opened = e
	e.Line = r.line
	return append(events, e)
}

func same(a, b wire.Event) bool {
	return a.Kind == b.Kind && a.Conversation == b.Conversation && a.Model == b.Model && a.Posture == b.Posture
}
