package fakeapi

import (
	"encoding/json"
	"strings"
	"time"
)

// stepJSON has every key that a step of a script file may have.
type stepJSON struct {
	Do    string `json:"do"`
	Match string `json:"match,omitempty"`
	Once  bool   `json:"once,omitempty"`
	Hold  bool   `json:"hold,omitempty"`

	Text       string          `json:"text,omitempty"`
	Chunks     int             `json:"chunks,omitempty"`
	Delay      span            `json:"delay,omitzero"`
	Used       float64         `json:"used,omitempty"`
	Summary    string          `json:"summary,omitempty"`
	Name       string          `json:"name,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Say        string          `json:"say,omitempty"`
	Command    string          `json:"command,omitempty"`
	Path       string          `json:"path,omitempty"`
	Content    string          `json:"content,omitempty"`
	RetryAfter span            `json:"retry_after,omitzero"`
	Hides      *limitJSON      `json:"hides,omitempty"`
	Status     int             `json:"status,omitempty"`
	Kind       string          `json:"kind,omitempty"`
	limitJSON
}

type limitJSON struct {
	Reset   instant `json:"reset,omitzero"`
	Window  string  `json:"window,omitempty"`
	Plan    string  `json:"plan,omitempty"`
	NoReset bool    `json:"no_reset,omitempty"`
	After   string  `json:"after,omitempty"`
}

func limitOf(u *UsageLimit) *limitJSON {
	if u == nil {
		return nil
	}
	return &limitJSON{Reset: instant{u.Reset}, Window: u.Window, Plan: u.Plan, NoReset: u.NoReset, After: u.After}
}

func (l *limitJSON) limit() *UsageLimit {
	if l == nil {
		return nil
	}
	return &UsageLimit{Reset: l.Reset.Time, Window: l.Window, Plan: l.Plan, NoReset: l.NoReset, After: l.After}
}

// form is how a step is read: the keys that its answer uses, and what they make.
type form struct {
	keys   string
	answer func(stepJSON) Answer
}

// plain are the answers that have no fields.
var plain = map[Answer]string{
	Overloaded{}: "overloaded", SignedOut{}: "signed_out", Forbidden{}: "forbidden", ModelNotFound{}: "model_not_found",
	ContextTooLong{}: "context_too_long", Refuse{}: "refuse", Malformed{}: "malformed",
}

var forms = func() map[string]form {
	all := map[string]form{
		"text": {"text chunks delay used", func(in stepJSON) Answer {
			return Text{Text: in.Text, Chunks: in.Chunks, Delay: time.Duration(in.Delay), Used: in.Used}
		}},
		"reasoning": {"summary text", func(in stepJSON) Answer { return Reasoning{Summary: in.Summary, Text: in.Text} }},
		"tool":      {"name input say", func(in stepJSON) Answer { return ToolCall{Name: in.Name, Input: in.Input, Say: in.Say} }},
		"shell": {"command say", func(in stepJSON) Answer {
			return ToolCall{Name: toolShell, Input: shellInput{in.Command}, Say: in.Say}
		}},
		"write": {"path content say", func(in stepJSON) Answer {
			return ToolCall{Name: toolWrite, Input: writeInput{in.Path, in.Content}, Say: in.Say}
		}},
		"usage_limit": {"reset window plan no_reset after", func(in stepJSON) Answer { return *in.limit() }},
		"throttle": {"retry_after hides", func(in stepJSON) Answer {
			return Throttle{RetryAfter: time.Duration(in.RetryAfter), Hides: in.Hides.limit()}
		}},
		"server_error": {"status retry_after", func(in stepJSON) Answer {
			return ServerError{Status: in.Status, RetryAfter: time.Duration(in.RetryAfter)}
		}},
		"billing": {"kind", func(in stepJSON) Answer { return Billing{Kind: in.Kind} }},
		"overage": {"text reset", func(in stepJSON) Answer { return Overage{Text: in.Text, Reset: in.Reset.Time} }},
		"cut":     {"after", func(in stepJSON) Answer { return CutMidStream{After: in.After} }},
		"hang":    {"after", func(in stepJSON) Answer { return Hang{After: in.After} }},
	}
	for answer, name := range plain {
		all[name] = form{"", func(stepJSON) Answer { return answer }}
	}
	return all
}()

// instant is a time in a script file.
type instant struct{ time.Time }

// UnmarshalText reads a time, or a length from now.
func (t *instant) UnmarshalText(b []byte) error {
	if length, ok := strings.CutPrefix(string(b), "+"); ok {
		d, err := time.ParseDuration(length)
		t.Time = time.Now().Add(d).Truncate(time.Second)
		return err
	}
	at, err := time.Parse(time.RFC3339, string(b))
	t.Time = at
	return err
}

// UnmarshalJSON keeps the time's own, which knows nothing of lengths, out.
func (t *instant) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	return t.UnmarshalText([]byte(text))
}

// span is a length of time in a script file: "50ms".
type span time.Duration

// MarshalText writes what UnmarshalText reads.
func (d span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a length as people write it.
func (d *span) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = span(v)
	return err
}
