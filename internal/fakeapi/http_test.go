package fakeapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// reply is an answer as plain HTTP shows it.
type reply struct {
	status int
	header http.Header
	body   gjson.Result // where it is one document
	kinds  []string     // of the events, in order
	events []gjson.Result
	broken bool // it ended without being whole
}

// text joins the deltas of one kind.
func (r reply) text(kind, path string) string {
	var b strings.Builder
	for i, k := range r.kinds {
		if k == kind {
			b.WriteString(r.events[i].Get(path).String())
		}
	}
	return b.String()
}

func send(t *testing.T, s *Server, method, path string, header map[string]string, body []byte) (reply, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	r := reply{status: resp.StatusCode, header: resp.Header, broken: err != nil}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		r.body = gjson.ParseBytes(b)
		return r, nil
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			r.kinds = append(r.kinds, kind)
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			r.events = append(r.events, gjson.Parse(data))
		}
	}
	return r, nil
}

type obj = map[string]any

func said(role, text string) obj {
	return obj{"role": role, "content": []obj{{"type": "text", "text": text}}}
}

// askClaude makes a main request as Claude Code does: its own note first, then
// the history.
func askClaude(t *testing.T, s *Server, session string, history ...obj) (reply, error) {
	t.Helper()
	messages := append([]obj{said("user", "<system-reminder>\nnotes\n</system-reminder>\n")}, history...)
	body, err := json.Marshal(obj{
		"model": "claude-test", "stream": true, "max_tokens": 100, "messages": messages,
		"tools": []obj{{"name": "Bash"}, {"name": "Write"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return send(t, s, "POST", "/v1/messages?beta=true", map[string]string{
		"Authorization": "Bearer " + fakeOAuth, "Anthropic-Version": "2023-06-01", "X-Claude-Code-Session-Id": session,
	}, body)
}

func typed(text string) obj {
	return obj{"type": "message", "role": "user", "content": []obj{{"type": "input_text", "text": text}}}
}

// askCodex makes a main request as Codex does.
func askCodex(t *testing.T, s *Server, turn string, history ...obj) (reply, error) {
	t.Helper()
	input := append([]obj{
		{"type": "message", "role": "developer", "content": []obj{{"type": "input_text", "text": "You are a coding agent."}}},
		typed("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"),
	}, history...)
	body, err := json.Marshal(obj{
		"model": "gpt-test", "stream": true, "input": input,
		"tools": []obj{{"type": "function", "name": "exec_command"}, {"type": "custom", "name": "apply_patch"}, {"type": "web_search"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	header := map[string]string{"Authorization": "Bearer " + fakeJWT()}
	if turn != "" {
		meta, _ := json.Marshal(obj{"thread_id": "th-1", "turn_id": turn, "request_kind": "turn"})
		header["X-Codex-Turn-Metadata"] = string(meta)
	}
	return send(t, s, "POST", "/v1/responses", header, body)
}

func must(t *testing.T) func(reply, error) reply {
	return func(r reply, err error) reply {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}
