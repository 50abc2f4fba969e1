package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paceline/paceline/internal/wire"
)

func TestBackground(t *testing.T) {
	command := func(method, id, status string) string {
		return fmt.Sprintf(`{"method":"item/%s","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":%q,"status":%q,"source":"unifiedExecStartup","command":"vite"}}}`, method, id, status)
	}
	const (
		counted = `{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U"}}`
		child   = `{"method":"item/started","params":{"threadId":"C","turnId":"V","item":{"type":"agentMessage","id":"x"}}}`
	)
	says, begins := item("item/started", "agentMessage", ""), command("started", "c1", "inProgress")
	for _, tt := range []struct {
		name  string
		lines []string
		want  string // "id ok detail" of each report
	}{
		{"a command that the model left running has reported", []string{begins, counted, says}, "c1 true background"},
		{"one that is still waited for has not", []string{begins, counted}, ""},
		{"an item of the same response is no next step", []string{begins, says, command("started", "c2", "inProgress")}, ""},
		{"a failure is no next step: the program may have cut the call", []string{begins, counted, limit, failed}, ""},
		{"what a child does says nothing of it", []string{begins, counted, child}, ""},
		{"another call is a next step", []string{begins, counted, command("started", "c2", "inProgress")}, "c1 true background"},
		{"one that ended is reported once", []string{begins, command("completed", "c1", "completed"), counted, says}, "c1 true "},
		{"its own end comes later", []string{begins, counted, says, command("completed", "c1", "failed")}, "c1 true background, c1 false "},
	} {
		t.Run("Z42 "+tt.name, func(t *testing.T) {
			events, _ := follow(tt.lines...)
			var got []string
			for _, e := range events {
				if e.Kind == wire.ToolDone {
					got = append(got, fmt.Sprintf("%s %t %s", e.ID, e.OK, e.Detail))
				}
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("%q, want %q", s, tt.want)
			}
		})
	}
}
