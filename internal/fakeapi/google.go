package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// google answers whatever a program that speaks Gemini's API asks.
func (x *exchange) google() {
	path := x.r.URL.Path
	body := gjson.ParseBytes(x.body)
	if model, method, ok := strings.Cut(strings.TrimPrefix(path, "/v1beta/models/"), ":"); ok {
		x.req.Model = model
		x.req.Main = strings.Contains(method, "enerateContent") && body.Get("tools.0").Exists()
	}
	for _, t := range body.Get("tools.#.functionDeclarations.#.name|@flatten").Array() {
		x.req.Tools = append(x.req.Tools, t.String())
	}
	var history []entry
	for _, c := range body.Get("contents").Array() {
		for _, p := range c.Get("parts").Array() {
			history = append(history, entry{user: c.Get("role").String() == "user" && p.Get("text").Exists(), text: p.Get("text").String()})
		}
	}
	x.req.note(history)
	x.begin()
	switch {
	case strings.HasSuffix(path, ":countTokens"):
		x.status(http.StatusOK, map[string]any{"totalTokens": 10})
	case !x.req.Main && strings.HasSuffix(path, ":generateContent"):
		x.status(http.StatusOK, candidate(map[string]any{"text": "{}"}, "STOP"))
	case !x.req.Main:
		x.candidates(map[string]any{"text": "{}"})
	default:
		x.answerGoogle(x.answer())
	}
}

func (x *exchange) answerGoogle(a Answer) {
	switch a := a.(type) {
	case Text:
		parts := make([]map[string]any, 0, a.Chunks)
		for _, piece := range cut(a.Text, a.Chunks) {
			parts = append(parts, map[string]any{"text": piece})
		}
		x.candidates(parts...)
	case ToolCall:
		x.candidates(map[string]any{"functionCall": googleCall(a)})
	case UsageLimit:
		// The quota of a day: the one that the program takes for the end.
		x.refuseGoogle(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED",
			"You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 250, model: "+x.req.Model+"\nPlease retry in 2h31m33s.",
			map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{map[string]any{
				"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
				"quotaId":     "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
			}}},
			map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "9093s"})
	case SignedOut:
		x.refuseGoogle(http.StatusBadRequest, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
			map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"})
	case Overloaded:
		x.refuseGoogle(http.StatusServiceUnavailable, "UNAVAILABLE", "The model is overloaded. Please try again later.")
	case Hang:
		x.hang()
	case Refuse:
		x.drop()
	default:
		x.refuseGoogle(http.StatusBadRequest, "INVALID_ARGUMENT", unscripted)
	}
}

// googleCall names the two tools as Gemini's program does.
func googleCall(a ToolCall) map[string]any {
	raw, _ := json.Marshal(a.Input) // scripts hold plain values
	in := gjson.ParseBytes(raw)
	switch a.Name {
	case toolShell:
		return map[string]any{"name": "run_shell_command", "args": map[string]any{"command": in.Get("command").String(), "description": "as scripted"}}
	case toolWrite:
		return map[string]any{"name": "write_file", "args": map[string]any{"file_path": in.Get("path").String(), "content": in.Get("content").String()}}
	}
	return map[string]any{"name": a.Name, "args": a.Input}
}

func candidate(part map[string]any, finish string) map[string]any {
	c := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": []any{part}}}
	if finish != "" {
		c["finishReason"] = finish
	}
	return map[string]any{
		"candidates": []any{c}, "modelVersion": "fake",
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13},
	}
}

func (x *exchange) candidates(parts ...map[string]any) {
	x.stream()
	for i, p := range parts {
		finish := ""
		if i == len(parts)-1 {
			finish = "STOP"
		}
		x.data(candidate(p, finish))
	}
}

func (x *exchange) refuseGoogle(status int, word, message string, details ...map[string]any) {
	x.status(status, map[string]any{"error": map[string]any{"code": status, "message": message, "status": word, "details": details}})
}

// data sends one event without a type of its own.
func (x *exchange) data(v any) {
	b, _ := json.Marshal(v) // plain values
	fmt.Fprintf(x.w, "data: %s\n\n", b)
	x.flush()
}
