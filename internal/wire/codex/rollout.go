package codex

import (
	"iter"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// ReadRollout reads a conversation's file after its process is gone. Delivered
// says that its last turn was opened by our message, found by its id where the
// file keeps one, else by its text. Retries leave no trace here, and a call
// without an output may have run.
func ReadRollout(lines iter.Seq[[]byte], id, text string, at time.Time) (delivered bool, end wire.Ending) {
	r := New(AppServer)
	f := &rollout{}
	for line := range lines {
		r.line++
		if !gjson.ValidBytes(line) {
			f.raise(paceline.WorkUnknown, paceline.Evidence{Frame: "garbage", Line: r.line, Means: "unknown"})
			continue
		}
		row := gjson.ParseBytes(line)
		f.row(r, row.Get("type").String(), row.Get("payload"), id, text, at)
	}
	if !f.delivered && f.before {
		// It had the message, and somebody has gone on since.
		return true, wire.Ending{Outcome: paceline.OutcomeIncomplete, Later: true, Failure: paceline.Failure{
			Work: paceline.WorkUnknown, Evidence: []paceline.Evidence{{Frame: "rollout", Line: r.line, Says: "a later turn", Means: "unknown"}},
		}}
	}
	if !f.delivered {
		return false, wire.Ending{}
	}
	f.end.Failure.Work, f.end.Failure.Evidence = f.work, f.evidence
	if f.end.Outcome == paceline.OutcomeIncomplete && f.work == paceline.WorkNone {
		// Our message alone: whatever followed died with the process.
		f.end.Failure.Work = paceline.WorkUnknown
	}
	return true, f.end
}

// rollout is the last turn of a file.
type rollout struct {
	delivered bool
	named     bool // our message opened it, by its id
	before    bool // an earlier turn was opened by our message
	work      paceline.Work
	evidence  []paceline.Evidence
	end       wire.Ending
}

func (f *rollout) row(r *Reader, kind string, p gjson.Result, id, text string, at time.Time) {
	event := p.Get("type").String()
	see := func(means string) paceline.Evidence {
		return paceline.Evidence{Frame: "rollout " + kind, Line: r.line, Says: event + " " + p.Get("item.type").String(), Means: means}
	}
	switch {
	case kind == "event_msg" && event == "task_started":
		*f = rollout{work: paceline.WorkNone, before: f.before || f.named}
	case kind == "event_msg" && event == "item_completed" && p.Get("item.type").String() == "UserMessage":
		own := p.Get("item.client_id").String()
		f.named = f.named || own != "" && own == id
		f.delivered = f.delivered || own != "" && own == id || own == "" && p.Get("item.content.0.text").String() == text
	case kind == "event_msg" && event == "item_completed":
		if t := p.Get("item.type").String(); t != "ContextCompaction" && t != "EnteredReviewMode" && t != "ExitedReviewMode" {
			f.raise(paceline.WorkSome, see("work"))
		}
	case kind == "event_msg" && event == "token_count":
		r.limits = snake(p.Get("rate_limits"))
	case kind == "event_msg" && event == "task_complete":
		f.complete(r, p, at)
	case kind == "event_msg" && event == "turn_aborted":
		f.end.Outcome = paceline.OutcomeIncomplete
	case kind == "event_msg" && event == "thread_settings_applied":
	case kind == "response_item" && event == "message":
		if role := p.Get("role").String(); role == "assistant" {
			f.raise(paceline.WorkSome, see("work"))
		}
	case kind == "response_item":
		f.raise(paceline.WorkSome, see("work")) // reasoning, calls and their outputs
	case kind == "token_usage_record":
		f.raise(paceline.WorkSome, see("work"))
	case kind == "session_meta", kind == "turn_context", kind == "world_state", kind == "compacted":
	default:
		f.raise(paceline.WorkUnknown, see("unknown"))
	}
}

func (f *rollout) complete(r *Reader, p gjson.Result, at time.Time) {
	e := p.Get("error")
	if !e.IsObject() {
		f.end.Outcome, f.end.Answer = paceline.OutcomeCompleted, p.Get("last_agent_message").String()
		return
	}
	text := strings.ReplaceAll(e.Get("message").String(), "’", "'")
	code, status := info(e.Get("codex_error_info"))
	f.end.Outcome = paceline.OutcomeFailed
	f.end.Failure = paceline.Failure{Cause: cause(code, status, text), Code: code, Notice: text, Retryable: true}
	if f.end.Failure.Cause == paceline.CauseUsageLimit {
		f.end.Failure.Reset, f.end.Failure.Scope = r.reset(text, at)
	}
	f.evidence = append(f.evidence, paceline.Evidence{Frame: "rollout task_complete", Line: r.line, Says: "error " + code, Means: f.end.Failure.Cause.String()})
}

func (f *rollout) raise(w paceline.Work, e paceline.Evidence) {
	if f.work == paceline.WorkSome || f.work == w {
		return
	}
	f.work = w
	f.evidence = append(f.evidence, e)
}

// snake gives a rollout's snapshot the names of the wire.
func snake(v gjson.Result) gjson.Result {
	s := v.Raw
	for from, to := range map[string]string{"used_percent": "usedPercent", "resets_at": "resetsAt", "window_minutes": "windowDurationMins"} {
		s = strings.ReplaceAll(s, `"`+from+`"`, `"`+to+`"`)
	}
	return gjson.Parse(s)
}
