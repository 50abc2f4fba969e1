package claude

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// frame is one stdout line, read as far as its kind. The body is decoded only
// for frames that change something: most lines are deltas of text.
type frame struct {
	typ, sub string // type, subtype
	uuid     string // the frame's own, or the message's that it echoes
	child    bool   // said by or about a subagent
	event    gjson.Result
	body     []byte
}

// headOf reads the kind of a line. Half a frame is no frame: gjson would find a
// type in it, so the whole line is checked first.
func headOf(line []byte) (frame, bool) {
	if !gjson.ValidBytes(line) {
		return frame{}, false
	}
	root := gjson.ParseBytes(line)
	if !root.IsObject() {
		return frame{}, false
	}
	f := frame{body: line}
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			f.typ = value.Str // "" unless it is a string
		case "subtype":
			f.sub = value.Str
		case "uuid":
			f.uuid = value.Str
		case "parent_tool_use_id":
			f.child = value.Type != gjson.Null && value.Str != ""
		case "event":
			f.event = value
		}
		return true
	})
	return f, f.typ != ""
}

// kind is how people are told of the frame, and what they list as harmless.
func (f frame) kind() string {
	switch {
	case f.typ == "":
		return "unreadable"
	case f.typ == "result", f.sub == "": // a result's subtype is no kind of frame
		return word(f.typ)
	}
	return word(f.typ) + "/" + word(f.sub)
}

// word keeps a vendor's word fit to be stored and shown. Words are short names;
// whatever else stands in their place may be anybody's text.
func word(s string) string {
	if len(s) > 64 {
		return "?"
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_-.:/<>", c) >= 0:
		default:
			return "?"
		}
	}
	return s
}

// block is one piece of a message's content.
type block struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	ToolUse string `json:"tool_use_id"`
	IsError bool   `json:"is_error"`
	// Input holds a call's arguments, as the model wrote them.
	Input json.RawMessage `json:"input"`
}

// content is a message's blocks; the program also writes a lone string, which
// is one block of text.
type content []block

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*c = content{{Type: "text"}}
		return json.Unmarshal(b, &(*c)[0].Text)
	}
	return json.Unmarshal(b, (*[]block)(c))
}

// only reports whether every block is of one of the types, and there is one.
func (c content) only(types ...string) bool {
	for _, b := range c {
		found := false
		for _, t := range types {
			found = found || b.Type == t
		}
		if !found {
			return false
		}
	}
	return len(c) > 0
}

func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "")
}

// types lists the kinds of the blocks, for evidence.
func (c content) types() string {
	var parts []string
	for _, b := range c {
		if n := word(b.Type); len(parts) < 4 && (len(parts) == 0 || parts[len(parts)-1] != n) {
			parts = append(parts, n)
		}
	}
	return strings.Join(parts, ",")
}

const synthetic = "<synthetic>" // the model of what the program itself says

type assistantFrame struct {
	Message struct {
		ID      string  `json:"id"`
		Model   string  `json:"model"`
		Content content `json:"content"`
	} `json:"message"`
	IsAPIError bool `json:"is_api_error_message"`
	Local      *struct {
		Kind string `json:"kind"`
	} `json:"local_command_outcome"`
	fault
}

// failure reports whether the frame says nothing but that a call failed. The
// words alone never make it one: the model can write them (P7).
func (a assistantFrame) failure() bool {
	return a.Message.Model == synthetic && (a.IsAPIError || a.Error != "") && a.Message.Content.only("text")
}

// local reports whether it is what a command of the program printed.
func (a assistantFrame) local() bool {
	return a.Message.Model == synthetic && a.Local != nil && a.Message.Content.only("text")
}

type userFrame struct {
	Message struct {
		Content content `json:"content"`
	} `json:"message"`
	Replay    bool            `json:"isReplay"`
	Synthetic bool            `json:"isSynthetic"`
	Result    json.RawMessage `json:"tool_use_result"`
}

// interruptions are the two whole texts with which the program notes an
// interruption. No typed field tells them, and they are no work.
var interruptions = map[string]bool{
	"[Request interrupted by user]":              true,
	"[Request interrupted by user for tool use]": true,
}

// note reports whether the frame is the program's own: an echo, a text that it
// put in itself, or the mark of an interruption.
func (u userFrame) note() bool {
	switch {
	case u.Replay:
		return u.Message.Content.only("text", "image", "document")
	case u.Synthetic:
		return u.Message.Content.only("text")
	}
	return u.Message.Content.only("text") && interruptions[u.Message.Content.text()]
}

type resultFrame struct {
	Subtype string   `json:"subtype"`
	IsError *bool    `json:"is_error"`
	Result  string   `json:"result"`
	Errors  []string `json:"errors"`
	Message string   `json:"user_message_uuid"`
	Usage   struct {
		Output int `json:"output_tokens"`
	} `json:"usage"`
	fault
}

type retryFrame struct {
	Delay      float64         `json:"retry_delay_ms"`
	Status     int             `json:"error_status"`
	Error      string          `json:"error"`
	NoResponse json.RawMessage `json:"no_response"`
}

type limitFrame struct {
	Info window `json:"rate_limit_info"`
}
