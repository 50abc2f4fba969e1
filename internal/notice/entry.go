package notice

import (
	"strings"
	"time"

	"github.com/paceline/paceline"
)

// maxShown bounds a text that a program printed among its output: a notice is
// short (A5).
const maxShown = 1200

// From reads a text of which only its channel is known, as the notice corpus
// names channels: stdout_text, result, stderr, structured_json, transcript_row,
// http_body, model_text. What a model wrote is never a notice, whatever its
// length (P7).
func From(channel, text string, at time.Time) Notice {
	none := Notice{Text: text}
	trimmed := strings.TrimSpace(text)
	switch channel {
	case "model_text":
		return none
	case "structured_json", "transcript_row":
		if c, typed, ok := frame(trimmed); ok {
			return fromFrame(trimmed, c, typed, at)
		}
	case "stdout_text", "stderr":
		words := comparable(plain(text))
		if foreign.MatchString(words) || logLine.MatchString(words) && channel == "stdout_text" {
			return none
		}
		if channel == "stdout_text" && (len(text) > maxShown || !opens(words)) {
			return none
		}
	}
	n := Read(Call{Text: text}, at)
	if channel == "stdout_text" && n.Class == Transport && n.Basis == ByWords && !vendors.MatchString(comparable(plain(text))) {
		return none
	}
	if n.Window == "" && n.Class == Limit && n.Reset.Known() {
		n.Window = ahead(n, at)
	}
	return n
}

// ahead is the usage window that a distance leaves room for. It is for people
// who look at one text; no engine is closed by it.
func ahead(n Notice, at time.Time) string {
	d := n.Reset.At.Sub(at)
	switch {
	case d > 8*24*time.Hour:
		return ""
	case d > 30*time.Hour, n.Origin == Epoch && d > fiveHours:
		return "weekly"
	case n.Origin == Epoch: // Claude's first generation had these two alone
		return "5h"
	}
	return ""
}

func fromFrame(line string, c Call, typed opened, at time.Time) Notice {
	n := Notice{}
	if c.Text != "" {
		n = Read(c, at)
	}
	n.Going = n.Going || retries(line)
	if typed.verdict == None {
		if n.Window == "" && typed.window != "" {
			n.Window = window("", typed.window)
		}
		return n
	}
	state := Notice{Class: typed.verdict, Basis: ByCode, Window: window("", typed.window), Text: n.Text, Code: n.Code}
	if state.Class == Limit {
		state.Reset, state.Origin = reset(typed, "", state, at)
	}
	if state.Class == Limit && !state.Reset.Known() {
		state.Reset, state.Origin = n.Reset, n.Origin
	}
	return state
}

// Terminal reports whether the call ended on it.
func (n Notice) Terminal() bool { return n.Class > Warning && !n.Going }

// Known reports whether the class has a cause.
func (n Notice) Known() bool { return n.Class.Cause() != paceline.CauseOther }
