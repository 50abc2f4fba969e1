// Package agy reads Antigravity's agy: the lines of --output-format stream-json,
// what it writes on its standard error, its log, and its exit code. It is the
// only place that knows its words.
//
// Its exit code 0 and its status SUCCESS hide failures: a print timeout, a
// denied permission, a conversation that was not found. Its status ERROR stays
// for every later turn of a conversation. So a turn is judged by its own steps
// and by what was said on the standard error meanwhile.
package agy

import (
	"bytes"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
	"github.com/paceline/paceline/internal/wire"
)

// Reader folds one child's lines. It is fed by one goroutine at a time. The
// prompt is in the arguments or the first line of the input, so the first turn
// is open from the start.
type Reader struct {
	line   int
	turns  int
	shown  bool       // the stream shows steps: it began as it should
	fold   *wire.Fold // the open turn
	now    state      // what is known of it besides
	sticky string     // the error that the conversation's status repeats
	denied int        // how many denials earlier turns had; the list is cumulative
}

// state is what a turn said besides its work.
type state struct {
	failed   bool              // an error_message step
	open     map[int64]bool    // steps that have not ended
	api      *paceline.Failure // AGY_ERROR
	log      paceline.Cause    // proved by the log
	notice   *paceline.Failure // told by the log alone
	timeout  bool              // --print-timeout ran out
	unsigned bool              // signed out, or offline: the same words
	lost     bool              // the conversation that was asked for is not there
}

// New returns a reader that has seen nothing.
func New() *Reader { return &Reader{turns: 1, fold: wire.NewFold(1)} }

// Observe takes one line of the standard output in.
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
	switch event := f.Get("event").String(); event {
	case "init":
		return r.opened(f.Get("conversation_id").String(), f.Get("init.model").String())
	case "step_update":
		return r.step(f.Get("step_update"))
	case "result":
		return r.result(f.Get("result"), at)
	default:
		if event == "" && f.Get("command").IsObject() {
			r.fold = nil // a slash command that agy answered itself: there is no turn
			return nil
		}
		return r.fold.Unknown(r.line, event, "")
	}
}

// opened is the conversation's id. agy goes on in a new one, without an error,
// where the one that was asked for is not there.
func (r *Reader) opened(id, model string) []wire.Event {
	r.shown = true
	return []wire.Event{{Kind: wire.Opened, Line: r.line, Conversation: paceline.ConversationID(id), Model: model}}
}

// step takes in what happened within the turn.
func (r *Reader) step(s gjson.Result) []wire.Event {
	kind := s.Get("step_type").String()
	if r.fold == nil && kind == "user_input" {
		r.turns++
		r.fold = wire.NewFold(r.turns)
	}
	if r.fold == nil {
		return nil // of a turn that is over
	}
	switch index := s.Get("step_index").Int(); s.Get("state").String() {
	case "ACTIVE":
		if r.now.open == nil {
			r.now.open = map[int64]bool{}
		}
		r.now.open[index] = true
	default:
		delete(r.now.open, index)
	}
	switch kind {
	case "user_input":
		return []wire.Event{{Kind: wire.Acked, Line: r.line}}
	case "error_message":
		r.now.failed = true
		r.fold.See(r.line, "step_update", kind, "failed")
		return nil
	case "checkpoint":
		return nil // it shortens the conversation: F3
	case "agent_response":
		if text := s.Get("text_delta").String(); text != "" {
			return r.fold.Said(r.line, kind, text)
		}
		return r.fold.Worked(r.line, "step_update", kind)
	case "tool":
		return append(r.fold.Worked(r.line, "step_update", kind), r.tool(s)...)
	}
	return r.fold.Unknown(r.line, "step_update", kind)
}

func (r *Reader) tool(s gjson.Result) []wire.Event {
	id := s.Get("step_index").Raw
	switch s.Get("state").String() {
	case "ACTIVE":
		return []wire.Event{{Kind: wire.Tool, Line: r.line, Name: s.Get("tool_info.name").String(), ID: id}}
	default:
		ok := s.Get("state").String() == "DONE" && !s.Get("tool_info.error").Exists()
		return []wire.Event{{Kind: wire.ToolDone, Line: r.line, ID: id, OK: ok}}
	}
}

// result ends the turn.
func (r *Reader) result(res gjson.Result, at time.Time) []wire.Event {
	if r.fold == nil {
		return nil
	}
	status, text := res.Get("status").String(), res.Get("error").String()
	denials := len(res.Get("denied_actions").Array())
	anew := denials > r.denied
	r.denied = denials
	stale := status == "ERROR" && r.sticky != "" && text == r.sticky && !r.now.failed
	if status == "ERROR" && !stale {
		r.sticky = text
	}
	r.fold.See(r.line, "result", "status="+status, "")
	switch {
	case r.now.api != nil:
		return r.end(paceline.OutcomeFailed, *r.now.api)
	case r.now.failed || status == "ERROR" && !stale:
		return r.failed(text, at)
	case r.now.timeout || status == "SUCCESS" && len(r.now.open) > 0:
		return r.end(paceline.OutcomeIncomplete, paceline.Failure{Cause: paceline.CauseOther, Code: "print_timeout", Retryable: true})
	case anew:
		return r.end(paceline.OutcomeFailed, paceline.Failure{Cause: paceline.CauseOther, Code: "denied"})
	case status != "SUCCESS" && !stale:
		return append(r.fold.Unknown(r.line, "result", "status"), r.end(paceline.OutcomeIncomplete, paceline.Failure{})...)
	case r.fold.Work != paceline.WorkSome:
		return r.end(paceline.OutcomeIncomplete, paceline.Failure{Code: "empty"}) // a success of nothing
	}
	if r.now.lost {
		return r.end(paceline.OutcomeCompleted, paceline.Failure{Code: "new_conversation"})
	}
	return r.end(paceline.OutcomeCompleted, paceline.Failure{})
}

// failed ends the turn by its own error text.
func (r *Reader) failed(text string, at time.Time) []wire.Event {
	if text == "interrupted" {
		return r.end(paceline.OutcomeInterrupted, paceline.Failure{Cause: paceline.CauseStopped})
	}
	if r.now.unsigned || unsigned(text) {
		return r.unsigned(text)
	}
	return r.end(paceline.OutcomeFailed, notice.Read(notice.Call{Text: text}, at).Failure())
}

// unsigned ends a turn that was refused in words that agy has for a sign-out
// and for a missing network alike. Only its log tells them apart.
func (r *Reader) unsigned(text string) []wire.Event {
	f := paceline.Failure{Cause: r.now.log, Code: "signed_out", Notice: text, Retryable: true}
	switch r.now.log {
	case paceline.CauseAuth:
	case paceline.CauseTransport:
		f.Code = "offline"
	default:
		f.Cause, f.Code = paceline.CauseOther, "signed_out_or_offline"
	}
	return r.end(paceline.OutcomeFailed, f)
}

func unsigned(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "authentication failed or timed out") || strings.Contains(text, "authentication required") ||
		strings.Contains(text, "authentication timed out")
}

func (r *Reader) end(o paceline.Outcome, f paceline.Failure) []wire.Event {
	out := r.fold.End(r.line, o, f)
	r.fold, r.now = nil, state{}
	return out
}

// Exit is told how the child ended; code is below zero where a signal ended it.
// A turn without a result fails here, if its program said that it did.
func (r *Reader) Exit(code int) []wire.Event {
	if r.fold == nil || code == 0 && r.now.notice == nil || code < 0 || code == 124 || code > 128 {
		return nil
	}
	if r.now.unsigned {
		return r.unsigned("")
	}
	var out []wire.Event
	if !r.shown {
		out = r.fold.Doubt(0, "exit", "no step was shown")
	}
	f := paceline.Failure{Cause: paceline.CauseOther, Code: "exit"}
	switch {
	case r.now.api != nil:
		f = *r.now.api
	case r.now.notice != nil:
		f = *r.now.notice
	}
	return append(out, r.end(paceline.OutcomeFailed, f)...)
}

// Close ends the stream: an open turn has no end then.
func (r *Reader) Close() []wire.Event {
	if r.fold == nil {
		return nil
	}
	return r.end(paceline.OutcomeIncomplete, paceline.Failure{})
}
