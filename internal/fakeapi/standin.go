package fakeapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// StandIn plays a Claude Code that answers each prompt with that many deltas,
// each its own number. It is for measuring what stands around a program: fifty
// real ones would measure themselves.
func StandIn(in io.Reader, out io.Writer, deltas int) error {
	lines := bufio.NewReader(in)
	w := bufio.NewWriter(out)
	say := func(format string, a ...any) { fmt.Fprintf(w, format+"\n", a...) }
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // told to leave
		}
		var m struct {
			Type      string `json:"type"`
			UUID      string `json:"uuid"`
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("stand-in was told %q: %w", line, err)
		}
		switch m.Type {
		case "control_request":
			say(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"account":{"subscriptionType":"max","tokenSource":"claude.ai"}}}}`, m.RequestID)
		case "user":
			say(`{"type":"system","subtype":"init","session_id":"s","model":"stand-in","apiKeySource":"none","claude_code_version":"2.1.328"}`)
			say(`{"type":"user","message":{"role":"user","content":"x"},"uuid":%q,"isReplay":true,"session_id":"s"}`, m.UUID)
			say(`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}},"session_id":"s"}`)
			for i := range deltas {
				say(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%d "}},"session_id":"s"}`, i)
				if err := w.Flush(); err != nil {
					return err
				}
			}
			say(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"done","session_id":"s","uuid":"end-%s","user_message_uuid":%q}`, m.UUID, m.UUID)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
}

// StandInAs puts a program named claude into a folder, which runs self with the
// given arguments. It says that it is signed in when it is asked.
func StandInAs(dir, self string, args ...string) error {
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = auth ]; then echo '{\"loggedIn\":true,\"authMethod\":\"claude.ai\"}'; exit; fi\nexec %s %s\n", self, strings.Join(args, " "))
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte(script), 0o700); err != nil {
		return fmt.Errorf("put the stand-in in its place: %w", err)
	}
	return nil
}
