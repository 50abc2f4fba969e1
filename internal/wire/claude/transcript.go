package claude

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// ReadTranscript looks for one of our messages in the rows of a transcript, and
// reads how the turn that it opened ended. It serves recovery, after the stream
// was lost with whoever read it.
//
// A transcript knows less than the stream: text that was being streamed when
// the process died is not in it. So it proves that no work was done only where
// the program itself has written that the turn failed, and nothing but our
// message and known harmless rows stand before that. Whoever saw work in the
// stream keeps to that.
func ReadTranscript(lines iter.Seq[[]byte], uuid string, _ time.Time) (delivered bool, end wire.Ending) {
	s := scan{uuid: uuid}
	if uuid == "" {
		return false, end
	}
	for line := range lines {
		s.line++
		s.observe(line)
		if s.past {
			break
		}
	}
	if !s.found {
		return false, end
	}
	end = s.ending()
	end.Later = s.past
	return true, end
}

// scan folds the rows of a transcript.
type scan struct {
	uuid    string
	line    int
	prompts int
	prompt  string // the program's own id of our prompt
	found   bool   // our message's row has been seen
	past    bool   // another prompt follows: nothing after it is our turn's

	work     paceline.Work
	seen     []paceline.Evidence
	tools    map[string]bool // calls without a result
	final    string          // the message that said end_turn
	finalAt  int
	answer   []string // its texts
	failed   *fault   // the last row says that the turn failed
	notice   string
	failedAt paceline.Evidence
}

// harmlessRows follow a message without the model having done anything.
var harmlessRows = map[string]bool{
	"api-request": true, "api-request-blob": true, "api-request-shape": true, "atis-latch": true, "cost-state": true,
	"file-history-snapshot": true, "last-prompt": true, "mode": true, "permission-mode": true,
	"queue-operation/enqueue": true, "queue-operation/dequeue": true,
	"system/api_error": true, "system/compact_boundary": true, "system/informational": true, "system/model_fallback": true,
	"system/model_refusal_no_fallback": true, "system/turn_duration": true,
	"attachment/agent_listing_delta": true, "attachment/auto_mode": true, "attachment/date": true,
	"attachment/deferred_tools_delta": true, "attachment/environment": true, "attachment/file": true, "attachment/model": true,
	"attachment/prompt_snapshot": true, "attachment/remote_session_change": true, "attachment/session_context": true,
	"attachment/skill_listing": true, "attachment/total_tokens_reminder": true,
}

// row is one line of a transcript, read as far as its kind: most rows are bulky
// and say nothing.
type row struct {
	typ, kind string
	sidechain bool
	body      []byte
}

func rowOf(line []byte) (row, bool) {
	if !gjson.ValidBytes(line) {
		return row{}, false
	}
	root := gjson.ParseBytes(line)
	if !root.IsObject() {
		return row{}, false
	}
	r := row{typ: root.Get("type").Str, sidechain: root.Get("isSidechain").Bool(), body: line}
	r.kind = word(r.typ)
	for _, detail := range []string{"subtype", "operation", "attachment.type"} {
		if v := root.Get(detail).Str; v != "" && (r.typ == "attachment") == (detail == "attachment.type") {
			r.kind += "/" + word(v)
		}
	}
	return r, r.typ != ""
}

// userRow and assistantRow are the rows of a conversation. The fields of a
// failed call are the stream's, in another spelling.
type userRow struct {
	UUID    string `json:"uuid"`
	Prompt  string `json:"promptId"` // the same in every row that a prompt leads to
	Meta    bool   `json:"isMeta"`
	Summary bool   `json:"isCompactSummary"`
	Source  string `json:"promptSource"` // only a prompt has one
	Message struct {
		Content content `json:"content"`
	} `json:"message"`
}

type assistantRow struct {
	Message struct {
		ID      string  `json:"id"`
		Model   string  `json:"model"`
		Stop    string  `json:"stop_reason"`
		Content content `json:"content"`
	} `json:"message"`
	IsAPIError bool   `json:"isApiErrorMessage"`
	Error      string `json:"error"`
	API        string `json:"apiError"`
	Status     int    `json:"apiErrorStatus"`
	ErrorType  string `json:"apiErrorType"`
	Params     struct {
		Window *window `json:"rate_limit_info"`
	} `json:"apiErrorParams"`
	Quota      *window `json:"quotaLimits"`
	NoToolCall *bool   `json:"failedResponseHadNoToolCall"`
}

func (s *scan) observe(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	r, ok := rowOf(line)
	switch {
	case !ok:
		s.unknown("unreadable")
	case r.typ == "user":
		s.user(r)
	case r.kind == "queue-operation/remove":
		s.removed(r)
	case !s.found:
	case r.sidechain:
		s.enter(paceline.WorkSome, r.kind, "isSidechain=true", "work")
	case r.typ == "assistant":
		s.assistant(r)
	case r.typ == "tools-used":
		s.enter(paceline.WorkSome, r.kind, "type="+r.kind, "work")
	case !harmlessRows[r.kind]:
		s.unknown(r.kind)
	}
}

func (s *scan) unknown(kind string) { s.enter(paceline.WorkUnknown, kind, "type="+kind, "unknown row") }

// removed finds our message where it never got a row of its own: it steered a
// turn that was at work.
func (s *scan) removed(r row) {
	var q struct {
		UUID   string `json:"commandUuid"`
		Reason string `json:"reason"`
	}
	if json.Unmarshal(r.body, &q) != nil || q.UUID != s.uuid || q.Reason != "absorbed_mid_turn" {
		s.unknown(r.kind)
		return
	}
	s.begin()
	s.enter(paceline.WorkSome, r.kind, "reason=absorbed_mid_turn", "work")
}

func (s *scan) begin() {
	if !s.found { // a second row of it changes nothing: the program drops the copy
		s.found, s.work, s.tools = true, paceline.WorkNone, map[string]bool{}
	}
}

func (s *scan) enter(w paceline.Work, frame, says, means string) {
	if !s.found || s.work == paceline.WorkSome || s.work == w {
		return
	}
	s.work = w
	s.seen = append(s.seen, paceline.Evidence{Frame: frame, Line: s.line, Says: says, Means: means})
}

func (s *scan) assistant(r row) {
	var a assistantRow
	s.failed = nil
	if json.Unmarshal(r.body, &a) != nil {
		s.unknown(r.kind)
		s.final, s.answer = "", nil
		return
	}
	if a.IsAPIError && a.Message.Model == synthetic && a.Message.Content.only("text") {
		s.fail(a)
		return
	}
	s.enter(paceline.WorkSome, r.kind, "content="+a.Message.Content.types(), "work")
	for _, b := range a.Message.Content {
		if b.Type == "tool_use" {
			s.tools[b.ID] = true
		}
	}
	if a.Message.Model == synthetic || a.Message.Stop != "end_turn" {
		s.final, s.answer = "", nil
		return
	}
	if s.final != a.Message.ID {
		s.final, s.answer = a.Message.ID, nil
	}
	s.finalAt = s.line
	if text := a.Message.Content.text(); text != "" {
		s.answer = append(s.answer, text)
	}
}

// tooLong is the program's own notice for a prompt that does not fit. The
// stream has a terminal reason for it, the row has no field.
const tooLong = "Prompt is too long"

func (s *scan) fail(a assistantRow) {
	f := fault{Error: a.Error, API: a.API, Status: a.Status, Type: a.ErrorType}
	if f.Params.Window = a.Params.Window; f.Params.Window == nil {
		f.Params.Window = a.Quota
	}
	s.failed, s.notice = &f, a.Message.Content.text()
	if f.Error == "invalid_request" && f.Status == 400 && strings.HasPrefix(s.notice, tooLong) {
		f.Terminal = "prompt_too_long"
	}
	s.failedAt = paceline.Evidence{
		Frame: "assistant", Line: s.line, Says: f.says("isApiErrorMessage=true"), Means: means(f.cause(s.notice)),
	}
	if a.NoToolCall != nil && !*a.NoToolCall {
		s.enter(paceline.WorkSome, "assistant", "failedResponseHadNoToolCall=false", "work")
	}
	s.final, s.answer = "", nil
}

func (s *scan) user(r row) {
	var u userRow
	if json.Unmarshal(r.body, &u) != nil {
		s.unknown(r.kind)
		s.failed, s.final, s.answer = nil, "", nil
		return
	}
	if !s.found {
		s.prompt = u.Prompt // of the prompt that our message is, or steers
		if u.Source != "" {
			s.prompts++
		}
	}
	results := false
	for _, b := range u.Message.Content {
		if b.Type == "tool_result" {
			delete(s.tools, b.ToolUse)
			results = true
		}
	}
	switch {
	case u.UUID == s.uuid:
		s.begin()
		return
	case !s.found:
		return
	case r.sidechain:
		s.enter(paceline.WorkSome, r.kind, "isSidechain=true", "work")
		return
	case u.Source != "", u.Prompt != s.prompt && u.Prompt != "" && s.prompt != "":
		// The conversation went on without us: a copy of our message would not be
		// what its user now wants.
		s.past = true
		s.enter(paceline.WorkUnknown, r.kind, "another prompt follows", "unknown row")
		return
	case results:
		s.enter(paceline.WorkSome, r.kind, "content=tool_result", "work")
	case u.Meta, u.Summary, u.Message.Content.only("text") && interruptions[u.Message.Content.text()]:
	default:
		s.enter(paceline.WorkUnknown, r.kind, "content="+u.Message.Content.types(), "unknown row")
	}
	s.failed, s.final, s.answer = nil, "", nil // the turn went on
}

func (s *scan) ending() wire.Ending {
	end := wire.Ending{Turn: max(s.prompts, 1), Native: s.uuid}
	switch {
	case s.failed != nil:
		end.Outcome = paceline.OutcomeFailed
		end.Failure = s.failed.read(s.notice, "", window{})
		end.Failure.Evidence = append(s.seen, s.failedAt)
	case s.final != "" && len(s.tools) == 0 && len(s.answer) > 0:
		end.Outcome = paceline.OutcomeCompleted
		end.Answer = strings.Join(s.answer, "")
		end.Failure.Evidence = append(s.seen, paceline.Evidence{Frame: "assistant", Line: s.finalAt, Says: "stop_reason=end_turn", Means: "completed"})
	default:
		if s.work == paceline.WorkNone { // its answer may have been lost half-way, its first call not yet written
			s.work = paceline.WorkUnknown
		}
		end.Failure.Evidence = append(s.seen, paceline.Evidence{
			Frame: "end of transcript", Line: s.line, Says: "neither answer nor failure", Means: "incomplete",
		})
	}
	end.Failure.Work = s.work
	return end
}
