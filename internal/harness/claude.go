package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
	wireclaude "github.com/paceline/paceline/internal/wire/claude"
)

// claude is Claude Code, driven by stream-json on its stdin. Its conversation
// ids and message uuids are ours, so that its transcript can be searched for
// them after a crash, and a second delivery of the same uuid is dropped by the
// program itself.
type claude struct{}

func (claude) Name() string   { return "claude" }
func (claude) Vendor() string { return "anthropic" }

func (claude) Install() string {
	return "npm install -g @anthropic-ai/claude-code, then run `claude` once to sign in"
}

func (claude) Find(env Environment) (string, error) { return lookPath("claude", env) }

func (claude) Home(a paceline.Account, env Environment) string {
	switch {
	case a.Home != "":
		return a.Home
	case env.Get("CLAUDE_CONFIG_DIR") != "":
		return env.Get("CLAUDE_CONFIG_DIR")
	case env.Get("HOME") != "":
		return filepath.Join(env.Get("HOME"), ".claude")
	}
	return ""
}

func (claude) Route(a paceline.Account, env Environment) string {
	return route(first(a.BaseURL, env.Get("ANTHROPIC_BASE_URL"), "https://api.anthropic.com"))
}

// environment is what a child of the account is started with: no telemetry, no
// update in the middle of a run, and no waiting for a reset inside the program,
// which would make it a second writer next to its successor.
func (c claude) environment(a paceline.Account, env Environment) Environment {
	env = env.With("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1")
	if a.Home != "" {
		env = env.With("CLAUDE_CONFIG_DIR=" + a.Home)
	}
	if a.BaseURL != "" {
		env = env.With("ANTHROPIC_BASE_URL=" + a.BaseURL)
	}
	return keyed(a, env, "ANTHROPIC_API_KEY")
}

func (c claude) Probe(ctx context.Context, a paceline.Account, env Environment) (Probed, error) {
	path, err := c.Find(env)
	if err != nil {
		return Probed{Note: "it is not installed: " + c.Install()}, err
	}
	cmd := exec.CommandContext(ctx, path, "auth", "status", "--json")
	cmd.Env, cmd.WaitDelay = c.environment(a, env), time.Second
	out, _ := cmd.Output() // it exits 1 when nobody is signed in
	if !gjson.ValidBytes(out) {
		return Probed{Note: "it does not say whether it is signed in"}, nil
	}
	p := Probed{SignedIn: gjson.GetBytes(out, "loggedIn").Bool()}
	switch gjson.GetBytes(out, "authMethod").String() {
	case "oauth_token", "claude.ai":
		p.Posture = paceline.PostureSubscription
	case "api_key", "api_key_helper", "console":
		p.Posture = paceline.PostureMetered
	}
	if !p.SignedIn {
		p.Note = "it is signed out: run `claude` and /login"
	}
	return p, nil
}

// Fresh asks a new process for its usage, which it can only tell when its
// sign-in is accepted.
func (c claude) Fresh(ctx context.Context, l Launch) (accepted, known bool) {
	return fresh(ctx, c, l, func(t *Turn) (accepted, known bool) {
		if t.write(wireclaude.ControlRequest("paceline-usage", "get_usage")) != nil {
			return false, false
		}
		r, err := t.await(ctx, "paceline-usage")
		if err != nil || !r.ok {
			return false, false
		}
		// Usage is there only once the vendor has answered this process.
		return true, gjson.GetBytes(r.body, "rate_limits").IsObject()
	})
}

func (c claude) Open(ctx context.Context, l Launch) (*Turn, error) {
	path, err := c.Find(l.Env)
	if err != nil {
		return nil, &Trouble{What: "claude is not installed", Hint: c.Install(), Err: err}
	}
	conversation := l.Resume
	argv := []string{
		path, "-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages", "--include-hook-events",
		"--permission-prompt-tool", "stdio",
	}
	if conversation == "" {
		conversation = paceline.ConversationID(uuid())
		argv = append(argv, "--session-id", string(conversation))
	} else {
		argv = append(argv, "--resume", string(conversation))
	}
	if l.Model != "" {
		argv = append(argv, "--model", l.Model)
	}
	argv = append(argv, "--permission-mode", permission(l.Mode))
	replies := make(chan reply, 16)
	d := &claudeDriver{reader: wireclaude.New(), mode: l.Mode, replies: replies, asked: map[string]json.RawMessage{}}
	t, err := start(ctx, c, l, argv, c.environment(l.Account, l.Env), d, replies)
	if err != nil {
		return nil, err
	}
	// Answered before any message, without a model request.
	if err := t.write(wireclaude.Initialize("paceline-open")); err != nil {
		return nil, t.abandon(t.ended("ended before its first frame", err))
	}
	r, err := t.await(ctx, "paceline-open")
	if err != nil {
		return nil, t.abandon(err)
	}
	if !r.ok {
		return nil, t.abandon(&Trouble{What: "claude refused to start", Hint: "start `claude` by hand once"})
	}
	// What holds is read back before anything is sent: settings of a project or of
	// a machine's owner may have opened what our flags closed.
	if is, asked := gjson.GetBytes(r.body, "current_permission_mode").String(), permission(l.Mode); is != "" && is != asked {
		return nil, t.abandon(&Trouble{
			What: fmt.Sprintf("claude runs in permission mode %q although it was started in %q", is, asked),
			Hint: "look into its settings for permissions.defaultMode",
		})
	}
	account := gjson.GetBytes(r.body, "account")
	t.Opened = Opened{Conversation: conversation, Posture: claudePosture(account)}
	t.Opened.SignedOut = t.Opened.Posture == paceline.PostureUnknown &&
		account.Get("apiProvider").String() == "firstParty" && account.Get("tokenSource").String() == "none"
	return t, nil
}

// permission is the mode's name in Claude Code. All but read asks for every call
// on stdin, as root too, and the mode answers.
func permission(m paceline.Mode) string {
	if m == paceline.ModeRead {
		return "plan"
	}
	return "default"
}

// claudePosture reads whose money the child would spend from what it says of
// its account.
func claudePosture(account gjson.Result) paceline.Posture {
	key, token := account.Get("apiKeySource").String(), account.Get("tokenSource").String()
	switch {
	case key != "" && key != "none":
		return paceline.PostureMetered
	case account.Get("subscriptionType").String() != "", token != "" && token != "none":
		return paceline.PostureSubscription
	}
	return paceline.PostureUnknown
}

// claudeDriver answers what a Claude Code child asks.
type claudeDriver struct {
	reader  *wireclaude.Reader
	mode    paceline.Mode
	replies chan<- reply

	mu    sync.Mutex                 // also guards reader: it is told what is about to be sent
	asked map[string]json.RawMessage // inputs of requests that a person decides
}

func (d *claudeDriver) line(line []byte, at time.Time) ([]wire.Event, []byte) {
	d.mu.Lock()
	events := d.reader.Observe(line, at)
	d.mu.Unlock()
	if !bytes.Contains(line, []byte(`"control_`)) {
		return events, nil // most lines are not, and looking closer costs
	}
	c, ok := wireclaude.ParseControl(line)
	switch {
	case !ok:
		return events, nil
	case c.Response && !strings.HasPrefix(c.RequestID, "paceline-"):
		return events, nil // our own answers come back where messages are replayed
	case c.Response:
		select {
		case d.replies <- reply{id: c.RequestID, ok: c.Success, body: c.Body}:
		default:
		}
		return events, nil
	case c.Cancel:
		return events, nil
	case c.Subtype != "can_use_tool":
		// It would wait for ever for what nobody here can give.
		return drop(events, wire.Approval), wireclaude.RefuseControl(c.RequestID, "nobody is here to answer")
	}
	return d.permit(c, events)
}

// permit decides a permission request by the mode. Only `ask` passes it on.
func (d *claudeDriver) permit(c wireclaude.Control, events []wire.Event) ([]wire.Event, []byte) {
	switch {
	case c.Interactive:
		// A question to a person, and nobody attends: better an own choice than a
		// night of waiting.
		return drop(events, wire.Approval), wireclaude.AnswerTool(c.RequestID, false, nil,
			"Nobody is here to answer. Choose what is best, say what you chose, and go on.")
	case d.mode == paceline.ModeRead:
		return drop(events, wire.Approval), wireclaude.AnswerTool(c.RequestID, false, nil,
			"This run may only read. Give your result as text.")
	case d.mode == paceline.ModeAsk:
		d.mu.Lock()
		d.asked[c.RequestID] = c.Input
		d.mu.Unlock()
		return events, nil
	}
	return drop(events, wire.Approval), wireclaude.AnswerTool(c.RequestID, true, c.Input, "")
}

func (d *claudeDriver) answer(id string, allow bool) []byte {
	d.mu.Lock()
	input, ok := d.asked[id]
	delete(d.asked, id)
	d.mu.Unlock()
	switch {
	case !ok:
		return nil
	case !allow:
		return wireclaude.AnswerTool(id, false, nil, "The user said no.")
	}
	return wireclaude.AnswerTool(id, true, input, "")
}

func (d *claudeDriver) prompt(m paceline.Message) []byte {
	d.mu.Lock()
	d.reader.Expect(m.UUID)
	d.mu.Unlock()
	return wireclaude.UserMessage(m.UUID, m.Text)
}

// steer is queued by the program itself: where the turn does not take it in any
// more, it becomes the next one.
func (d *claudeDriver) steer(_ context.Context, t *Turn, m paceline.Message) (bool, error) {
	return true, t.write(d.prompt(m))
}

func (d *claudeDriver) interrupt(ctx context.Context, t *Turn) {
	ctx, cancel := context.WithTimeout(ctx, interrupting)
	defer cancel()
	if t.write(wireclaude.ControlRequest("paceline-interrupt", "interrupt")) == nil {
		_, _ = t.await(ctx, "paceline-interrupt")
	}
}

func (d *claudeDriver) went() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Went()
}

func (d *claudeDriver) more() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Busy()
}

func (d *claudeDriver) closed() []wire.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Close()
}

// Recover reads the session's transcript. It is found by the session's id: a
// resumed one keeps the file of the directory that it began in.
func (c claude) Recover(l Launch, id paceline.ConversationID, m paceline.Message, at time.Time) (bool, wire.Ending, error) {
	home := c.Home(l.Account, l.Env)
	files, err := filepath.Glob(filepath.Join(home, "projects", "*", string(id)+".jsonl"))
	if err != nil || len(files) == 0 {
		return false, wire.Ending{}, err
	}
	f, err := os.Open(files[0])
	if err != nil {
		return false, wire.Ending{}, fmt.Errorf("read the transcript of %s: %w", id, err)
	}
	defer f.Close()
	delivered, end := wireclaude.ReadTranscript(lines(f), m.UUID, at)
	return delivered, end, nil
}

// uuid makes a random one, version 4.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// UUIDOf is the name that follows from another one, always the same.
func UUIDOf(name string) string {
	b := sha256.Sum256([]byte(name))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: of one's own making
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// UUID makes the name under which a message is kept in engines' transcripts.
func UUID() string { return uuid() }

func first(s ...string) string {
	for _, v := range s {
		if strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}
