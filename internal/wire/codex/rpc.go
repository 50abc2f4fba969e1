// Package codex reads the Codex CLI: the JSON-RPC of its app-server, the lines of
// `codex exec --json`, and its rollout files. It is the only place that knows
// its words.
//
// Child threads share their parent's connection. Their work is the parent's,
// their failures are not. A command that outlives its turn reports under the
// old turn's id, and is not the new one's work.
package codex

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// ThreadParams is what a conversation is opened with.
type ThreadParams struct {
	Dir      string // absolute
	Model    string // "" is the account's own default
	Approval string // never, untrusted
	Sandbox  string // read-only, workspace-write, danger-full-access
}

type threadParams struct {
	Thread   string `json:"threadId,omitempty"`
	Dir      string `json:"cwd,omitempty"`
	Model    string `json:"model,omitempty"`
	Approval string `json:"approvalPolicy,omitempty"`
	Sandbox  string `json:"sandbox,omitempty"`
	NoTurns  bool   `json:"excludeTurns,omitempty"`
}

// Initialize is the first request.
func Initialize(id int, version string) []byte {
	type info struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	return request(id, "initialize", struct {
		Info info `json:"clientInfo"`
	}{info{"paceline", "Paceline", version}})
}

// Initialized is the notification that ends the handshake.
func Initialized() []byte {
	return encode(struct {
		Method string `json:"method"`
	}{"initialized"})
}

// ThreadStart opens a new conversation.
func ThreadStart(id int, p ThreadParams) []byte {
	return request(id, "thread/start", threadParams{Dir: p.Dir, Model: p.Model, Approval: p.Approval, Sandbox: p.Sandbox})
}

// ThreadResume opens an earlier conversation again.
func ThreadResume(id int, thread string, p ThreadParams) []byte {
	return request(id, "thread/resume", threadParams{Thread: thread, Dir: p.Dir, Model: p.Model, Approval: p.Approval, Sandbox: p.Sandbox, NoTurns: true})
}

// TurnStart sends a prompt. message is our own id of it.
func TurnStart(id int, thread, text, message string) []byte {
	type input struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return request(id, "turn/start", struct {
		Thread  string  `json:"threadId"`
		Input   []input `json:"input"`
		Message string  `json:"clientUserMessageId,omitempty"`
	}{thread, []input{{"text", text}}, message})
}

// TurnSteer adds a prompt to the turn that runs; another turn refuses it.
func TurnSteer(id int, thread, turn, text, message string) []byte {
	type input struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return request(id, "turn/steer", struct {
		Thread  string  `json:"threadId"`
		Turn    string  `json:"expectedTurnId"`
		Input   []input `json:"input"`
		Message string  `json:"clientUserMessageId,omitempty"`
	}{thread, turn, []input{{"text", text}}, message})
}

// TurnInterrupt ends the turn that runs.
func TurnInterrupt(id int, thread, turn string) []byte {
	return request(id, "turn/interrupt", struct {
		Thread string `json:"threadId"`
		Turn   string `json:"turnId"`
	}{thread, turn})
}

// Read is a request without arguments: account/read, account/rateLimits/read.
func Read(id int, method string) []byte { return request(id, method, struct{}{}) }

// Decision answers an approval request.
type Decision string

// The two decisions that every kind of request understands.
const (
	Accept  Decision = "accept"
	Decline Decision = "decline"
)

// Answer replies to a server's request, in the shape that its method asks for. A
// question to a person, which no permission answers, gets an error, so that the
// model goes on without.
func Answer(ask RPC, d Decision) []byte {
	type reply[T any] struct {
		ID     json.RawMessage `json:"id"`
		Result T               `json:"result"`
	}
	type decided struct {
		Decision string `json:"decision"`
	}
	switch ask.Method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		return encode(reply[decided]{ask.ID, decided{string(d)}})
	case "applyPatchApproval", "execCommandApproval":
		word := "denied"
		if d == Accept {
			word = "approved"
		}
		return encode(reply[decided]{ask.ID, decided{word}})
	case "mcpServer/elicitation/request":
		type action struct {
			Action  string   `json:"action"`
			Content struct{} `json:"content"`
		}
		if ask.kind != "mcp_tool_call" {
			d = Decline // it wants words, not a yes
		}
		return encode(reply[action]{ask.ID, action{Action: string(d)}})
	}
	type failure struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	return encode(struct {
		ID    json.RawMessage `json:"id"`
		Error failure         `json:"error"`
	}{ask.ID, failure{-32601, "nobody is here to answer"}})
}

// RPC is one line of the app-server, by its kind.
type RPC struct {
	Response bool // it answers a request of ours
	Request  bool // the server asks; ids count from 0
	ID       json.RawMessage
	Method   string
	Result   json.RawMessage
	Error    json.RawMessage // nil where there is none

	kind string // of an elicitation
}

// ParseRPC reads a line's kind. It is false for what is no JSON-RPC.
func ParseRPC(line []byte) (RPC, bool) {
	if !gjson.ValidBytes(line) {
		return RPC{}, false
	}
	f := gjson.GetManyBytes(line, "id", "method", "result", "error", "params._meta.codex_approval_kind")
	r := RPC{Method: f[1].String(), kind: f[4].String()}
	if f[0].Exists() {
		r.ID = json.RawMessage(f[0].Raw)
	}
	if f[2].Exists() {
		r.Result = json.RawMessage(f[2].Raw)
	}
	if f[3].IsObject() {
		r.Error = json.RawMessage(f[3].Raw)
	}
	r.Response = r.ID != nil && r.Method == "" && (f[2].Exists() || r.Error != nil)
	r.Request = r.ID != nil && r.Method != ""
	return r, r.Response || r.Method != ""
}

func request[T any](id int, method string, params T) []byte {
	return encode(struct {
		ID     int    `json:"id"`
		Method string `json:"method"`
		Params T      `json:"params"`
	}{id, method, params})
}

func encode(v any) []byte {
	b, _ := json.Marshal(v) // of strings, numbers and raw JSON that was read
	return append(b, '\n')
}
