package claude

import (
	"encoding/json"
	"fmt"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// ended reads a result: the one end of a turn. Even one that does not fit ends
// it, since no other will come, but then nothing is known of the work.
func (r *Reader) ended(f frame) []wire.Event {
	if f.uuid != "" && f.uuid == r.result {
		return nil // a repeated terminal changes nothing
	}
	r.result = f.uuid
	var res resultFrame
	bad := json.Unmarshal(f.body, &res)
	events := r.within(nil)
	if bad != nil || res.IsError == nil {
		events = r.count(events, f, unread, func() string { return "a body that does not fit" })
	}
	t := r.turn
	end := wire.Ending{Outcome: res.outcome(), Turn: t.n, Native: t.uuid}
	if res.Message != "" {
		end.Native = res.Message
	}
	said := r.spot(f, res.says(res.verdict()), end.Outcome.String())
	switch end.Outcome {
	case paceline.OutcomeCompleted:
		end.Answer = res.Result
		end.Failure.Evidence = append(append([]paceline.Evidence{}, t.seen...), said)
	default:
		events = r.billed(events, f, res)
		end.Failure = r.judge(t, res)
		said.Means = means(end.Failure.Cause)
		end.Failure.Evidence = append(r.evidence(t, end.Failure), said)
	}
	end.Failure.Work = t.work
	r.turn = nil
	events = append(events, wire.Event{Kind: wire.Ended, Line: r.line, Ending: &end})
	if len(r.queued) > 0 { // it was sent, and this turn did not take it in
		next := r.queued[0]
		r.queued = r.queued[1:]
		r.begin(next)
	}
	return events
}

// outcome reads is_error. The subtype is `success` for every failed call; only
// where it names an error itself does it say more than is_error.
func (res resultFrame) outcome() paceline.Outcome {
	switch {
	case res.IsError == nil:
		return paceline.OutcomeIncomplete
	case !*res.IsError && (res.Subtype == "success" || res.Subtype == ""):
		return paceline.OutcomeCompleted
	case res.cause("") == paceline.CauseStopped:
		return paceline.OutcomeInterrupted
	}
	return paceline.OutcomeFailed
}

func (res resultFrame) verdict() string {
	s := "subtype=" + word(res.Subtype)
	if res.IsError != nil {
		s += fmt.Sprintf(" is_error=%t", *res.IsError)
	}
	return s
}

// judge reads a failed result together with the failed call's own frame: the
// two hold different fields, and a result wins where both speak.
func (r *Reader) judge(t *turn, res resultFrame) paceline.Failure {
	all, notice := res.fault, res.Result
	if t.fault != nil && res.outcome() != paceline.OutcomeInterrupted { // who stopped it says why it ended
		all = all.over(*t.fault)
		if notice == "" {
			notice = t.notice
		}
	}
	read := all.read(notice, res.Subtype, r.last)
	if res.IsError == nil {
		read.Cause, read.Retryable = paceline.CauseUnknown, false
	}
	if read.Notice == "" && len(res.Errors) > 0 && read.Cause != paceline.CauseStopped {
		read.Notice = short(res.Errors[0])
	}
	return read
}

// billed asks a second witness when no work was seen: the turn's own bill. What
// was answered and billed without a frame that shows it cannot be ruled out as
// work. The bill leaves compaction out.
func (r *Reader) billed(events []wire.Event, f frame, res resultFrame) []wire.Event {
	if r.turn.work != paceline.WorkNone || res.Usage.Output <= 0 {
		return events
	}
	says := fmt.Sprintf("usage.output_tokens=%d", res.Usage.Output)
	return r.turn.enter(events, mark{paceline.WorkUnknown, r.spot(f, says, "answered, unseen")}, r.line)
}
