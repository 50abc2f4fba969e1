package fakeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// ParseScript reads a script from JSON, as a file holds it:
//
//	{"anthropic": [{"do": "usage_limit", "reset": "+3h", "match": "parser"},
//	               {"do": "text", "text": "Done.", "chunks": 3, "delay": "50ms"}],
//	 "openai":    [{"do": "shell", "command": "echo hi > a.txt"}, {"do": "text", "text": "Done."}]}
//
// Each step says what to do: text, reasoning, tool, shell, write, usage_limit,
// throttle, overloaded, server_error, signed_out, forbidden, billing,
// model_not_found, context_too_long, overage, cut, hang, refuse or malformed.
// The other keys are the answer's fields. A time is RFC 3339, or a length after
// "+" from the moment of reading, so that a file does not go stale.
func ParseScript(b []byte) (Script, error) {
	var s Script
	if err := strict(b, &s); err != nil {
		return Script{}, fmt.Errorf("read a script: %w", err)
	}
	return s, nil
}

type scriptJSON struct {
	Anthropic []Step     `json:"anthropic,omitempty"`
	OpenAI    []Step     `json:"openai,omitempty"`
	Usage     *limitJSON `json:"usage,omitempty"`
}

// MarshalJSON writes what ParseScript reads.
func (s Script) MarshalJSON() ([]byte, error) {
	out := scriptJSON{Anthropic: s.Anthropic, OpenAI: s.OpenAI}
	if s.Usage != nil {
		l := limitOf(*s.Usage)
		out.Usage = &l
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the form that ParseScript describes.
func (s *Script) UnmarshalJSON(b []byte) error {
	var in scriptJSON
	if err := strict(b, &in); err != nil {
		return err
	}
	*s = Script{Anthropic: in.Anthropic, OpenAI: in.OpenAI}
	if in.Usage != nil {
		l := in.Usage.limit()
		s.Usage = &l
	}
	return nil
}

type limitJSON struct {
	Reset   instant `json:"reset,omitzero"`
	Window  string  `json:"window,omitempty"`
	Plan    string  `json:"plan,omitempty"`
	NoReset bool    `json:"no_reset,omitempty"`
	After   string  `json:"after,omitempty"`
}

func limitOf(u UsageLimit) limitJSON {
	return limitJSON{Reset: instant{u.Reset}, Window: u.Window, Plan: u.Plan, NoReset: u.NoReset, After: u.After}
}

func (l limitJSON) limit() UsageLimit {
	return UsageLimit{Reset: l.Reset.Time, Window: l.Window, Plan: l.Plan, NoReset: l.NoReset, After: l.After}
}

// stepJSON has every key that a step may have.
type stepJSON struct {
	Do    string `json:"do"`
	Match string `json:"match,omitempty"`
	Once  bool   `json:"once,omitempty"`
	Hold  bool   `json:"hold,omitempty"`

	Text       string          `json:"text,omitempty"`
	Chunks     int             `json:"chunks,omitempty"`
	Delay      span            `json:"delay,omitempty"`
	Used       float64         `json:"used,omitempty"`
	Summary    string          `json:"summary,omitempty"`
	Name       string          `json:"name,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Say        string          `json:"say,omitempty"`
	Command    string          `json:"command,omitempty"`
	Path       string          `json:"path,omitempty"`
	Content    string          `json:"content,omitempty"`
	RetryAfter span            `json:"retry_after,omitempty"`
	Hides      *limitJSON      `json:"hides,omitempty"`
	Status     int             `json:"status,omitempty"`
	Kind       string          `json:"kind,omitempty"`
	limitJSON
}

// UnmarshalJSON reads one step of a script file.
func (s *Step) UnmarshalJSON(b []byte) error {
	var in stepJSON
	if err := strict(b, &in); err != nil {
		return err
	}
	answer, err := in.answer()
	if err != nil {
		return err
	}
	*s = Step{Answer: answer, Match: in.Match, Once: in.Once, Hold: in.Hold}
	back, err := s.wire()
	if err != nil {
		return err
	}
	// A key that the answer has no use for is a mistake in the file.
	if in.Input, back.Input = nil, nil; !reflect.DeepEqual(in, back) && in.Do != "shell" && in.Do != "write" {
		return fmt.Errorf("step %q has a key that it does not use", in.Do)
	}
	return nil
}

func (in stepJSON) answer() (Answer, error) {
	switch in.Do {
	case "text":
		return Text{Text: in.Text, Chunks: in.Chunks, Delay: time.Duration(in.Delay), Used: in.Used}, nil
	case "reasoning":
		return Reasoning{Summary: in.Summary, Text: in.Text}, nil
	case "tool":
		return ToolCall{Name: in.Name, Input: in.Input, Say: in.Say}, nil
	case "shell":
		call := Shell(in.Command)
		call.Say = in.Say
		return call, nil
	case "write":
		call := Write(in.Path, in.Content)
		call.Say = in.Say
		return call, nil
	case "usage_limit":
		return in.limit(), nil
	case "throttle":
		t := Throttle{RetryAfter: time.Duration(in.RetryAfter)}
		if in.Hides != nil {
			l := in.Hides.limit()
			t.Hides = &l
		}
		return t, nil
	case "overloaded":
		return Overloaded{}, nil
	case "server_error":
		return ServerError{Status: in.Status, RetryAfter: time.Duration(in.RetryAfter)}, nil
	case "signed_out":
		return SignedOut{}, nil
	case "forbidden":
		return Forbidden{}, nil
	case "billing":
		return Billing{Kind: in.Kind}, nil
	case "model_not_found":
		return ModelNotFound{}, nil
	case "context_too_long":
		return ContextTooLong{}, nil
	case "overage":
		return Overage{Text: in.Text, Reset: in.Reset.Time}, nil
	case "cut":
		return CutMidStream{After: in.After}, nil
	case "hang":
		return Hang{After: in.After}, nil
	case "refuse":
		return Refuse{}, nil
	case "malformed":
		return Malformed{}, nil
	}
	return nil, fmt.Errorf("a step cannot do %q", in.Do)
}

// MarshalJSON writes one step of a script file.
func (s Step) MarshalJSON() ([]byte, error) {
	out, err := s.wire()
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

func (s Step) wire() (stepJSON, error) {
	out := stepJSON{Match: s.Match, Once: s.Once, Hold: s.Hold}
	switch a := s.Answer.(type) {
	case Text:
		out.Do, out.Text, out.Chunks, out.Delay, out.Used = "text", a.Text, a.Chunks, span(a.Delay), a.Used
	case Reasoning:
		out.Do, out.Summary, out.Text = "reasoning", a.Summary, a.Text
	case ToolCall:
		out.Do, out.Name, out.Input, out.Say = "tool", a.Name, inputOf(a.Input), a.Say
	case UsageLimit:
		out.Do, out.limitJSON = "usage_limit", limitOf(a)
	case Throttle:
		out.Do, out.RetryAfter = "throttle", span(a.RetryAfter)
		if a.Hides != nil {
			l := limitOf(*a.Hides)
			out.Hides = &l
		}
	case Overloaded:
		out.Do = "overloaded"
	case ServerError:
		out.Do, out.Status, out.RetryAfter = "server_error", a.Status, span(a.RetryAfter)
	case SignedOut:
		out.Do = "signed_out"
	case Forbidden:
		out.Do = "forbidden"
	case Billing:
		out.Do, out.Kind = "billing", a.Kind
	case ModelNotFound:
		out.Do = "model_not_found"
	case ContextTooLong:
		out.Do = "context_too_long"
	case Overage:
		out.Do, out.Text, out.Reset = "overage", a.Text, instant{a.Reset}
	case CutMidStream:
		out.Do, out.After = "cut", a.After
	case Hang:
		out.Do, out.After = "hang", a.After
	case Refuse:
		out.Do = "refuse"
	case Malformed:
		out.Do = "malformed"
	default:
		return out, fmt.Errorf("a step without an answer cannot be written")
	}
	return out, nil
}

// instant is a time in a script file.
type instant struct{ time.Time }

func (t *instant) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	if length, ok := strings.CutPrefix(text, "+"); ok {
		d, err := time.ParseDuration(length)
		t.Time = time.Now().Add(d).Truncate(time.Second)
		return err
	}
	at, err := time.Parse(time.RFC3339, text)
	t.Time = at
	return err
}

// span is a length of time in a script file: "50ms".
type span time.Duration

func (d span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *span) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = span(v)
	return err
}

func strict(b []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(to)
}
