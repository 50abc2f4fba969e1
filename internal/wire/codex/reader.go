package codex

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
	"github.com/paceline/paceline/internal/wire"
)

// Form is which of the two streams is read.
type Form uint8

const (
	AppServer Form = iota // JSON-RPC
	Exec                  // codex exec --json
)

// Reader folds one child's lines. It is fed by one goroutine at a time.
type Reader struct {
	form     Form
	line     int
	went     int             // the last line that was progress
	root     string          // the root conversation; "" until it is known
	opening  map[string]bool // ids of our requests that open a conversation
	starting map[string]bool // ids of our turn/start requests
	old      []string        // ids of turns that have ended
	limits   gjson.Result    // the latest snapshot
	turns    int
	turn     *turn
	below    []Active // turns that run in other conversations than the root
}

// Active names a turn that runs.
type Active struct{ Thread, Turn string }

// Active lists every turn that runs, the root's first.
func (r *Reader) Active() []Active {
	var out []Active
	if t := r.Turn(); t != "" {
		out = append(out, Active{r.root, t})
	}
	return append(out, r.below...)
}

// Went is the last line that was progress of the turn or of one below it, 0
// where none was. Not all of it is work: a compaction is none (R21), nor is a
// message of ours (R22).
func (r *Reader) Went() int { return r.went }

// going begins the names of notifications that are progress.
var going = []string{"item/", "turn/", "command/exec", "rawResponse", "thread/compacted"}

// child keeps which turns run below the root.
func (r *Reader) child(a Active, runs bool) {
	if a.Thread == r.root || a.Thread == "" || r.root == "" {
		return
	}
	r.below = slices.DeleteFunc(r.below, func(b Active) bool { return b == a })
	if runs {
		r.below = append(r.below, a)
	}
}

// turn is the open turn of the root conversation.
type turn struct {
	id       string // "" until it is known
	also     string // a review answers to the id of its request and to one of its own
	work     paceline.Work
	evidence []paceline.Evidence
	failure  *paceline.Failure // of the last error that is not retried
	answer   strings.Builder
	acked    bool
	running  []running
}

// New returns a reader of that form that has seen nothing.
func New(f Form) *Reader {
	return &Reader{form: f, opening: map[string]bool{}, starting: map[string]bool{}}
}

// Sent tells the reader what was written to the child, so that it knows which
// conversation is the root. A recorded stream without these is read too: the
// first conversation that starts is the root then.
func (r *Reader) Sent(line []byte) {
	switch f := gjson.GetManyBytes(line, "method", "id", "params.threadId"); f[0].String() {
	case "thread/start", "thread/fork":
		r.opening[f[1].Raw] = true
	case "thread/resume":
		r.opening[f[1].Raw] = true
		r.root = f[2].String()
	case "turn/start", "review/start", "thread/compact/start":
		if r.root == "" {
			r.root = f[2].String()
		}
		if f[2].String() == r.root && r.turn == nil {
			r.open("")
			r.starting[f[1].Raw] = true
		}
	}
}

// Turn is the id of the root conversation's open turn; "" where there is none, or
// it has no id yet.
func (r *Reader) Turn() string {
	if r.turn == nil {
		return ""
	}
	return r.turn.id
}

// open begins a turn that has done nothing yet.
func (r *Reader) open(id string) {
	r.turns++
	r.turn = &turn{id: id, work: paceline.WorkNone}
}

// Observe takes one line in.
func (r *Reader) Observe(line []byte, at time.Time) []wire.Event {
	r.line++
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if !gjson.ValidBytes(line) || line[0] != '{' {
		return r.unknown("garbage", "")
	}
	if r.form == Exec {
		return r.exec(gjson.ParseBytes(line), at)
	}
	f := gjson.GetManyBytes(line, "method", "id", "params")
	switch {
	case f[0].String() != "":
		return r.notified(f[0].String(), f[1], f[2], at)
	case f[1].Exists():
		return r.answered(line, f[1].Raw)
	}
	return r.unknown("line without a method", "")
}

// answered takes in the answer to a request of ours.
func (r *Reader) answered(line []byte, id string) []wire.Event {
	switch {
	case r.opening[id]:
		delete(r.opening, id)
		thread := gjson.GetBytes(line, "result.thread.id").String()
		if thread == "" {
			return nil
		}
		r.root = thread
		return []wire.Event{{Kind: wire.Opened, Line: r.line, Conversation: paceline.ConversationID(thread)}}
	case r.starting[id]:
		delete(r.starting, id)
		if gjson.GetBytes(line, "error").IsObject() {
			return r.refusedTurn(line)
		}
		if t := gjson.GetBytes(line, "result.turn.id").String(); t != "" && r.turn != nil && r.turn.id == "" {
			r.turn.id = t
		}
	case gjson.GetBytes(line, "result.rateLimits").IsObject():
		r.limits = gjson.GetBytes(line, "result.rateLimits")
	}
	return nil
}

// refusedTurn ends a turn that the app-server did not even begin.
func (r *Reader) refusedTurn(line []byte) []wire.Event {
	if r.turn == nil {
		return nil
	}
	f := paceline.Failure{Cause: paceline.CauseOther, Notice: gjson.GetBytes(line, "error.message").String()}
	r.see("turn/start", "error", "refused")
	r.turn.failure = &f
	return r.end(paceline.OutcomeFailed)
}

// notified takes in a notification or a request of the server.
func (r *Reader) notified(method string, id, p gjson.Result, at time.Time) []wire.Event {
	thread, turnID := p.Get("threadId").String(), p.Get("turnId").String()
	switch method {
	case "thread/started":
		if t := p.Get("thread.id").String(); r.root == "" {
			r.root = t
			return []wire.Event{{Kind: wire.Opened, Line: r.line, Conversation: paceline.ConversationID(t)}}
		}
		return nil
	case "account/rateLimits/updated":
		r.limits = p.Get("rateLimits")
		return nil
	case "turn/started":
		r.child(Active{thread, p.Get("turn.id").String()}, true)
		return r.begun(thread, p.Get("turn.id").String())
	case "turn/completed":
		r.child(Active{thread, p.Get("turn.id").String()}, false)
		return r.completed(thread, p.Get("turn"), at)
	case "error":
		return r.failed(thread, turnID, p, at)
	}
	if r.turn == nil || slices.Contains(r.old, turnID) {
		return nil // between turns, or of one that is over
	}
	for _, p := range going {
		if strings.HasPrefix(method, p) {
			r.went = r.line
		}
	}
	if id.Exists() {
		return r.asked(method, id, p)
	}
	return r.item(method, p, thread == r.root || thread == "")
}

// begun pairs a native turn with ours, or opens one that the stream began.
func (r *Reader) begun(thread, id string) []wire.Event {
	if r.root == "" {
		r.root = thread
	}
	if thread != r.root {
		return nil
	}
	if r.turn == nil {
		r.open(id)
	}
	if r.turn.id != "" && r.turn.id != id {
		r.turn.also = r.turn.id
	}
	r.turn.id = id
	if r.turn.acked {
		return nil
	}
	r.turn.acked = true
	return []wire.Event{{Kind: wire.Acked, Line: r.line}}
}

// failed takes in an error. It is a retry, or the certain end of the turn.
func (r *Reader) failed(thread, turnID string, p gjson.Result, at time.Time) []wire.Event {
	if r.turn == nil || slices.Contains(r.old, turnID) {
		return nil // an old turn's failure is over
	}
	f := r.classify(p.Get("error"), at)
	if p.Get("willRetry").Bool() { // a child's too: its parent waits for it (R16)
		return []wire.Event{{Kind: wire.Retrying, Line: r.line, Cause: f.Cause, Code: f.Code, Delay: delay(p.Get("error"), at)}}
	}
	if thread != "" && thread != r.root {
		return nil // a child's failure is not its parent's
	}
	r.see("error", "codexErrorInfo="+f.Code, f.Cause.String())
	f.Work, f.Evidence = r.turn.work, slices.Clone(r.turn.evidence)
	r.turn.failure = &f
	return []wire.Event{{Kind: wire.Limited, Line: r.line, Failure: &f}}
}

// completed ends the root's turn. There is no turn/failed.
func (r *Reader) completed(thread string, t gjson.Result, at time.Time) []wire.Event {
	id := t.Get("id").String()
	if thread != r.root || r.turn == nil || r.turn.id != "" && id != r.turn.id && id != r.turn.also {
		return nil
	}
	switch t.Get("status").String() {
	case "completed":
		r.see("turn/completed", "status=completed", "completed")
		return r.end(paceline.OutcomeCompleted)
	case "interrupted":
		r.see("turn/completed", "status=interrupted", "interrupted")
		return r.end(paceline.OutcomeInterrupted)
	case "failed":
		if r.turn.failure == nil || t.Get("error").IsObject() {
			f := r.classify(t.Get("error"), at)
			r.turn.failure = &f
		}
		r.see("turn/completed", "status=failed codexErrorInfo="+r.turn.failure.Code, r.turn.failure.Cause.String())
		return r.end(paceline.OutcomeFailed)
	}
	return append(r.unknown("turn/completed", "status"), r.end(paceline.OutcomeIncomplete)...)
}

// end closes the open turn.
func (r *Reader) end(o paceline.Outcome) []wire.Event {
	t := r.turn
	r.turn = nil
	if t.id != "" {
		r.old = append(r.old, t.id)
	}
	e := wire.Ending{Outcome: o, Turn: r.turns, Native: t.id, Answer: t.answer.String()}
	if t.failure != nil && o != paceline.OutcomeCompleted {
		e.Failure = *t.failure
	}
	if o == paceline.OutcomeInterrupted {
		e.Failure = paceline.Failure{Cause: paceline.CauseStopped}
	}
	e.Failure.Work, e.Failure.Evidence = t.work, t.evidence
	return []wire.Event{{Kind: wire.Ended, Line: r.line, Ending: &e}}
}

// Close ends the stream: an open turn has no end then.
func (r *Reader) Close() []wire.Event {
	if r.turn == nil {
		return nil
	}
	return r.end(paceline.OutcomeIncomplete)
}

func (r *Reader) see(frame, says, means string) {
	r.turn.evidence = append(r.turn.evidence, paceline.Evidence{Frame: frame, Line: r.line, Says: says, Means: means})
}

// AccountFrom reads the answer to account/rateLimits/read.
func AccountFrom(result []byte) wire.Account {
	limits := gjson.GetBytes(result, "rateLimits")
	a := wire.Account{Posture: paceline.PostureSubscription}
	a.Reset, a.Scope, a.Limited = exhausted(limits)
	if limits.Get("rateLimitReachedType").String() != "" {
		a.Limited = true
	}
	return a
}

// Settle decides a 429 whose body was dropped by what the account says (F6).
func Settle(f paceline.Failure, a wire.Account) paceline.Failure {
	if f.Cause == paceline.CauseThrottle && a.Limited {
		f.Cause, f.Reset, f.Scope, f.Retryable = paceline.CauseUsageLimit, a.Reset, a.Scope, true
		f.Evidence = append(slices.Clone(f.Evidence), paceline.Evidence{
			Frame: "account/rateLimits/read", Says: "limit reached", Means: paceline.CauseUsageLimit.String(),
		})
	}
	return f
}

// exhausted finds the window that is used up, the one that lifts last.
func exhausted(limits gjson.Result) (paceline.Reset, string, bool) {
	var reset paceline.Reset
	var scope string
	found := false
	for _, name := range []string{"primary", "secondary"} {
		w := limits.Get(name)
		if !w.IsObject() || w.Get("usedPercent").Float() < 100 {
			continue
		}
		found = true
		t := time.Unix(w.Get("resetsAt").Int(), 0).UTC()
		if w.Get("resetsAt").Int() > 0 && t.After(reset.At) {
			reset, scope = paceline.Reset{At: t, Source: paceline.ResetStated}, window(w.Get("windowDurationMins").Int())
		}
	}
	return reset, scope, found
}

// window names a usage window by its length in minutes: which of them is called
// primary depends on the plan.
func window(minutes int64) string {
	switch minutes {
	case 300:
		return "five_hour"
	case 10080:
		return "weekly"
	case 43200:
		return "monthly"
	}
	return ""
}

// reset is when a limit lifts: by the snapshot, else by the notice's own words.
func (r *Reader) reset(text string, at time.Time) (paceline.Reset, string) {
	if reset, scope, ok := exhausted(r.limits); ok && reset.Known() {
		return reset, scope
	}
	return notice.ResetAt(text, at), ""
}
