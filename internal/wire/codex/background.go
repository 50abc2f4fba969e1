package codex

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline/internal/wire"
)

// A command that runs for longer than the model cares to wait goes on in the
// background: the model is told so, and takes the next step, while the item
// stays open, often for good. Such a call has reported. The stream does not say
// so of the call, but it can be seen: the response that made the call is counted
// (thread/tokenUsage/updated), and then the model says or does something else.
//
// A failure that follows is no such step: the program may have cut the call.

// running is a command that has not ended.
type running struct {
	id       string
	answered bool // the response that made the call is over
}

// begins notes a command that begins, and tells of those that the model has
// left running.
func (t *turn) begins(line int, kind string, it gjson.Result) (out []wire.Event) {
	id := it.Get("id").String()
	t.running = slices.DeleteFunc(t.running, func(c running) bool {
		if !c.answered || c.id == id {
			return false
		}
		out = append(out, wire.Event{Kind: wire.ToolDone, Line: line, ID: c.id, OK: true, Detail: wire.Background})
		return true
	})
	if kind == "commandExecution" && it.Get("source").String() == "unifiedExecStartup" {
		t.running = append(t.running, running{id: id})
	}
	return out
}

// counted is told that a response of the model is over.
func (t *turn) counted() {
	for i := range t.running {
		t.running[i].answered = true
	}
}

// ends forgets a command that ended by itself.
func (t *turn) ends(id string) {
	t.running = slices.DeleteFunc(t.running, func(c running) bool { return c.id == id })
}
