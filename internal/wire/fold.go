package wire

import (
	"strings"

	"github.com/paceline/paceline"
)

// heldMax is how much text may be a failed call's notice, in bytes. More than
// that is an answer.
const heldMax = 1000

// heldMin is how short it may be: a first word of an answer is found in many a
// notice. The shortest one that was seen has 25.
const heldMin = 16

// Fold is what a reader keeps of the turn that is open. Its zero value is no
// turn: NewFold begins one that has done nothing.
//
// Some programs print a failed call's notice as if the model had said it. Such
// text is held: it becomes work as soon as anything shows that it was not the
// notice, and at the turn's end at the latest.
type Fold struct {
	Turn     int
	Work     paceline.Work
	Evidence []paceline.Evidence
	Answer   strings.Builder
	held     strings.Builder
	heldAt   paceline.Evidence
}

// NewFold begins a turn that has done nothing.
func NewFold(turn int) *Fold { return &Fold{Turn: turn, Work: paceline.WorkNone} }

// See keeps a frame that counted.
func (f *Fold) See(line int, frame, says, means string) {
	f.Evidence = append(f.Evidence, paceline.Evidence{Frame: frame, Line: line, Says: says, Means: means})
}

// Worked notes the first work of the turn. It is never unseen again (F5).
func (f *Fold) Worked(line int, frame, says string) []Event {
	if f == nil {
		return nil
	}
	return f.raise(paceline.WorkSome, paceline.Evidence{Frame: frame, Line: line, Says: says, Means: "work"})
}

// Unknown is a frame that nobody here can read: work can no longer be ruled out.
func (f *Fold) Unknown(line int, frame, says string) []Event {
	e := paceline.Evidence{Frame: frame, Line: line, Says: says, Means: "unknown"}
	out := []Event{{Kind: Unknown, Line: line, Evidence: e}}
	if f == nil || f.Work != paceline.WorkNone {
		return out
	}
	return append(out, f.raise(paceline.WorkUnknown, e)...)
}

// Doubt notes why a turn that seems to have done nothing may have done something
// all the same.
func (f *Fold) Doubt(line int, frame, says string) []Event {
	if f.Work != paceline.WorkNone {
		return nil
	}
	return f.raise(paceline.WorkUnknown, paceline.Evidence{Frame: frame, Line: line, Says: says, Means: "unknown"})
}

func (f *Fold) raise(w paceline.Work, e paceline.Evidence) []Event {
	if f.Work == paceline.WorkSome {
		return nil
	}
	f.Work = w
	f.Evidence = append(f.Evidence, e)
	return []Event{{Kind: Worked, Line: e.Line, Evidence: e}}
}

// Said takes in text of the answer which cannot be a notice.
func (f *Fold) Said(line int, frame, text string) []Event {
	f.Answer.WriteString(text)
	return append(f.Worked(line, frame, "text"), Event{Kind: Text, Line: line, Text: text})
}

// Hold takes in text that may turn out to be a failed call's notice.
func (f *Fold) Hold(line int, frame, text string) []Event {
	if f.Work == paceline.WorkSome || f.held.Len()+len(text) > heldMax {
		return f.Said(line, frame, text)
	}
	if f.held.Len() == 0 {
		f.heldAt = paceline.Evidence{Frame: frame, Line: line, Says: "text", Means: "work"}
	}
	f.Answer.WriteString(text)
	f.held.WriteString(text)
	return []Event{{Kind: Text, Line: line, Text: text}}
}

// Settle decides about held text: it was no work where the failed call's own
// notice says the same.
func (f *Fold) Settle(notice string) []Event {
	held := strings.TrimSpace(f.held.String())
	if held == "" || len(held) >= heldMin && strings.Contains(notice, held) {
		return nil
	}
	return f.raise(paceline.WorkSome, f.heldAt)
}

// End closes the turn. Of a turn without an end no work is proved, whatever was
// not seen: what it began may have died with its program.
func (f *Fold) End(line int, o paceline.Outcome, failure paceline.Failure) []Event {
	out := f.Settle(failure.Notice)
	if o == paceline.OutcomeIncomplete {
		out = append(out, f.Doubt(0, "end of stream", "")...)
	}
	failure.Work, failure.Evidence = f.Work, f.Evidence
	return append(out, Event{Kind: Ended, Line: line, Ending: &Ending{Outcome: o, Turn: f.Turn, Failure: failure, Answer: f.Answer.String()}})
}
