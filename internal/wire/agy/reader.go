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
	line  int
	turns int
	shown bool       // the stream shows steps: it began as it should
	fold  *wire.Fold // the open turn
	now   state      // what is known of it besides
	went  int        // the last line that was progress of a turn
}

// state is what a turn said besides its work.
type state struct {
	failed   bool              // an error_message step
	open     map[int64]bool    // steps that have not ended
	mute     bool              // the last step was a tool that told neither output nor error
	held     *held             // its result, if that is an error
	api      *paceline.Failure // AGY_ERROR
	log      paceline.Cause    // proved by the log
	notice   *paceline.Failure // told by the log alone
	timeout  bool              // --print-timeout ran out
	unsigned bool              // signed out, or offline: the same words
	lost     bool              // the conversation that was asked for is not there
}

// held is a result that says ERROR. Why is said after it, on the standard error
// and in the log, so it waits for what follows.
type held struct {
	text string
	at   time.Time
}

// Went is the last line that was progress of a turn; 0 is none.
func (r *Reader) Went() int { return r.went }

// Running reports whether a turn is open.
func (r *Reader) Running() bool { return r.fold != nil }

// Held reports whether a turn has failed and waits for the end of its process to
// say why.
func (r *Reader) Held() bool { return r.fold != nil && r.now.held != nil }

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
	if kind == "user_input" && r.Held() {
		// The process went on, so that turn's word is its last.
		return append(r.settle(), r.step(s)...)
	}
	if r.fold == nil && kind == "user_input" {
		r.turns++
		r.fold = wire.NewFold(r.turns)
	}
	if r.fold == nil {
		return nil // of a turn that is over
	}
	r.went, r.now.mute = r.line, false
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
	case "checkpoint", "system_message":
		return nil // it shortens the conversation, or tells it that it was resumed: F3
	case "agent_response":
		if text := s.Get("text_delta").String(); text != "" {
			return r.fold.Said(r.line, kind, text)
		}
		return r.fold.Worked(r.line, "step_update", kind)
	case "tool":
		return append(r.fold.Worked(r.line, "step_update", kind), r.tool(s)...)
	case "subagent":
		// Its own calls are told nowhere.
		return r.fold.Worked(r.line, "step_update", kind)
	}
	return r.fold.Unknown(r.line, "step_update", kind)
}

// looks are the tools that change nothing.
var looks = map[string]bool{"view_file": true, "list_dir": true, "grep_search": true, "find_by_name": true, "read_url_content": true, "search_web": true}

// tool is a call of one. What it is given is told in part: a written file by its
// path, a command by its line.
func (r *Reader) tool(s gjson.Result) []wire.Event {
	id, info := s.Get("step_index").Raw, s.Get("tool_info")
	name, state := info.Get("name").String(), s.Get("state").String()
	if state == "ACTIVE" {
		return []wire.Event{{Kind: wire.Tool, Line: r.line, Name: name, ID: id, Detail: wire.Brief(info.Get("parameters").Raw), OK: looks[name]}}
	}
	ok := state == "DONE" && !info.Get("error").Exists()
	r.now.mute = info.Get("output").String() == "" && !info.Get("error").Exists()
	out := []wire.Event{{Kind: wire.ToolDone, Line: r.line, ID: id, OK: ok}}
	if file := info.Get("parameters.TargetFile").String(); ok && file != "" {
		out = append(out, wire.Event{Kind: wire.File, Line: r.line, Name: file})
	}
	return out
}

// result ends the turn. After an error the status of every later turn of the
// conversation says ERROR as well, with the old text: it is believed only of a
// turn that shows an error of its own, or nothing at all.
func (r *Reader) result(res gjson.Result, at time.Time) []wire.Event {
	if r.fold == nil {
		return nil
	}
	status, text := res.Get("status").String(), res.Get("error").String()
	r.fold.See(r.line, "result", "status="+status, "")
	// The list of denials is the conversation's, each kind once: it does not tell
	// whether this turn was denied anything. That a turn ends with a silent call
	// and no answer does.
	denied := res.Get("response").String() == "" && len(res.Get("denied_actions").Array()) > 0 && r.now.mute
	switch {
	case status == "ERROR" && text == "interrupted":
		return r.end(paceline.OutcomeInterrupted, paceline.Failure{Cause: paceline.CauseStopped})
	case r.now.failed || r.now.api != nil || status == "ERROR" && r.fold.Work != paceline.WorkSome:
		r.now.held = &held{text, at}
		return nil
	case r.now.timeout || status == "SUCCESS" && len(r.now.open) > 0:
		return r.end(paceline.OutcomeIncomplete, paceline.Failure{Cause: paceline.CauseOther, Code: "print_timeout", Retryable: true})
	case denied:
		return r.end(paceline.OutcomeFailed, paceline.Failure{
			Cause: paceline.CauseOther, Code: "denied", Notice: "it was denied a permission, and ended its turn: it asks nobody where nobody sits at it",
		})
	case status != "SUCCESS" && status != "ERROR":
		return append(r.fold.Unknown(r.line, "result", "status"), r.end(paceline.OutcomeIncomplete, paceline.Failure{})...)
	case r.fold.Work != paceline.WorkSome:
		return r.end(paceline.OutcomeIncomplete, paceline.Failure{Code: "empty"}) // a success of nothing
	}
	if r.now.lost {
		return r.end(paceline.OutcomeCompleted, paceline.Failure{Code: "new_conversation"})
	}
	return r.end(paceline.OutcomeCompleted, paceline.Failure{})
}

// settle ends the turn whose result was held, by all that was said meanwhile.
func (r *Reader) settle() []wire.Event {
	if r.now.api != nil {
		return r.end(paceline.OutcomeFailed, *r.now.api)
	}
	return r.failed(r.now.held.text, r.now.held.at)
}

// failed ends the turn by its own error text.
func (r *Reader) failed(text string, at time.Time) []wire.Event {
	if r.now.unsigned || unsigned(text) {
		return r.unsigned(text)
	}
	return r.end(paceline.OutcomeFailed, notice.Read(notice.Call{Text: text}, at).Failure())
}

// Unsigned is the code of a failure that is a sign-out or a missing network, and
// nothing tells which.
const Unsigned = "signed_out_or_offline"

// unsigned ends a turn that was refused in words that agy has for a sign-out
// and for a missing network alike. Only its log tells them apart.
func (r *Reader) unsigned(text string) []wire.Event {
	f := paceline.Failure{Cause: r.now.log, Code: "signed_out", Notice: text, Retryable: true}
	switch r.now.log {
	case paceline.CauseAuth:
	case paceline.CauseTransport:
		f.Code = "offline"
	default:
		f.Cause, f.Code = paceline.CauseOther, Unsigned
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
	if r.Held() {
		return r.settle()
	}
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
	switch {
	case r.fold == nil:
		return nil
	case r.Held():
		return r.settle()
	}
	return r.end(paceline.OutcomeIncomplete, paceline.Failure{})
}
