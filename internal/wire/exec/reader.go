// Package exec reads the programs that are run for one prompt and print a JSON
// line for each thing that they do, or nothing but an error: a file a program.
//
// Several say nothing while a call fails, and one line too few where they die.
// So the exit code and the standard error are told to the reader as well, and a
// turn without its end proves nothing.
package exec

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
	"github.com/paceline/paceline/internal/wire"
)

// program is what differs.
type program struct {
	frame  func(*Reader, gjson.Result, time.Time) []wire.Event
	stderr func(*Reader, string, time.Time) []wire.Event // nil where a line of it says nothing by itself
	status func(code int) int64                          // the HTTP status that an exit code stands for; nil where none does
	exits  map[int]paceline.Cause                        // exit codes that decide
}

var programs = map[string]program{
	"gemini":   gemini,
	"opencode": opencode,
	"qwen":     qwen,
	"copilot":  copilot,
	"grok":     grok,
	"kimi":     kimi,
	"pi":       pi,
}

// errMax is how much of the standard error is kept, in bytes. The reason comes
// last in none of the programs.
const errMax = 4 << 10

// Reader folds one child's lines. It is fed by one goroutine at a time. The
// prompt is in the arguments, so the turn is open from the start; there is one.
type Reader struct {
	program program
	line    int
	fold    *wire.Fold
	err     strings.Builder
	said    *paceline.Failure // of the last failed call, which the program may be trying again
}

// New returns a reader of that program that has seen nothing, or nil where this
// build knows no such program.
func New(name string) *Reader {
	p, ok := programs[name]
	if !ok {
		return nil
	}
	return &Reader{program: p, fold: wire.NewFold(1)}
}

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
	if r.fold == nil {
		return nil // after its end
	}
	return r.program.frame(r, gjson.ParseBytes(line), at)
}

// Stderr takes one line of the standard error in.
func (r *Reader) Stderr(line []byte, at time.Time) []wire.Event {
	if r.fold == nil {
		return nil
	}
	text := string(bytes.TrimSpace(line[:min(len(line), errMax)]))
	if room := errMax - r.err.Len(); room > 0 {
		r.err.WriteString(text[:min(room, len(text))] + "\n")
	}
	if r.program.stderr == nil {
		return nil
	}
	return r.program.stderr(r, text, at)
}

// Exit is told how the child ended; code is below zero where a signal ended it.
// A turn without its last line failed where the program says so by its code.
func (r *Reader) Exit(code int) []wire.Event {
	if r.fold == nil || code <= 0 || killed[code] {
		return nil
	}
	says := "exit " + strconv.Itoa(code)
	if c, ok := r.program.exits[code]; ok {
		return r.failed("exit", says, paceline.Failure{Cause: c, Code: says, Notice: firstLine(r.err.String()), Retryable: c == paceline.CauseAuth})
	}
	if r.said != nil {
		return append(r.fold.Doubt(0, "exit", says), r.failed("exit", says, *r.said)...)
	}
	c := notice.Call{Text: r.err.String()}
	if r.program.status != nil {
		c.Status = r.program.status(code)
	}
	f := notice.Read(c, time.Time{}).Failure()
	f.Notice = firstLine(f.Notice)
	if f.Code == "" {
		f.Code = says
	}
	var out []wire.Event
	if f.Cause != paceline.CauseAuth || c.Status != 0 {
		// Some tell of a tool when it has ended, or of nothing at all: only one
		// that could not even start is known to have done nothing.
		out = r.fold.Doubt(0, "exit", says)
	}
	return append(out, r.failed("exit", says, f)...)
}

// killed are the codes with which a shell, or timeout, tells of a signal.
var killed = map[int]bool{124: true, 130: true, 137: true, 143: true}

// Close ends the stream: an open turn has no end then. The last failed call
// that the program told of is kept: it is why nothing came.
func (r *Reader) Close() []wire.Event {
	if r.fold == nil {
		return nil
	}
	var f paceline.Failure
	if r.said != nil {
		f = *r.said
	}
	return r.end(paceline.OutcomeIncomplete, f)
}

func (r *Reader) completed() []wire.Event {
	return r.end(paceline.OutcomeCompleted, paceline.Failure{})
}

func (r *Reader) failed(frame, says string, f paceline.Failure) []wire.Event {
	r.fold.See(r.line, frame, says, f.Cause.String())
	return r.end(paceline.OutcomeFailed, f)
}

func (r *Reader) end(o paceline.Outcome, f paceline.Failure) []wire.Event {
	out := r.fold.End(r.line, o, f)
	r.fold = nil
	return out
}

// retrying is a failed call that the program says it makes again.
func (r *Reader) retrying(f paceline.Failure) []wire.Event {
	r.said = &f
	return []wire.Event{{Kind: wire.Retrying, Line: r.line, Cause: f.Cause, Code: f.Code}}
}

func (r *Reader) opened(id string) []wire.Event {
	return []wire.Event{{Kind: wire.Opened, Line: r.line, Conversation: paceline.ConversationID(id)}}
}

// errored is the one frame that programs share whose other frames were never
// measured: an error that ends the turn.
func (r *Reader) errored(f gjson.Result, at time.Time) []wire.Event {
	c := notice.Call{Text: f.Get("message").String(), Code: f.Get("code").String()}
	if e := f.Get("error"); e.IsObject() {
		c.Text, c.Code = e.Get("message").String(), e.Get("code").String()
	}
	failure := notice.Read(c, at).Failure()
	return r.failed("error", failure.Code, failure)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
