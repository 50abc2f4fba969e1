// Package acp reads any agent that speaks the Agent Client Protocol, version 1:
// JSON-RPC, a message a line, in both directions. What agents do differently is
// in agents.go.
//
// The protocol has no error and no stop reason for a limit, and both sides count
// their request ids from 0: an answer is told from a request by its method.
package acp

import (
	"bytes"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
	"github.com/paceline/paceline/internal/wire"
)

// Reader folds one agent's lines. It is fed by one goroutine at a time.
type Reader struct {
	line      int
	turns     int
	agent     Agent
	asked     map[string]string // our open requests: method by id
	prompt    string            // the id of the open session/prompt
	cancelled bool              // we cancelled it
	bare      bool              // only the agent's side is told: a turn is known by its first work, or its end
	fold      *wire.Fold        // the open turn
	went      int               // the last line that was progress of the turn
}

// New returns a reader that has seen nothing. Which agent it is, it learns from
// the answer to initialize; name is what it is taken for until then, "" where
// nobody knows.
func New(name string) *Reader {
	return &Reader{bare: true, asked: map[string]string{}, agent: Named(name)}
}

// Sent tells the reader what was written to the agent.
func (r *Reader) Sent(line []byte) {
	f := gjson.GetManyBytes(line, "method", "id")
	method := f[0].String()
	r.bare = false
	switch {
	case method == "session/cancel":
		r.cancelled = true
	case method == "session/prompt" && r.fold == nil:
		r.begin()
		r.prompt = f[1].Raw
	case method != "" && f[1].Exists():
		r.asked[f[1].Raw] = method
	}
}

func (r *Reader) begin() {
	r.turns++
	r.cancelled = false
	r.fold = wire.NewFold(r.turns)
}

// Observe takes one line of the agent in.
func (r *Reader) Observe(line []byte, at time.Time) []wire.Event {
	r.line++
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if !gjson.ValidBytes(line) || line[0] != '{' {
		return r.fold.Unknown(r.line, "garbage", "")
	}
	f := gjson.ParseBytes(line)
	method, id := f.Get("method").String(), f.Get("id")
	switch {
	case method == "session/update":
		return r.update(f.Get("params.update"))
	case method != "" && id.Exists():
		return r.request(method, id, f.Get("params"))
	case method != "":
		if idleNotes[method] {
			return nil
		}
		return r.fold.Unknown(r.line, method, "")
	case id.Exists() && r.fold != nil && id.Raw == r.prompt:
		return r.answered(f, at)
	case r.bare && (f.Get("result.stopReason").Exists() || f.Get("error").IsObject()):
		if r.fold == nil {
			r.begin()
		}
		return r.answered(f, at)
	case id.Exists():
		return r.opened(f, id.Raw, at)
	}
	return r.fold.Unknown(r.line, "line without a method", "")
}

// opened takes in the answer to a request of ours that is not a prompt.
func (r *Reader) opened(f gjson.Result, id string, at time.Time) []wire.Event {
	if name := f.Get("result.agentInfo.name"); name.Exists() {
		r.agent = Named(name.String())
	}
	method := r.asked[id]
	delete(r.asked, id)
	e := f.Get("error")
	switch {
	case e.IsObject() && (method == "initialize" || method == "authenticate" || method == "session/new") && r.fold == nil:
		// There will be no turn: it is this one that failed.
		r.begin()
		return r.failed(method, e, at)
	case method == "session/new" && f.Get("result.sessionId").Exists():
		return []wire.Event{{Kind: wire.Opened, Line: r.line, Conversation: paceline.ConversationID(f.Get("result.sessionId").String())}}
	case e.IsObject() && (method == "session/load" || method == "session/resume"):
		return []wire.Event{{Kind: wire.Announcement, Line: r.line, Text: "the agent could not open the conversation again"}}
	}
	return nil
}

// answered ends the turn.
func (r *Reader) answered(f gjson.Result, at time.Time) []wire.Event {
	if e := f.Get("error"); e.IsObject() {
		return r.failed("session/prompt", e, at)
	}
	reason := f.Get("result.stopReason").String()
	r.fold.See(r.line, "session/prompt", "stopReason="+reason, "")
	switch {
	case reason == "cancelled", reason == "end_turn" && r.cancelled:
		// An agent that was silent about a limit says end_turn when it is cancelled.
		return r.end(paceline.OutcomeInterrupted, paceline.Failure{Cause: paceline.CauseStopped})
	case reason == "end_turn":
		settled := r.fold.Settle("")
		if r.fold.Work == paceline.WorkNone {
			// Ended, and nothing was said or done: an agent that swallowed a failure.
			return append(settled, r.end(paceline.OutcomeFailed, paceline.Failure{Cause: paceline.CauseOther, Code: "empty", Retryable: true})...)
		}
		return append(settled, r.end(paceline.OutcomeCompleted, paceline.Failure{})...)
	case reason == "max_tokens", reason == "max_turn_requests", reason == "refusal":
		return r.end(paceline.OutcomeFailed, paceline.Failure{Cause: paceline.CauseOther, Code: reason})
	}
	return append(r.fold.Unknown(r.line, "session/prompt", "stopReason"), r.end(paceline.OutcomeIncomplete, paceline.Failure{})...)
}

// failed ends the turn by an error of the protocol.
func (r *Reader) failed(method string, e gjson.Result, at time.Time) []wire.Event {
	failure := classify(e, at)
	r.fold.See(r.line, method, "error "+failure.Code, failure.Cause.String())
	return r.end(paceline.OutcomeFailed, failure)
}

func (r *Reader) end(o paceline.Outcome, f paceline.Failure) []wire.Event {
	out := r.fold.End(r.line, o, f)
	r.fold, r.prompt = nil, ""
	return out
}

// Went is the last line that was progress of the turn, 0 where none was.
func (r *Reader) Went() int { return r.went }

// Running reports whether a turn is open.
func (r *Reader) Running() bool { return r.fold != nil }

// Close ends the stream: an open turn has no end then.
func (r *Reader) Close() []wire.Event {
	if r.fold == nil {
		return nil
	}
	return r.end(paceline.OutcomeIncomplete, paceline.Failure{})
}

// AuthRequired is the protocol's own code for a sign-out.
const AuthRequired = -32000

// classify reads an error. Its code and the agent's own word decide before its
// text does.
func classify(e gjson.Result, at time.Time) paceline.Failure {
	code := e.Get("code").Int()
	text := strings.TrimPrefix(e.Get("message").String(), "Internal error")
	text = strings.TrimPrefix(text, ": ")
	for _, path := range []string{"data.message", "data.details"} {
		if s := e.Get(path); s.Type == gjson.String && !strings.Contains(text, s.String()) {
			text = strings.TrimSpace(text + " " + s.String())
		}
	}
	if code == AuthRequired {
		return paceline.Failure{Cause: paceline.CauseAuth, Code: "-32000", Notice: text, Retryable: true}
	}
	c := notice.Call{Text: text}
	for _, path := range []string{"data.errorKind", "data.codexErrorInfo", "data.errorName"} {
		if word := e.Get(path); word.Type == gjson.String {
			c.Code = word.String()
			break
		}
	}
	if code >= 400 && code < 600 {
		c.Status = code
	}
	f := notice.Read(c, at).Failure()
	f.Status = int(c.Status)
	if f.Code == "" {
		f.Code = e.Get("code").Raw
	}
	return f
}
