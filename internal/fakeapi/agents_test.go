package fakeapi

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestOtherVendors(t *testing.T) {
	const (
		gemini = `{"contents":[{"role":"user","parts":[{"text":"make it"}]}],"tools":[{"functionDeclarations":[{"name":"write_file"},{"name":"run_shell_command"}]}]}`
		chat   = `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"make it"}],"tools":[{"type":"function","function":{"name":"bash"}}]}`
	)
	for _, tt := range []struct {
		name, path, body string
		script           Script
		status           int
		holds            []string
	}{
		{"Gemini's answer", "/v1beta/models/g:streamGenerateContent", gemini, Script{Google: Steps(Text{Text: "one two", Chunks: 2})}, 200, []string{`"text":"one`, `"finishReason":"STOP"`}},
		{"Gemini's call of a tool, under its own name", "/v1beta/models/g:streamGenerateContent", gemini, Script{Google: Steps(Write("a.txt", "x"))}, 200, []string{`"name":"write_file"`, `"file_path":"a.txt"`}},
		{"Gemini's daily quota", "/v1beta/models/g:streamGenerateContent", gemini, Script{Google: Steps(UsageLimit{})}, 429, []string{"PerDay", "RESOURCE_EXHAUSTED"}},
		{"Gemini's refused key", "/v1beta/models/g:streamGenerateContent", gemini, Script{Google: Steps(SignedOut{})}, 400, []string{"API_KEY_INVALID"}},
		{"a chat's answer", "/v1/chat/completions", chat, Script{Chat: Steps(Text{Text: "hi"})}, 200, []string{`"content":"hi"`, `"finish_reason":"stop"`, "[DONE]"}},
		{"a chat's call of a tool", "/v1/chat/completions", chat, Script{Chat: Steps(Shell("ls"))}, 200, []string{`"name":"bash"`, "tool_calls"}},
		{"a chat's limit", "/v1/chat/completions", chat, Script{Chat: Steps(UsageLimit{})}, 429, []string{"insufficient_quota"}},
		{"a chat's title is no work", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"make it"}]}`, Script{}, 200, []string{"A title"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.script)
			r, err := http.Post(s.URL()+tt.path, "application/json", bytes.NewReader([]byte(tt.body)))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != tt.status {
				t.Fatal(r.Status, err)
			}
			for _, want := range tt.holds {
				if !strings.Contains(string(b), want) {
					t.Errorf("%q is missing from %s", want, b)
				}
			}
			if main := !strings.HasPrefix(tt.name, "a chat's title"); s.Count("make it") != 1 && main {
				t.Errorf("the prompt arrived %d times", s.Count("make it"))
			}
		})
	}
}
