package team

import (
	"fmt"
	"strings"
	"time"
)

// A round's answer is posted, and makes a move. Which one says its last line:
//
//	MOVE: ask @reviewer    the next round is theirs
//	MOVE: wait 10m tests   nothing to do before that, or before somebody posts
//	MOVE: gate deploy it   a person must approve first
//	MOVE: done             the task is finished
//
// Anything else is a post. Only the last line counts, so that an answer may quote
// such lines. A move is content: it decides whose round it is, and is never taken
// for a failure or a limit (P7).

// Move is what a round asks for.
type Move uint8

const (
	MovePost Move = iota
	MoveAsk
	MoveWait
	MoveGate
	MoveDone
)

var moveNames = []string{"post", "ask", "wait", "gate", "done"}

func (m Move) String() string {
	if int(m) < len(moveNames) {
		return moveNames[m]
	}
	return "?"
}

// Answer is a round's answer, read.
type Answer struct {
	Text string // what is posted; without the line that makes the move
	Move Move
	To   string        // ask: who is addressed
	For  time.Duration // wait: how long; 0 leaves it to us
	What string        // gate: what is to be approved; wait: for what
	// Odd says why a line that would be a move was taken for a post.
	Odd string
}

// longestWait bounds what a wait may ask for.
const longestWait = 24 * time.Hour

// Read reads a round's answer in a team of these names.
func Read(text string, names []string) Answer {
	text = strings.TrimSpace(text)
	a := Answer{Text: text}
	body, line := "", text
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		body, line = text[:i], text[i+1:]
	}
	line = strings.Trim(strings.TrimSpace(line), "`*_")
	rest, ok := strings.CutPrefix(line, "MOVE:")
	if !ok {
		return a
	}
	word, arg, _ := strings.Cut(strings.TrimSpace(strings.Trim(rest, "`*_ ")), " ")
	arg = strings.TrimSpace(arg)
	switch strings.ToLower(word) {
	case "post":
	case "ask":
		who, _, _ := strings.Cut(arg, " ")
		if a.To = addressed(who, names); a.To == "" {
			a.Odd = fmt.Sprintf("it asked %q, who is not in the team", who)
			return a
		}
		a.Move = MoveAsk
	case "wait":
		a.Move = MoveWait
		span, what, _ := strings.Cut(arg, " ")
		if d, err := time.ParseDuration(span); err == nil && d > 0 {
			a.For = min(d, longestWait)
		} else {
			what = arg
		}
		a.What = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(what), "for "))
	case "gate":
		a.Move, a.What = MoveGate, arg
	case "done":
		a.Move = MoveDone
	default:
		a.Odd = fmt.Sprintf("nobody knows the move %q", word)
		return a
	}
	a.Text = strings.TrimSpace(body)
	if a.Move == MoveGate && a.What == "" {
		a.What = firstLine(a.Text)
	}
	return a
}

func addressed(who string, names []string) string {
	who = strings.ToLower(strings.Trim(who, "@.,;:!?"))
	for _, n := range names {
		if n == who {
			return n
		}
	}
	return ""
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
