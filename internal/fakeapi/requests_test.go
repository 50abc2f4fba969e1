package fakeapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q is not in %q", part, text)
	}
}

func result(id string) obj {
	return obj{"role": "user", "content": []obj{{"type": "tool_result", "tool_use_id": id, "content": "ok"}}}
}

func call(id string) obj {
	return obj{"role": "assistant", "content": []obj{{"type": "tool_use", "id": id, "name": "Bash", "input": obj{}}}}
}

// What counts is how often somebody asked, not how often it is on the wire.
func TestCountOfClaude(t *testing.T) {
	goOn := said("user", "go on")
	first := []obj{said("user", "mend it")}
	acting := append(slices.Clone(first), call("t1"), result("t1"))
	resumed := append(slices.Clone(acting), obj{"role": "user", "content": []obj{{"type": "tool_result", "tool_use_id": "t2"}, {"type": "text", "text": "mend it"}}})
	cutOff := append(slices.Clone(first), said("assistant", "I wi"), said("user", "Your response above was cut off mid-stream. Resume directly"))
	for _, c := range []struct {
		name    string
		asks    [][]obj
		mend    int
		goingOn int
	}{
		{"asked once", [][]obj{first}, 1, 0},
		{"and continued after a tool", [][]obj{first, acting}, 1, 0},
		{"and retried by the program", [][]obj{first, first, first}, 1, 0},
		{"and taken up after a cut", [][]obj{first, cutOff}, 1, 0},
		{"and followed by another", [][]obj{first, append(slices.Clone(first), said("assistant", "done"), goOn)}, 1, 1},
		{"asked again in the same conversation", [][]obj{first, {said("user", "mend it"), said("user", "mend it")}}, 2, 0},
		{"asked again after a tool's result", [][]obj{first, acting, resumed}, 2, 0},
		{"with a note of the program's after it", [][]obj{append(slices.Clone(first), said("user", "<system-reminder>x</system-reminder>"), said("system", "y"))}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, Script{Anthropic: Steps(Text{Text: "ok"})})
			for _, history := range c.asks {
				must(t)(askClaude(t, s, "one", history...))
			}
			if a, b := s.Count("mend it"), s.Count("go on"); a != c.mend || b != c.goingOn {
				t.Errorf("counts %d and %d, want %d and %d", a, b, c.mend, c.goingOn)
			}
		})
	}
	t.Run("in two conversations", func(t *testing.T) {
		s := start(t, Script{Anthropic: Steps(Text{Text: "ok"})})
		must(t)(askClaude(t, s, "one", first...))
		must(t)(askClaude(t, s, "two", first...))
		if got := s.Count("mend it"); got != 2 {
			t.Errorf("counts %d, want 2", got)
		}
	})
}

func TestCountOfCodex(t *testing.T) {
	acting := []obj{typed("mend it"), {"type": "function_call", "call_id": "c"}, {"type": "function_call_output", "call_id": "c"}}
	s := start(t, Script{OpenAI: Steps(Text{Text: "ok"})})
	must(t)(askCodex(t, s, "turn-1", typed("mend it")))
	must(t)(askCodex(t, s, "turn-1", typed("mend it"))) // its own retry
	must(t)(askCodex(t, s, "turn-1", acting...))
	must(t)(askCodex(t, s, "turn-1", typed("mend it"), typed("Another language model started to solve this problem and"))) // after its own summary
	if got := s.Count("mend it"); got != 1 {
		t.Errorf("one turn counts %d", got)
	}
	must(t)(askCodex(t, s, "turn-2", append(acting, typed("mend it"))...))
	if got := s.Count("mend it"); got != 2 {
		t.Errorf("asked again, it counts %d", got)
	}
	last := s.Requests()[len(s.Requests())-1]
	if !slices.Equal(last.Prompts, []string{"mend it", "mend it"}) || last.Conversation != "th-1" || !slices.Equal(last.Tools, []string{"exec_command", "apply_patch", "web_search"}) {
		t.Errorf("recorded as %+v", last)
	}
}

func TestRecordsKeepNoSecret(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(Text{Text: "ok"}), OpenAI: Steps(Text{Text: "ok"})})
	must(t)(askClaude(t, s, "one", said("user", "go")))
	must(t)(askCodex(t, s, "", typed("go")))
	must(t)(send(t, s, "POST", "/v1/messages", map[string]string{"X-Api-Key": "key-secret", "Anthropic-Version": "1"}, []byte(`{}`)))
	must(t)(send(t, s, "GET", "/v1/models?key=query-secret", nil, nil))
	must(t)(send(t, s, "POST", "/oauth/token", nil, []byte(`{"refresh_token":"refresh-secret"}`)))
	asked := s.Requests()
	for i, want := range []string{"oauth", "oauth", "key", "none", "none"} {
		if asked[i].Auth != want {
			t.Errorf("request %d was signed %q, want %q", i, asked[i].Auth, want)
		}
	}
	b, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"secret", fakeOAuth, "eyJ"} {
		if strings.Contains(fmt.Sprintf("%+v %s", asked, b), secret) {
			t.Errorf("%q was kept", secret)
		}
	}
}

func TestWait(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(Text{Text: "ok"})})
	got := make(chan Request)
	go func() {
		r, _ := s.Wait(t.Context(), func(r Request) bool { return r.Prompt == "go" && r.Status == 200 })
		got <- r
	}()
	must(t)(askClaude(t, s, "one", said("user", "go")))
	if r := <-got; r.Model != "claude-test" || !r.Main || !r.Opens {
		t.Errorf("waited for %+v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Wait(ctx, func(Request) bool { return false }); err == nil {
		t.Error("waited for nothing, and got it")
	}
}

func TestPackedRequests(t *testing.T) {
	s := start(t, Script{OpenAI: Steps(Text{Text: "ok"})})
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, `{"input":"go"}`)
	_ = z.Close()
	must(t)(send(t, s, "POST", "/v1/responses", map[string]string{"Content-Encoding": "gzip"}, b.Bytes()))
	if got := s.Count("go"); got != 1 {
		t.Errorf("gzip: counts %d", got)
	}
	if r := must(t)(send(t, s, "POST", "/v1/responses", map[string]string{"Content-Encoding": "zstd"}, b.Bytes())); r.status != 415 {
		t.Errorf("zstd: %d", r.status)
	}
}
