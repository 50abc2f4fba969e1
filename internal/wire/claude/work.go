package claude

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"
)

// weight is what a frame says about work. The zero weight is the safe one.
type weight uint8

const (
	unread   weight = iota // not known here: work cannot be ruled out
	harmless               // known to say nothing of work
	working                // the model or a tool did something
)

// harmlessFrames say nothing of work, whatever their fields are (F7). The list
// is held against recordings of real rejections (F67). A kind that has never
// been seen is left off it, unless the program's own tables show what it is:
// an absent entry costs a failover, a wrong one sends work twice.
var harmlessFrames = map[string]bool{
	"result": true, "rate_limit_event": true, "command_lifecycle": true,
	"control_response": true, "control_cancel_request": true, "control_request_progress": true,
	"keep_alive": true, "auth_status": true, "prompt_suggestion": true,

	"system/init": true, "system/status": true, "system/api_retry": true,
	"system/compact_boundary": true, // compaction alone is no work
	"system/model_fallback":   true, "system/model_refusal_no_fallback": true,
	"system/informational": true, "system/notification": true,
}

var workingFrames = map[string]bool{
	"tool_progress": true, "tool_use_summary": true,
	"system/task_started": true, "system/task_progress": true, "system/task_updated": true, "system/task_notification": true,
	"system/permission_denied": true, // a tool was called, and would have run
	"system/thinking_tokens":   true,
}

// streamEvents are the vendor's own streaming events. Every one but the ping is
// part of an answer, even if the answer is thrown away afterwards.
var streamEvents = map[string]bool{
	"message_start": true, "content_block_start": true, "content_block_delta": true,
	"content_block_stop": true, "message_delta": true, "message_stop": true,
}

// idleHooks run around a turn, not in it. Every other hook runs because a tool,
// a subagent or the end of an answer made it run, and a name that is not known
// here counts the same (F49).
var idleHooks = map[string]bool{
	"SessionStart": true, "SessionEnd": true, "UserPromptSubmit": true, "StopFailure": true,
	"Notification": true, "PreCompact": true, "PostCompact": true,
}

func hookWeight(name string) weight {
	if idleHooks[name] {
		return harmless
	}
	return working
}

// weigh tells what a frame says about work, and in which words. The bodies of
// assistant and user frames are weighed by their readers.
func weigh(f frame) (weight, func() string) {
	kind := f.kind()
	nothing := func() string { return "type=" + kind }
	switch {
	case f.typ == "stream_event":
		return weighEvent(f)
	case f.typ == "system" && (f.sub == "hook_started" || f.sub == "hook_response" || f.sub == "hook_progress"):
		name := gjson.GetBytes(f.body, "hook_event").String()
		return hookWeight(name), func() string { return "hook_event=" + word(name) }
	case f.typ == "control_request":
		return weighRequest(f)
	case harmlessFrames[kind]:
		return harmless, nothing
	case workingFrames[kind]:
		return working, nothing
	}
	return unread, nothing
}

func weighEvent(f frame) (weight, func() string) {
	typ := f.event.Get("type").Str
	says := func() string {
		s := "event=" + word(typ)
		for _, part := range []string{"delta", "content_block"} {
			if t := f.event.Get(part + ".type").Str; t != "" {
				s += fmt.Sprintf(" %s=%s", part, word(t))
			}
		}
		return s
	}
	switch {
	case typ == "ping":
		return harmless, says
	case streamEvents[typ]:
		return working, says
	}
	return unread, says
}

// weighRequest weighs what the program asks of us. To be asked for a permission
// or by a tool's server is work: the model has acted (F8, F50).
func weighRequest(f frame) (weight, func() string) {
	c, ok := ParseControl(f.body)
	says := func() string { return "subtype=" + word(c.Subtype) }
	switch {
	case !ok:
		return unread, says
	case c.Subtype == "can_use_tool":
		return working, func() string { return says() + " tool_name=" + word(c.Tool) }
	case c.Subtype == "elicitation":
		return working, says
	case c.Subtype == "hook_callback":
		return hookWeight(c.Hook), func() string { return says() + " hook_event_name=" + word(c.Hook) }
	}
	return unread, says
}

// file is the path that a finished tool says it changed.
func (u userFrame) file() string {
	var r struct {
		Path  string          `json:"filePath"`
		Patch json.RawMessage `json:"structuredPatch"`
	}
	if len(u.Result) == 0 || u.Result[0] != '{' || json.Unmarshal(u.Result, &r) != nil || r.Patch == nil {
		return "" // a file that was only read comes without a patch
	}
	return r.Path
}
