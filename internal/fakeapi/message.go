package fakeapi

import (
	"encoding/json"
	"net/http"
	"time"
)

// block is one content block of a message: how it is opened, the deltas that
// fill it, and what it is when whole.
type block struct {
	open   map[string]any
	deltas []map[string]any
	whole  map[string]any
}

func textBlock(text string, chunks int) block {
	b := block{
		open:  map[string]any{"type": "text", "text": ""},
		whole: map[string]any{"type": "text", "text": text},
	}
	for _, piece := range cut(text, chunks) {
		b.deltas = append(b.deltas, map[string]any{"type": "text_delta", "text": piece})
	}
	return b
}

func thinkingBlock(text string) block {
	const signature = "c2ln"
	return block{
		open: map[string]any{"type": "thinking", "thinking": "", "signature": ""},
		deltas: []map[string]any{
			{"type": "thinking_delta", "thinking": text},
			{"type": "signature_delta", "signature": signature},
		},
		whole: map[string]any{"type": "thinking", "thinking": text, "signature": signature},
	}
}

// toolBlock is a call in Claude Code's own words for the tools that every
// program has.
func toolBlock(id string, call ToolCall) block {
	name, input := call.Name, inputOf(call.Input)
	switch name {
	case toolShell:
		var in shellInput
		_ = json.Unmarshal(input, &in)
		name, input = "Bash", inputOf(map[string]any{"command": in.Command, "description": "as scripted"})
	case toolWrite:
		var in writeInput
		_ = json.Unmarshal(input, &in)
		name, input = "Write", inputOf(map[string]any{"file_path": in.Path, "content": in.Content})
	}
	return block{
		open:   map[string]any{"type": "tool_use", "id": id, "name": name, "input": map[string]any{}},
		deltas: []map[string]any{{"type": "input_json_delta", "partial_json": string(input)}},
		whole:  map[string]any{"type": "tool_use", "id": id, "name": name, "input": input},
	}
}

func messageUsage(out int) map[string]any {
	return map[string]any{
		"input_tokens": 1200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": out,
	}
}

// message answers with whole blocks, in a stream where one was asked for.
func (x *exchange) message(stop string, blocks ...block) { x.paced(stop, 0, blocks...) }

func (x *exchange) paced(stop string, delay time.Duration, blocks ...block) {
	if !x.streamed() {
		whole := make([]any, len(blocks))
		for i, b := range blocks {
			whole[i] = b.whole
		}
		x.status(http.StatusOK, x.head(whole, stop, 20))
		return
	}
	x.stream()
	x.event("message_start", map[string]any{"message": x.head([]any{}, nil, 1)})
	for i, b := range blocks {
		x.block(i, b, delay)
		x.event("content_block_stop", map[string]any{"index": i})
	}
	x.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": messageUsage(20),
	})
	x.event("message_stop", nil)
}

// begun sends an answer up to a point in its text, and leaves it there.
func (x *exchange) begun(text string) {
	x.unified(nil, 0)
	x.stream()
	x.event("message_start", map[string]any{"message": x.head([]any{}, nil, 1)})
	x.block(0, textBlock(text, 1), 0)
}

func (x *exchange) block(i int, b block, delay time.Duration) {
	x.event("content_block_start", map[string]any{"index": i, "content_block": b.open})
	for _, d := range b.deltas {
		x.pause(delay)
		x.event("content_block_delta", map[string]any{"index": i, "delta": d})
	}
}

func (x *exchange) head(content []any, stop any, out int) map[string]any {
	return map[string]any{
		"id": x.s.id("msg"), "type": "message", "role": "assistant", "model": x.req.Model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": messageUsage(out),
	}
}

// streamed reports whether the program asked for a stream.
func (x *exchange) streamed() bool {
	var asked struct {
		Stream bool `json:"stream"`
	}
	_ = json.Unmarshal(x.body, &asked)
	return asked.Stream
}
