package fakeapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestNextAnswer(t *testing.T) {
	text := func(s string) Text { return Text{Text: s} }
	for _, c := range []struct {
		name    string
		steps   []Step
		prompts []string
		want    []string // "" is no answer
	}{
		{"in order, and the last repeats", Steps(text("a"), text("b")), []string{"x", "x", "x"}, []string{"a", "b", "b"}},
		{"unless it says once", []Step{{Answer: text("a")}, {Answer: text("b"), Once: true}}, []string{"x", "x", "x"}, []string{"a", "b", "a"}},
		{"and nothing is left", []Step{{Answer: text("a"), Once: true}}, []string{"x", "x"}, []string{"a", ""}},
		{"by a part of the prompt", []Step{{Answer: text("a"), Match: "par"}, {Answer: text("b")}}, []string{"x", "the parser", "y"}, []string{"b", "a", "b"}},
		{"matched twice", []Step{{Answer: text("a"), Match: "par"}}, []string{"par", "par", "x"}, []string{"a", "a", ""}},
		{"nothing scripted", nil, []string{"x"}, []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &part{held: map[string]Answer{}}
			p.add(c.steps...)
			for i, prompt := range c.prompts {
				got, _ := p.next(Request{Prompt: prompt}).(Text)
				if got.Text != c.want[i] {
					t.Errorf("request %d gets %q, want %q", i, got.Text, c.want[i])
				}
			}
		})
	}
}

func TestHeldAnswers(t *testing.T) {
	p := &part{held: map[string]Answer{}}
	p.add(Step{Answer: Throttle{}, Hold: true}, Step{Answer: Text{Text: "ok"}})
	for range 3 {
		if _, ok := p.next(Request{key: "one"}).(Throttle); !ok {
			t.Error("a retry was answered otherwise")
		}
	}
	if _, ok := p.next(Request{key: "two"}).(Text); !ok {
		t.Error("another request was not answered by the next step")
	}
}

func TestParseScript(t *testing.T) {
	s, err := ParseScript([]byte(`{
		"anthropic": [
			{"do": "usage_limit", "reset": "+3h", "window": "seven_day", "match": "parser", "once": true},
			{"do": "text", "text": "Done.", "chunks": 3, "delay": "50ms"},
			{"do": "tool", "name": "Bash", "input": {"command": "ls"}}],
		"openai": [
			{"do": "throttle", "retry_after": "2s", "hides": {"reset": "2026-12-01T12:00:00Z"}, "hold": true},
			{"do": "shell", "command": "ls"}],
		"usage": {"plan": "pro"}}`))
	if err != nil {
		t.Fatal(err)
	}
	limit := s.Anthropic[0].Answer.(UsageLimit)
	if d := time.Until(limit.Reset); d < 2*time.Hour || d > 3*time.Hour {
		t.Errorf("resets in %v", d)
	}
	limit.Reset = time.Time{}
	s.Anthropic[0].Answer = limit
	want := Script{
		Anthropic: []Step{
			{Answer: UsageLimit{Window: "seven_day"}, Match: "parser", Once: true},
			{Answer: Text{Text: "Done.", Chunks: 3, Delay: 50 * time.Millisecond}},
			{Answer: ToolCall{Name: "Bash", Input: json.RawMessage(`{"command": "ls"}`)}},
		},
		OpenAI: []Step{
			{Answer: Throttle{RetryAfter: 2 * time.Second, Hides: &UsageLimit{Reset: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}}, Hold: true},
			{Answer: Shell("ls")},
		},
		Usage: &UsageLimit{Plan: "pro"},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("read %+v\nwant %+v", s, want)
	}
}

func TestParseScriptRefuses(t *testing.T) {
	for script, why := range map[string]string{
		`{"anthropic": [{"do": "dance"}]}`:               `cannot do "dance"`,
		`{"anthropic": [{"do": "refuse", "text": "x"}]}`: `no use for "text"`,
		`{"anthropic": [{"do": "text", "txt": "x"}]}`:    "txt",
		`{"gemini": []}`: "gemini",
		`{"openai": [{"do": "text", "delay": "soon"}]}`:                     "soon",
		`{"openai": [{"do": "usage_limit", "reset": "tomorrow"}]}`:          "tomorrow",
		`{"openai": [{"do": "throttle", "hides": {"resets": "tomorrow"}}]}`: "resets",
		`[`: "read a script",
	} {
		if _, err := ParseScript([]byte(script)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", script, err, why)
		}
	}
}

func TestScriptsSurviveJSON(t *testing.T) {
	reset := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	answers := []Answer{
		Text{Text: "a", Chunks: 2, Delay: time.Second, Used: 0.5},
		Reasoning{Summary: "s", Text: "t"},
		ToolCall{Name: "Bash", Input: json.RawMessage(`{"a":1}`), Say: "now"},
		UsageLimit{Reset: reset, Window: "seven_day", Plan: "pro", NoReset: true, After: "x"},
		Throttle{RetryAfter: time.Second, Hides: &UsageLimit{Reset: reset}},
		Overloaded{},
		ServerError{Status: 502, RetryAfter: time.Minute},
		SignedOut{},
		Forbidden{},
		Billing{Kind: "credit"},
		ModelNotFound{},
		ContextTooLong{},
		Overage{Text: "t", Reset: reset},
		CutMidStream{After: "x"},
		Hang{After: "y"},
		Refuse{},
		Malformed{},
	}
	want := Script{Anthropic: Steps(answers...), OpenAI: []Step{{Answer: Text{Text: "b"}, Match: "m", Once: true, Hold: true}}}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseScript(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back %+v\nwant %+v\nfrom %s", got, want, b)
	}
	if len(forms) != len(answers)+2 { // shell and write are tool calls
		t.Errorf("%d answers are tested of %d", len(answers), len(forms)-2)
	}
}
