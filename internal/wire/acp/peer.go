package acp

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// What the client's side writes. A line is a message with its newline.

type message struct {
	Version string `json:"jsonrpc"`
	ID      *int   `json:"id,omitempty"`
	Method  string `json:"method,omitempty"`
	Params  any    `json:"params,omitempty"`
}

func asking(id int, method string, params any) []byte {
	return line(message{Version: "2.0", ID: &id, Method: method, Params: params})
}

func line(v any) []byte {
	b, _ := json.Marshal(v) // strings and numbers always marshal
	return append(b, '\n')
}

// Initialize offers neither files nor terminals: agents then use their own
// tools, and report them all the same.
func Initialize(id int, version string) []byte {
	type files struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	}
	type capabilities struct {
		Files    files `json:"fs"`
		Terminal bool  `json:"terminal"`
	}
	return asking(id, "initialize", struct {
		Protocol     int               `json:"protocolVersion"`
		Capabilities capabilities      `json:"clientCapabilities"`
		Info         map[string]string `json:"clientInfo"`
	}{1, capabilities{}, map[string]string{"name": "paceline", "title": "Paceline", "version": version}})
}

type session struct {
	ID      string     `json:"sessionId,omitempty"`
	Dir     string     `json:"cwd,omitempty"`
	Servers []struct{} `json:"mcpServers"` // none of ours; the protocol wants the list
}

// NewSession begins a conversation in dir.
func NewSession(id int, dir string) []byte {
	return asking(id, "session/new", session{Dir: dir, Servers: []struct{}{}})
}

// ResumeSession opens a conversation again that the agent keeps. Only resume
// does so in silence; load replays it first, which the reader drops.
func ResumeSession(id int, conversation, dir string, replays bool) []byte {
	method := "session/resume"
	if replays {
		method = "session/load"
	}
	return asking(id, method, session{ID: conversation, Dir: dir, Servers: []struct{}{}})
}

// SetMode switches the session to one of the agent's own modes.
func SetMode(id int, conversation, mode string) []byte {
	return asking(id, "session/set_mode", map[string]string{"sessionId": conversation, "modeId": mode})
}

// SetModel picks a model through the agent's own option for it.
func SetModel(id int, conversation, option, model string) []byte {
	return asking(id, "session/set_config_option", map[string]string{"sessionId": conversation, "configId": option, "value": model})
}

// Prompt begins a turn.
func Prompt(id int, conversation, text string) []byte {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return asking(id, "session/prompt", struct {
		Session string  `json:"sessionId"`
		Prompt  []block `json:"prompt"`
	}{conversation, []block{{"text", text}}})
}

// Cancel ends the turn that runs; its prompt is answered all the same.
func Cancel(conversation string) []byte {
	return line(message{Version: "2.0", Method: "session/cancel", Params: map[string]string{"sessionId": conversation}})
}

// Request is what an agent asks of its client.
type Request struct {
	ID     string // raw JSON: agents count in numbers, or in strings
	Method string
	params gjson.Result
}

// ParseRequest reads a line that is a request; ok is false for every other.
func ParseRequest(b []byte) (r Request, ok bool) {
	f := gjson.GetManyBytes(b, "method", "id", "params")
	if !f[0].Exists() || !f[1].Exists() || !gjson.ValidBytes(b) {
		return Request{}, false
	}
	return Request{f[1].Raw, f[0].String(), f[2]}, true
}

// Permission reports whether the agent asks before its model acts.
func (r Request) Permission() bool { return r.Method == "session/request_permission" }

// Decide answers a request for permission with the option that says so, once
// rather than for ever. Where there is none the turn is told that it was
// cancelled.
func (r Request) Decide(allow bool) []byte {
	kinds := []string{"reject_once", "reject_always"}
	if allow {
		kinds = []string{"allow_once", "allow_always"}
	}
	for _, kind := range kinds {
		if o := r.params.Get(`options.#(kind=="` + kind + `").optionId`); o.Exists() {
			return r.result(map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": o.String()}})
		}
	}
	return r.result(map[string]any{"outcome": map[string]string{"outcome": "cancelled"}})
}

// Refuse answers what this client never offered.
func (r Request) Refuse() []byte {
	return line(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}{Version: "2.0", ID: json.RawMessage(r.ID), Error: struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{-32601, "this client does not offer " + r.Method}})
}

func (r Request) result(v any) []byte {
	return line(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", json.RawMessage(r.ID), v})
}

// Answer is an agent's answer to a request of ours.
type Answer struct {
	ID     string // raw JSON
	Result []byte
	Error  []byte // nil where there is none
}

// ParseAnswer reads a line that is an answer; ok is false for every other.
func ParseAnswer(b []byte) (a Answer, ok bool) {
	f := gjson.GetManyBytes(b, "method", "id", "result", "error")
	if f[0].Exists() || !f[1].Exists() || !gjson.ValidBytes(b) {
		return Answer{}, false
	}
	a = Answer{ID: f[1].Raw, Result: []byte(f[2].Raw)}
	if f[3].IsObject() {
		a.Error = []byte(f[3].Raw)
	}
	return a, true
}
