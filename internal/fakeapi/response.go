package fakeapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// item is one output item of a response: how it is opened, the events that fill
// it, and what it is when whole.
type item struct {
	open   map[string]any
	events []itemEvent
	whole  map[string]any
	last   []itemEvent // close what events opened
}

type itemEvent struct {
	kind   string
	fields map[string]any
	delta  bool
}

func (x *exchange) textItem(text string, chunks int) item {
	id := x.s.id("msg")
	part := func(text string) map[string]any {
		return map[string]any{"type": "output_text", "text": text, "annotations": []any{}}
	}
	at := func(fields map[string]any) map[string]any {
		fields["item_id"], fields["content_index"] = id, 0
		return fields
	}
	it := item{
		open:   map[string]any{"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []any{}},
		whole:  map[string]any{"type": "message", "id": id, "role": "assistant", "status": "completed", "content": []any{part(text)}},
		events: []itemEvent{{kind: "response.content_part.added", fields: at(map[string]any{"part": part("")})}},
	}
	for _, piece := range cut(text, chunks) {
		it.events = append(it.events, itemEvent{"response.output_text.delta", at(map[string]any{"delta": piece}), true})
	}
	it.last = []itemEvent{
		{kind: "response.output_text.done", fields: at(map[string]any{"text": text})},
		{kind: "response.content_part.done", fields: at(map[string]any{"part": part(text)})},
	}
	return it
}

func (x *exchange) reasoningItem(summary string) item {
	id := x.s.id("rs")
	at := func(fields map[string]any) map[string]any {
		fields["item_id"], fields["summary_index"] = id, 0
		return fields
	}
	part := map[string]any{"type": "summary_text", "text": summary}
	return item{
		open: map[string]any{"type": "reasoning", "id": id, "summary": []any{}},
		events: []itemEvent{
			{kind: "response.reasoning_summary_part.added", fields: at(map[string]any{"part": map[string]any{"type": "summary_text", "text": ""}})},
			{"response.reasoning_summary_text.delta", at(map[string]any{"delta": summary}), true},
		},
		last: []itemEvent{
			{kind: "response.reasoning_summary_text.done", fields: at(map[string]any{"text": summary})},
			{kind: "response.reasoning_summary_part.done", fields: at(map[string]any{"part": part})},
		},
		whole: map[string]any{"type": "reasoning", "id": id, "summary": []any{part}, "encrypted_content": "ZmFrZQ=="},
	}
}

// callItem is a call in the words of whichever tools this program offers: they
// differ by its model.
func (x *exchange) callItem(call ToolCall) item {
	name, input := call.Name, inputOf(call.Input)
	switch name {
	case toolShell:
		var in shellInput
		_ = json.Unmarshal(input, &in)
		name, input = x.shell(in.Command)
	case toolWrite:
		var in writeInput
		_ = json.Unmarshal(input, &in)
		patch := addFile(in)
		if x.req.offers("apply_patch") {
			return x.customItem("apply_patch", patch)
		}
		name, input = x.shell("apply_patch <<'END_OF_PATCH'\n" + patch + "\nEND_OF_PATCH")
	case "apply_patch":
		var patch string
		if json.Unmarshal(input, &patch) == nil {
			return x.customItem(name, patch)
		}
	}
	id, args := x.s.id("fc"), string(input)
	whole := map[string]any{"type": "function_call", "id": id, "call_id": x.s.id("call"), "name": name, "arguments": args, "status": "completed"}
	open := map[string]any{"type": "function_call", "id": id, "call_id": whole["call_id"], "name": name, "arguments": "", "status": "in_progress"}
	return item{
		open: open, whole: whole,
		events: []itemEvent{{"response.function_call_arguments.delta", map[string]any{"item_id": id, "delta": args}, true}},
		last:   []itemEvent{{kind: "response.function_call_arguments.done", fields: map[string]any{"item_id": id, "arguments": args}}},
	}
}

func (x *exchange) customItem(name, input string) item {
	id := x.s.id("ctc")
	whole := map[string]any{"type": "custom_tool_call", "id": id, "call_id": x.s.id("call"), "name": name, "input": input, "status": "completed"}
	open := map[string]any{"type": "custom_tool_call", "id": id, "call_id": whole["call_id"], "name": name, "input": "", "status": "in_progress"}
	return item{
		open: open, whole: whole,
		events: []itemEvent{{"response.custom_tool_call_input.delta", map[string]any{"item_id": id, "delta": input}, true}},
		last:   []itemEvent{{kind: "response.custom_tool_call_input.done", fields: map[string]any{"item_id": id, "input": input}}},
	}
}

// shell is a command for the tool that runs them.
func (x *exchange) shell(command string) (name string, input json.RawMessage) {
	switch {
	case x.req.offers("shell_command") && !x.req.offers("exec_command"):
		return "shell_command", inputOf(map[string]any{"command": command})
	case x.req.offers("shell") && !x.req.offers("exec_command"):
		return "shell", inputOf(map[string]any{"command": []string{"bash", "-lc", command}})
	}
	return "exec_command", inputOf(map[string]any{"cmd": command})
}

func addFile(in writeInput) string {
	lines := strings.Split(strings.TrimSuffix(in.Content, "\n"), "\n")
	return "*** Begin Patch\n*** Add File: " + in.Path + "\n+" + strings.Join(lines, "\n+") + "\n*** End Patch"
}

// response answers with whole items.
func (x *exchange) response(items ...item) { x.pacedResponse(0, items...) }

func (x *exchange) pacedResponse(delay time.Duration, items ...item) {
	id := x.s.id("resp")
	whole := make([]any, len(items))
	for i, it := range items {
		whole[i] = it.whole
	}
	if !x.streamed() {
		x.status(http.StatusOK, x.responseHead(id, "completed", whole))
		return
	}
	x.stream()
	x.event("response.created", map[string]any{"response": x.responseHead(id, "in_progress", []any{})})
	for i, it := range items {
		x.item(i, it, delay)
		for _, e := range it.last {
			e.fields["output_index"] = i
			x.event(e.kind, e.fields)
		}
		x.event("response.output_item.done", map[string]any{"output_index": i, "item": it.whole})
	}
	x.event("response.completed", map[string]any{"response": x.responseHead(id, "completed", whole)})
}

// begunResponse sends an answer up to a point in its text, and leaves it there.
func (x *exchange) begunResponse(text string) {
	x.windows(nil, 0)
	x.stream()
	x.event("response.created", map[string]any{"response": x.responseHead(x.s.id("resp"), "in_progress", []any{})})
	x.item(0, x.textItem(text, 1), 0)
}

func (x *exchange) item(i int, it item, delay time.Duration) {
	x.event("response.output_item.added", map[string]any{"output_index": i, "item": it.open})
	for _, e := range it.events {
		if e.delta {
			x.pause(delay)
		}
		e.fields["output_index"] = i
		x.event(e.kind, e.fields)
	}
}

func (x *exchange) responseHead(id, status string, output []any) map[string]any {
	head := map[string]any{"id": id, "object": "response", "status": status, "model": x.req.Model, "output": output}
	if status == "completed" {
		head["usage"] = map[string]any{
			"input_tokens": 1000, "input_tokens_details": map[string]any{"cached_tokens": 0},
			"output_tokens": 20, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": 1020,
		}
	}
	return head
}
