package paceline

import (
	"fmt"
	"strings"
	"time"
)

// The ids are distinct types so that a run can never be passed for a thread.
// All are made by the server; none that a client sends is believed, except a
// message's own, which makes its acceptance happen once.
type (
	ThreadID  string
	RunID     string
	MessageID string
	// ConversationID is a harness's own name for its resumable context
	// (Claude: session id; Codex: thread id).
	ConversationID string
	// RequestID names a permission request within a run.
	RequestID string
)

// Engine is an account, narrowed to a model where one is named. Usage limits
// belong to engines. It is comparable, and prints as people type it:
// "claude", "office:gpt-5.6-sol".
type Engine struct {
	Account string `json:"account"`
	Model   string `json:"model,omitempty"` // "" is the account's own default
}

// ParseEngine reads what String prints.
func ParseEngine(s string) (Engine, error) {
	account, model, named := strings.Cut(strings.TrimSpace(s), ":")
	switch {
	case account == "":
		return Engine{}, fmt.Errorf("engine %q names no account", s)
	case named && model == "":
		return Engine{}, fmt.Errorf("engine %q names no model after the colon", s)
	}
	return Engine{Account: account, Model: model}, nil
}

func (e Engine) String() string {
	if e.Model == "" {
		return e.Account
	}
	return e.Account + ":" + e.Model
}

// Valid reports whether e names an account.
func (e Engine) Valid() bool { return e.Account != "" }

// Account is one signed-in instance of a harness. An installed harness is an
// account of its own name by default.
type Account struct {
	Name     string  `json:"name"`
	Harness  string  `json:"harness"`               // claude, codex, gemini, …
	Vendor   string  `json:"vendor"`                // anthropic, openai
	Home     string  `json:"home,omitempty"`        // CLAUDE_CONFIG_DIR, CODEX_HOME; "" is the harness's own default
	Posture  Posture `json:"posture"`               // as declared; PostureUnknown means it is probed
	KeyEnv   string  `json:"key_env,omitempty"`     // metered only: the variable that holds the key
	KeyCmd   string  `json:"key_command,omitempty"` // metered only: the command that prints it
	Key      string  `json:"-"`                     // the key itself, while a child is started; never stored
	BaseURL  string  `json:"base_url,omitempty"`    // "" is the vendor's own endpoint
	Command  string  `json:"command,omitempty"`     // harness acp only: how the user's own agent is started
	Disabled bool    `json:"disabled,omitempty"`
}

// Message is something a thread was asked. Text is what the engine is sent,
// byte for byte.
type Message struct {
	ID     MessageID `json:"id"`
	Thread ThreadID  `json:"thread"`
	Kind   Kind      `json:"kind"`
	Sender string    `json:"sender"` // set by the server, never by a client (F21)
	Text   string    `json:"text"`
	UUID   string    `json:"uuid"` // the name under which engines keep it in their transcripts
	At     time.Time `json:"at"`
	Opener bool      `json:"opener"` // the first message of its thread
	// Patience is how long it may wait for an engine to come back; 0 is for as
	// long as it takes, negative is not at all.
	Patience time.Duration `json:"patience,omitempty"`
}

// Reset is when a limit is said to lift. The zero Reset is "nobody said".
type Reset struct {
	At     time.Time   `json:"at,omitzero"`
	Source ResetSource `json:"source"`
}

// Known reports whether there is a time at all.
func (r Reset) Known() bool { return !r.At.IsZero() }

// Evidence is one frame that made a verdict, in words that hold no prompt, no
// answer and no secret: its kind and the typed fields that counted.
type Evidence struct {
	Frame string `json:"frame"`          // the frame's own type, e.g. "result", "turn/completed"
	Line  int    `json:"line,omitempty"` // 1-based line in the stream; 0 where there is no stream
	Says  string `json:"says"`           // the fields that counted, e.g. `api_error=usage_limit_reached`
	Means string `json:"means"`          // what it was taken for, e.g. "usage limit", "work"
}

// Failure is how a run ended badly, as its adapter read it. It is data, never
// an error: a vendor's failure is an expected event.
type Failure struct {
	Cause     Cause      `json:"cause"`
	Code      string     `json:"code"`             // the vendor's own word for it, "" where there is none
	Status    int        `json:"status,omitempty"` // the HTTP status that was answered; 0 where none was told
	Work      Work       `json:"work"`
	Reset     Reset      `json:"reset,omitzero"`
	Scope     string     `json:"scope,omitempty"`  // the usage window: five_hour, weekly, ... ; "" where unknown
	Retryable bool       `json:"retryable"`        // the same message could succeed later, unchanged
	Notice    string     `json:"notice,omitempty"` // the failed call's own short notice, for people
	Evidence  []Evidence `json:"evidence,omitempty"`
}

// Limit is an engine's reported exhaustion. It is held against the engine until
// its reset, by every process that shares the store.
type Limit struct {
	Engine Engine    `json:"engine"`
	Cause  Cause     `json:"cause"`
	Reset  Reset     `json:"reset"`
	Scope  string    `json:"scope,omitempty"`
	Seen   time.Time `json:"seen"`
	Run    RunID     `json:"run"`
}

// Containment is where a run may write, whether its commands reach the
// network, and what it asks first; and what enforces that.
type Containment struct {
	Mode     Mode     `json:"mode"`
	Writable []string `json:"writable,omitempty"` // absolute; empty with Full means anywhere
	Network  bool     `json:"network"`            // commands may reach it
	By       string   `json:"by"`                 // "landlock", "harness", "none"
	Weaker   string   `json:"weaker,omitempty"`   // in what this falls short of Mode; "" where it does not
}
