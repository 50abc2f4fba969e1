package fakeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
// The other keys are match, once, hold, and the answer's fields; one that the
// answer has no use for is an error. A time is RFC 3339, or a length after "+"
// from the moment of reading, so that a file does not go stale.
func ParseScript(b []byte) (Script, error) {
	var s Script
	if err := json.Unmarshal(b, &s); err != nil {
		return Script{}, fmt.Errorf("read a script: %w", err)
	}
	return s, nil
}

type scriptJSON struct {
	Anthropic []Step     `json:"anthropic,omitempty"`
	OpenAI    []Step     `json:"openai,omitempty"`
	Google    []Step     `json:"google,omitempty"`
	Chat      []Step     `json:"chat,omitempty"`
	Usage     *limitJSON `json:"usage,omitempty"`
}

// MarshalJSON writes what ParseScript reads.
func (s Script) MarshalJSON() ([]byte, error) {
	return json.Marshal(scriptJSON{Anthropic: s.Anthropic, OpenAI: s.OpenAI, Google: s.Google, Chat: s.Chat, Usage: limitOf(s.Usage)})
}

// UnmarshalJSON reads the form that ParseScript describes.
func (s *Script) UnmarshalJSON(b []byte) error {
	var in scriptJSON
	if err := strict(b, &in); err != nil {
		return err
	}
	*s = Script{Anthropic: in.Anthropic, OpenAI: in.OpenAI, Google: in.Google, Chat: in.Chat, Usage: in.Usage.limit()}
	return nil
}

// UnmarshalJSON reads one step of a script file.
func (s *Step) UnmarshalJSON(b []byte) error {
	var in stepJSON
	if err := strict(b, &in); err != nil {
		return err
	}
	form, ok := forms[in.Do]
	if !ok {
		return fmt.Errorf("a step cannot do %q", in.Do)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil {
		return err
	}
	known := strings.Fields("do match once hold " + form.keys)
	for key := range keys {
		if !slices.Contains(known, key) {
			return fmt.Errorf("%s has no use for %q", in.Do, key)
		}
	}
	*s = Step{Answer: form.answer(in), Match: in.Match, Once: in.Once, Hold: in.Hold}
	return nil
}

// MarshalJSON writes one step of a script file.
func (s Step) MarshalJSON() ([]byte, error) {
	out := stepJSON{Match: s.Match, Once: s.Once, Hold: s.Hold}
	switch a := s.Answer.(type) {
	case Text:
		out.Do, out.Text, out.Chunks, out.Delay, out.Used = "text", a.Text, a.Chunks, span(a.Delay), a.Used
	case Reasoning:
		out.Do, out.Summary, out.Text = "reasoning", a.Summary, a.Text
	case ToolCall:
		out.Do, out.Name, out.Input, out.Say = "tool", a.Name, inputOf(a.Input), a.Say
	case UsageLimit:
		out.Do, out.limitJSON = "usage_limit", *limitOf(&a)
	case Throttle:
		out.Do, out.RetryAfter, out.Hides = "throttle", span(a.RetryAfter), limitOf(a.Hides)
	case ServerError:
		out.Do, out.Status, out.RetryAfter = "server_error", a.Status, span(a.RetryAfter)
	case Billing:
		out.Do, out.Kind = "billing", a.Kind
	case Overage:
		out.Do, out.Text, out.Reset = "overage", a.Text, instant{a.Reset}
	case CutMidStream:
		out.Do, out.After = "cut", a.After
	case Hang:
		out.Do, out.After = "hang", a.After
	default:
		if out.Do = plain[s.Answer]; out.Do == "" {
			return nil, fmt.Errorf("a step without an answer cannot be written")
		}
	}
	return json.Marshal(out)
}

func strict(b []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(to)
}
