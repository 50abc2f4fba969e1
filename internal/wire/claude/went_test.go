package claude

import (
	"testing"
	"time"
)

func TestWent(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		want       bool
	}{
		{"R9 thinking", `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta"}}}`, true},
		{"R9 a tool's heartbeat", `{"type":"tool_progress","heartbeat":true}`, true},
		{"R21 a compaction", `{"type":"system","subtype":"status","status":"compacting"}`, true},
		{"R22 what a subagent does", `{"type":"assistant","parent_tool_use_id":"p","message":{"content":[{"type":"text","text":"x"}]}}`, true},
		{"R2 a notice of a retry is not", `{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":529,"error_status":429,"error":"rate_limit"}`, false},
		{"R9 nor is a ping", `{"type":"stream_event","event":{"type":"ping"}}`, false},
		{"R9 nor is a window's state", `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New()
			r.Expect("u")
			r.Observe([]byte(tt.line), time.Time{})
			if got := r.Went() == 1; got != tt.want {
				t.Errorf("%t, line %d", got, r.Went())
			}
		})
	}
}
