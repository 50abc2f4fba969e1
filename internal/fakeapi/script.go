package fakeapi

import (
	"strings"
	"time"
)

// Vendor is whose API is spoken.
type Vendor string

// The vendors that a Server speaks for.
const (
	Anthropic Vendor = "anthropic"
	OpenAI    Vendor = "openai"
	Google    Vendor = "google" // Gemini's API
	Chat      Vendor = "chat"   // chat completions, as any provider may offer them
)

// Script is what the vendors answer to main requests. The first step that fits
// is taken, and used up; when none is left, the last one that fits is repeated,
// unless it says Once. A request that nothing fits is refused with a 400 that
// says so: a script that is too short must not look like a success.
type Script struct {
	Anthropic []Step
	OpenAI    []Step
	Google    []Step
	Chat      []Step
	// Usage, where set, is what an allowance query is told, whatever was
	// answered before. Otherwise the allowance follows the answers: it is spent
	// after a UsageLimit, or after a Throttle that Hides one.
	Usage *UsageLimit
}

// Step is one answer, and which request it is for.
type Step struct {
	Answer Answer
	Match  string // a part of the prompt; "" fits every request
	Once   bool   // never repeated
	Hold   bool   // a program's retries of the same request are answered alike, and use up nothing more
}

// Steps makes the plain script of one vendor: these answers, in this order.
func Steps(answers ...Answer) []Step {
	steps := make([]Step, len(answers))
	for i, a := range answers {
		steps[i].Answer = a
	}
	return steps
}

// Answer is one way to answer a main request.
type Answer interface{ answer() }

type (
	// Text is a turn's last word.
	Text struct {
		Text   string
		Chunks int           // deltas it is cut into; 0 is one
		Delay  time.Duration // before each delta
		Used   float64       // the fraction of the short window that is announced as used; 0 is a fifth
	}
	// Reasoning is thinking, and then a last word.
	Reasoning struct{ Summary, Text string }
	// ToolCall asks the program to act; its next request carries the result.
	// See Shell and Write for calls that both programs understand.
	ToolCall struct {
		Name  string
		Input any    // encoded as JSON
		Say   string // said before the call; "" is nothing
	}
	// UsageLimit says that the account's allowance is spent.
	UsageLimit struct {
		Reset   time.Time // zero is three hours from the answer
		Window  string    // five_hour (also ""), seven_day, seven_day_opus, seven_day_sonnet
		Plan    string    // OpenAI's plan; "" is plus
		NoReset bool      // the vendor does not say when
		After   string    // said before the limit strikes, in the middle of the stream; "" is before any work
	}
	// Throttle is a 429 that does not tell its cause.
	Throttle struct {
		RetryAfter time.Duration // 0 is not said
		Hides      *UsageLimit   // what an allowance query then tells; nil is that plenty is left
	}
	// Overloaded is the vendor out of capacity (529, or OpenAI's 503).
	Overloaded struct{}
	// ServerError is the vendor broken.
	ServerError struct {
		Status     int // 0 is 500
		RetryAfter time.Duration
	}
	// SignedOut is a 401, and no refresh helps.
	SignedOut struct{}
	// Forbidden is a 403: signed in, but not let in.
	Forbidden struct{}
	// Billing is the account out of money.
	Billing struct {
		Kind string // payment (also "": a 402), credit, spend_limit
	}
	// ModelNotFound is a 404 for the model.
	ModelNotFound struct{}
	// ContextTooLong is a conversation that does not fit.
	ContextTooLong struct{}
	// Overage is a success on paid overage: the allowance is announced as
	// rejected, and yet the turn is answered.
	Overage struct {
		Text  string
		Reset time.Time
	}
	// CutMidStream drops the connection in the middle of an answer.
	CutMidStream struct{ After string }
	// Hang never answers; with After it goes silent in the middle of an answer.
	Hang struct{ After string }
	// Refuse closes the connection instead of answering.
	Refuse struct{}
	// Malformed is a stream that is no JSON.
	Malformed struct{}
)

func (Text) answer()           {}
func (Reasoning) answer()      {}
func (ToolCall) answer()       {}
func (UsageLimit) answer()     {}
func (Throttle) answer()       {}
func (Overloaded) answer()     {}
func (ServerError) answer()    {}
func (SignedOut) answer()      {}
func (Forbidden) answer()      {}
func (Billing) answer()        {}
func (ModelNotFound) answer()  {}
func (ContextTooLong) answer() {}
func (Overage) answer()        {}
func (CutMidStream) answer()   {}
func (Hang) answer()           {}
func (Refuse) answer()         {}
func (Malformed) answer()      {}

// The tools' names that every vendor's answers translate into what the program
// at hand offers.
const (
	toolShell = "shell"
	toolWrite = "write"
)

type (
	shellInput struct {
		Command string `json:"command"`
	}
	writeInput struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
)

// Shell is a call that runs a command, by the tool that the program has for it.
func Shell(command string) ToolCall {
	return ToolCall{Name: toolShell, Input: shellInput{command}}
}

// Write is a call that writes a new file. Claude Code takes only an absolute
// path.
func Write(path, content string) ToolCall {
	return ToolCall{Name: toolWrite, Input: writeInput{path, content}}
}

// part is one vendor's share of the script, and how far it was played.
type part struct {
	steps []Step
	used  []bool
	held  map[string]Answer // by Request.key
}

// next picks the answer to a main request; nil where the script has none.
func (p *part) next(r Request) Answer {
	if a := p.held[r.key]; a != nil && r.key != "" {
		return a
	}
	pick := -1
	for i, step := range p.steps {
		if !strings.Contains(r.Prompt, step.Match) {
			continue
		}
		if !p.used[i] {
			pick = i
			break
		}
		if !step.Once {
			pick = i
		}
	}
	if pick < 0 {
		return nil
	}
	p.used[pick] = true
	if step := p.steps[pick]; step.Hold && r.key != "" {
		p.held[r.key] = step.Answer
	}
	return p.steps[pick].Answer
}

func (p *part) add(steps ...Step) {
	p.steps = append(p.steps, steps...)
	p.used = append(p.used, make([]bool, len(steps))...)
}

// at is when the limit lifts.
func (u UsageLimit) at() time.Time {
	if u.Reset.IsZero() {
		return time.Now().Add(3 * time.Hour).Truncate(time.Second)
	}
	return u.Reset
}

func (u UsageLimit) window() string {
	if u.Window == "" {
		return "five_hour"
	}
	return u.Window
}

func (u UsageLimit) plan() string {
	if u.Plan == "" {
		return "plus"
	}
	return u.Plan
}
