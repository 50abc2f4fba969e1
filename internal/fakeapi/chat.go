package fakeapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/tidwall/gjson"
)

// chat answers a program that speaks chat completions, as most do that let
// their user pick a provider.
func (x *exchange) chat() {
	body := gjson.ParseBytes(x.body)
	x.req.Model = body.Get("model").String()
	for _, t := range body.Get("tools.#.function.name").Array() {
		x.req.Tools = append(x.req.Tools, t.String())
	}
	x.req.Main = len(x.req.Tools) > 0 // a title is asked for without any
	var history []entry
	for _, m := range body.Get("messages").Array() {
		role, content := m.Get("role").String(), m.Get("content")
		switch {
		case role == "system" || role == "developer":
		case content.IsArray():
			for _, c := range content.Array() {
				history = append(history, entry{user: role == "user", text: c.Get("text").String()})
			}
		default:
			history = append(history, entry{user: role == "user", text: content.String()})
		}
	}
	x.req.note(history)
	x.begin()
	if !x.req.Main {
		x.chunks([]map[string]any{{"content": "A title"}}, "stop")
		return
	}
	x.answerChat(x.answer())
}

func (x *exchange) answerChat(a Answer) {
	refuse := func(status int, code, message string) {
		x.status(status, map[string]any{"error": map[string]any{"message": message, "type": code, "code": code}})
	}
	switch a := a.(type) {
	case Text:
		var deltas []map[string]any
		for _, piece := range cut(a.Text, a.Chunks) {
			deltas = append(deltas, map[string]any{"content": piece})
		}
		x.chunks(deltas, "stop")
	case ToolCall:
		name, input := chatCall(a)
		x.chunks([]map[string]any{{"tool_calls": []any{map[string]any{
			"index": 0, "id": x.s.id("call"), "type": "function", "function": map[string]any{"name": name, "arguments": input},
		}}}}, "tool_calls")
	case UsageLimit:
		x.retryAfter(time.Until(a.Reset))
		refuse(http.StatusTooManyRequests, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")
	case Throttle:
		x.retryAfter(a.RetryAfter)
		refuse(http.StatusTooManyRequests, "rate_limit_exceeded", "Too many requests.")
	case SignedOut:
		refuse(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
	case Billing:
		refuse(http.StatusPaymentRequired, "invalid_request_error", "Insufficient Balance")
	case Hang:
		x.hang()
	case Refuse:
		x.drop()
	default:
		refuse(http.StatusBadRequest, "unscripted", unscripted)
	}
}

// chatCall names the two tools as opencode does.
func chatCall(a ToolCall) (name, input string) {
	raw, _ := json.Marshal(a.Input) // scripts hold plain values
	in := gjson.ParseBytes(raw)
	args := map[string]any{}
	switch a.Name {
	case toolShell:
		name, args["command"], args["description"] = "bash", in.Get("command").String(), "as scripted"
	case toolWrite:
		name, args["filePath"], args["content"] = "write", in.Get("path").String(), in.Get("content").String()
	default:
		return a.Name, string(raw)
	}
	b, _ := json.Marshal(args)
	return name, string(b)
}

func (x *exchange) chunks(deltas []map[string]any, finish string) {
	x.stream()
	id := x.s.id("chatcmpl")
	chunk := func(delta map[string]any, finish any) map[string]any {
		return map[string]any{
			"id": id, "object": "chat.completion.chunk", "created": 1780000000, "model": x.req.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	x.data(chunk(map[string]any{"role": "assistant", "content": ""}, nil))
	for _, d := range deltas {
		x.data(chunk(d, nil))
	}
	last := chunk(map[string]any{}, finish)
	last["usage"] = map[string]any{"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
	x.data(last)
	_, _ = x.w.Write([]byte("data: [DONE]\n\n"))
	x.flush()
}
