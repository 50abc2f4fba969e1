package claude

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// UserMessage is the line that sends a prompt. Its uuid is ours: the program
// acknowledges it by that name, keeps it in its transcript, and drops a second
// message of the same one.
func UserMessage(uuid, text string) []byte {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type message struct {
		Role    string `json:"role"`
		Content []part `json:"content"`
	}
	return encode(struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
		Parent  *string `json:"parent_tool_use_id"`
		UUID    string  `json:"uuid,omitempty"`
	}{"user", message{"user", []part{{"text", text}}}, nil, uuid})
}

// Initialize is the line that opens the control protocol. It is answered before
// any message is sent, without a model request.
func Initialize(requestID string) []byte { return ControlRequest(requestID, "initialize") }

// ControlRequest is the line of a request without arguments: interrupt,
// get_usage, initialize.
func ControlRequest(requestID, subtype string) []byte {
	type request struct {
		Subtype string `json:"subtype"`
	}
	return encode(struct {
		Type    string  `json:"type"`
		ID      string  `json:"request_id"`
		Request request `json:"request"`
	}{"control_request", requestID, request{subtype}})
}

// AnswerTool is the line that answers a can_use_tool request. An allowed call
// runs with the given input, which is the request's own unless a person changed
// it; without one that is an object the call is denied, because the program
// would run it with something that nobody has seen.
func AnswerTool(requestID string, allow bool, input json.RawMessage, why string) []byte {
	type answer struct {
		Behavior string          `json:"behavior"`
		Input    json.RawMessage `json:"updatedInput,omitempty"`
		Message  string          `json:"message,omitempty"`
	}
	type response struct {
		Subtype  string `json:"subtype"`
		ID       string `json:"request_id"`
		Response answer `json:"response"`
	}
	a := answer{Behavior: "allow", Input: input}
	if allow && !(gjson.ValidBytes(input) && gjson.ParseBytes(input).IsObject()) {
		allow, why = false, "The input of this call could not be read."
	}
	if !allow {
		if why == "" {
			why = "Denied."
		}
		a = answer{Behavior: "deny", Message: why}
	}
	return encode(struct {
		Type     string   `json:"type"`
		Response response `json:"response"`
	}{"control_response", response{"success", requestID, a}})
}

// encode writes one line. The texts are kept readable: nothing here is put into
// a web page.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // of strings and valid JSON: it cannot fail
	return b.Bytes()
}

// Control is one frame of the control protocol, as the program sent it.
type Control struct {
	RequestID string
	Subtype   string // of a request; of a response "success" or "error"
	Response  bool   // it answers a request; where user messages are replayed, our own answers come back as well
	Cancel    bool   // the program takes a request of its own back
	Success   bool   // of a response
	Body      []byte // a response's raw body; nil where it is an error
	Error     string // a failed response's text

	Tool        string          // can_use_tool: the tool's name; elicitation: the server's
	Input       json.RawMessage // can_use_tool: the call's input
	ToolUseID   string
	About       string // what for, in the program's words
	Interactive bool   // a person has to answer: a permission is not enough
	Hook        string // hook_callback: the hook's event
}

// ParseControl reads a line of the control protocol. It is false for any other.
func ParseControl(line []byte) (Control, bool) {
	if !gjson.ValidBytes(line) {
		return Control{}, false
	}
	root := gjson.ParseBytes(line)
	if !root.IsObject() {
		return Control{}, false
	}
	switch root.Get("type").Str {
	case "control_request":
		return parseRequest(root)
	case "control_response":
		r := root.Get("response")
		c := Control{Response: true, RequestID: r.Get("request_id").Str, Subtype: r.Get("subtype").Str, Error: r.Get("error").Str}
		c.Success = c.Subtype == "success"
		if body := r.Get("response"); c.Success && body.Exists() {
			c.Body = []byte(body.Raw)
		}
		return c, c.RequestID != ""
	case "control_cancel_request":
		c := Control{Cancel: true, RequestID: root.Get("request_id").Str}
		return c, c.RequestID != ""
	}
	return Control{}, false
}

func parseRequest(root gjson.Result) (Control, bool) {
	r := root.Get("request")
	c := Control{
		RequestID: root.Get("request_id").Str, Subtype: r.Get("subtype").Str, ToolUseID: r.Get("tool_use_id").Str,
		Tool: r.Get("tool_name").Str, About: r.Get("description").Str, Interactive: r.Get("requires_user_interaction").Bool(),
	}
	switch c.Subtype {
	case "can_use_tool":
		if in := r.Get("input"); in.IsObject() {
			c.Input = json.RawMessage(in.Raw)
		}
	case "elicitation":
		c.Tool, c.About, c.Interactive = r.Get("mcp_server_name").Str, r.Get("message").Str, true
	case "hook_callback":
		c.Hook = r.Get("input.hook_event_name").Str
	}
	return c, c.RequestID != "" && c.Subtype != ""
}

// RefuseControl is the line that refuses a request of the program which is not
// about a tool.
func RefuseControl(requestID, why string) []byte {
	type response struct {
		Subtype string `json:"subtype"`
		ID      string `json:"request_id"`
		Error   string `json:"error"`
	}
	return encode(struct {
		Type     string   `json:"type"`
		Response response `json:"response"`
	}{"control_response", response{"error", requestID, why}})
}
