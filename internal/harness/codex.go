package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
	wirecodex "github.com/paceline/paceline/internal/wire/codex"
)

// codex is the Codex CLI, driven by its app-server: one process a seat, so that
// ending the process ends its commands, which an interrupt does not.
type codex struct{}

func (codex) Name() string    { return "codex" }
func (codex) Vendor() string  { return "openai" }
func (codex) Install() string { return "npm install -g @openai/codex, then run `codex login`" }

func (codex) Find(env Environment) (string, error) {
	path, err := lookPath("codex", env)
	if err != nil {
		return "", err
	}
	return native(path), nil
}

func (codex) Home(a paceline.Account, env Environment) string {
	switch {
	case a.Home != "":
		return a.Home
	case env.Get("CODEX_HOME") != "":
		return env.Get("CODEX_HOME")
	case env.Get("HOME") != "":
		return filepath.Join(env.Get("HOME"), ".codex")
	}
	return ""
}

func (codex) Route(a paceline.Account, _ Environment) string {
	return route(first(a.BaseURL, "https://chatgpt.com"))
}

func (codex) environment(a paceline.Account, env Environment) Environment {
	if a.Home != "" {
		env = env.With("CODEX_HOME=" + a.Home)
	}
	return keyed(a, env, "OPENAI_API_KEY")
}

func (c codex) Probe(ctx context.Context, a paceline.Account, env Environment) (Probed, error) {
	path, err := c.Find(env)
	if err != nil {
		return Probed{Note: "it is not installed: " + c.Install()}, err
	}
	cmd := exec.CommandContext(ctx, path, "login", "status")
	cmd.Env, cmd.WaitDelay = c.environment(a, env), time.Second
	out, err := cmd.CombinedOutput()
	p := Probed{SignedIn: err == nil}
	switch said := string(out); {
	case strings.Contains(said, "using ChatGPT"):
		p.Posture = paceline.PostureSubscription
	case strings.Contains(said, "API key"):
		p.Posture = paceline.PostureMetered
	case err != nil && strings.Contains(said, "Not logged in"):
		p.Note = "it is signed out: run `codex login`"
	case err != nil:
		p.Note = "it does not say whether it is signed in"
	}
	return p, nil
}

// Fresh asks a new process for the account's limits, which the vendor only
// tells an accepted sign-in.
func (c codex) Fresh(ctx context.Context, l Launch) (accepted, known bool) {
	return fresh(ctx, c, l, func(t *Turn) (accepted, known bool) {
		r, err := t.driver.(*codexDriver).ask(ctx, t, "account/rateLimits/read")
		if err != nil {
			return false, false
		}
		return r.ok, r.ok || strings.Contains(string(r.body), "401")
	})
}

func (c codex) Open(ctx context.Context, l Launch) (*Turn, error) {
	path, err := c.Find(l.Env)
	if err != nil {
		return nil, &Trouble{What: "codex is not installed", Hint: c.Install(), Err: err}
	}
	argv := []string{
		path, "app-server",
		"-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false",
		// Without this a dead network is retried for ever, in silence.
		"-c", "features.unbounded_connection_retries=false",
	}
	replies := make(chan reply, 16)
	d := &codexDriver{reader: wirecodex.New(wirecodex.AppServer), mode: l.Mode, replies: replies, asked: map[string]wirecodex.RPC{}}
	t, err := start(ctx, c, l, argv, c.environment(l.Account, l.Env), d, replies)
	if err != nil {
		return nil, err
	}
	if err := d.open(ctx, t, l); err != nil {
		return nil, t.abandon(err)
	}
	return t, nil
}

// codexDriver speaks the app-server's JSON-RPC.
type codexDriver struct {
	reader  *wirecodex.Reader
	mode    paceline.Mode
	replies chan<- reply
	next    atomic.Int64

	mu     sync.Mutex // also guards reader: it is told what we sent
	thread string
	asked  map[string]wirecodex.RPC // requests that a person decides
}

// open shakes hands and opens the conversation. The account is asked for in the
// same breath: its answer tells whose money a turn would spend.
func (d *codexDriver) open(ctx context.Context, t *Turn, l Launch) error {
	hello := d.id()
	if err := d.send(t, wirecodex.Initialize(hello, l.Version)); err != nil {
		return t.ended("ended before its first frame", err)
	}
	r, err := t.await(ctx, strconv.Itoa(hello))
	if err != nil {
		return err
	}
	if !r.ok {
		return &Trouble{What: "codex refused to start: " + message(r.body), Hint: "run `codex` by hand once"}
	}
	t.Opened.Version = version(gjson.GetBytes(r.body, "userAgent").String())
	account, opened := d.id(), d.id()
	params := d.params(l)
	ask := wirecodex.ThreadStart(opened, params)
	if l.Resume != "" {
		ask = wirecodex.ThreadResume(opened, string(l.Resume), params)
	}
	for _, line := range [][]byte{wirecodex.Initialized(), wirecodex.Read(account, "account/read"), ask} {
		if err := d.send(t, line); err != nil {
			return t.ended("ended while its conversation was opened", err)
		}
	}
	answers := map[string]reply{}
	for len(answers) < 2 {
		r, err := t.awaitAny(ctx)
		if err != nil {
			return err
		}
		answers[r.id] = r
	}
	if r = answers[strconv.Itoa(opened)]; !r.ok {
		return &Trouble{What: "codex did not open a conversation: " + message(r.body), Hint: "`codex` reads its settings from " + filepath.Base(codex{}.Home(l.Account, l.Env)) + "/config.toml"}
	}
	// What holds is read back before anything is sent.
	if is := gjson.GetBytes(r.body, "approvalPolicy").String(); is != "" && is != params.Approval {
		return &Trouble{What: fmt.Sprintf("codex's approval policy is %q although %q was asked for", is, params.Approval), Hint: "look into its config.toml for approval_policy"}
	}
	if is := sandboxed(gjson.GetBytes(r.body, "sandbox.type").String()); is != "" && is != params.Sandbox {
		return &Trouble{What: fmt.Sprintf("codex's sandbox is %q although %q was asked for", is, params.Sandbox), Hint: "look into its config.toml for sandbox_mode"}
	}
	d.mu.Lock()
	d.thread = gjson.GetBytes(r.body, "thread.id").String()
	d.mu.Unlock()
	t.Opened.Conversation = paceline.ConversationID(d.thread)
	t.Opened.Posture, t.Opened.SignedOut = codexPosture(answers[strconv.Itoa(account)])
	return nil
}

// sandboxed is how a sandbox is asked for that is answered in another spelling;
// "" where it is none that we ask for.
func sandboxed(answered string) string {
	return map[string]string{"dangerFullAccess": "danger-full-access", "workspaceWrite": "workspace-write", "readOnly": "read-only"}[answered]
}

// codexPosture reads whose money a turn would spend. A provider of the user's
// own has no account to tell of; its posture is what was declared.
func codexPosture(r reply) (p paceline.Posture, out bool) {
	switch gjson.GetBytes(r.body, "account.type").String() {
	case "chatgpt":
		return paceline.PostureSubscription, false
	case "apiKey", "amazonBedrock", "gcp":
		return paceline.PostureMetered, false
	}
	return paceline.PostureUnknown, r.ok && gjson.GetBytes(r.body, "requiresOpenaiAuth").Bool()
}

// params maps the mode. Inside our cage Codex's own sandbox is off, since it
// cannot mount there.
func (d *codexDriver) params(l Launch) wirecodex.ThreadParams {
	p := wirecodex.ThreadParams{Dir: l.Dir, Model: l.Model, Approval: "never", Sandbox: "danger-full-access"}
	if l.Mode == paceline.ModeAsk {
		p.Approval = "untrusted"
	}
	if l.Containment.Cage == nil {
		switch l.Mode {
		case paceline.ModeRead:
			p.Sandbox = "read-only"
		case paceline.ModeAsk, paceline.ModeEdit:
			p.Sandbox = "workspace-write"
		case paceline.ModeFull:
		}
	}
	return p
}

func (d *codexDriver) id() int { return int(d.next.Add(1)) }

func (d *codexDriver) send(t *Turn, line []byte) error {
	d.sent(line)
	return t.write(line)
}

func (d *codexDriver) sent(line []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reader.Sent(line)
}

// ask makes one request and waits for its answer.
func (d *codexDriver) ask(ctx context.Context, t *Turn, method string) (reply, error) {
	id := d.id()
	if err := d.send(t, wirecodex.Read(id, method)); err != nil {
		return reply{}, err
	}
	return t.await(ctx, strconv.Itoa(id))
}

func (d *codexDriver) line(line []byte, at time.Time) ([]wire.Event, []byte) {
	d.mu.Lock()
	events := d.reader.Observe(line, at)
	d.mu.Unlock()
	rpc, ok := wirecodex.ParseRPC(line)
	switch {
	case !ok:
		return events, nil
	case rpc.Response:
		select {
		case d.replies <- reply{id: string(rpc.ID), ok: rpc.Error == nil, body: either(rpc.Error, rpc.Result)}:
		default:
		}
		return events, nil
	case !rpc.Request:
		return events, nil
	}
	switch d.mode {
	case paceline.ModeAsk:
		d.mu.Lock()
		d.asked[string(rpc.ID)] = rpc
		d.mu.Unlock()
		return events, nil
	case paceline.ModeRead:
		return drop(events, wire.Approval), wirecodex.Answer(rpc, wirecodex.Decline)
	case paceline.ModeEdit, paceline.ModeFull:
	}
	return drop(events, wire.Approval), wirecodex.Answer(rpc, wirecodex.Accept)
}

func (d *codexDriver) prompt(m paceline.Message) []byte {
	d.mu.Lock()
	thread := d.thread
	d.mu.Unlock()
	line := wirecodex.TurnStart(d.id(), thread, m.Text, m.UUID)
	d.sent(line)
	return line
}

// steering is how long the program may take to say whether it takes a steer.
const steering = 10 * time.Second

func (d *codexDriver) steer(ctx context.Context, t *Turn, m paceline.Message) (bool, error) {
	d.mu.Lock()
	thread, turn := d.thread, d.reader.Turn()
	d.mu.Unlock()
	if turn == "" {
		return false, nil
	}
	id := d.id()
	if err := d.send(t, wirecodex.TurnSteer(id, thread, turn, m.Text, m.UUID)); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, steering)
	defer cancel()
	r, err := t.await(ctx, strconv.Itoa(id))
	return r.ok, err
}

// interrupt asks every turn to end, the root's first, and looks again after
// each: a nested one may have begun meanwhile (R13). A command that runs is not
// ended by it; that is the guard's to do.
func (d *codexDriver) interrupt(ctx context.Context, t *Turn) {
	every(d.active, func(a wirecodex.Active) {
		ctx, cancel := context.WithTimeout(ctx, interrupting)
		defer cancel()
		id := d.id()
		if d.send(t, wirecodex.TurnInterrupt(id, a.Thread, a.Turn)) == nil {
			_, _ = t.await(ctx, strconv.Itoa(id))
		}
	})
}

func (d *codexDriver) active() []wirecodex.Active {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Active()
}

// every does each once, those too that appear while it does.
func every[T comparable](list func() []T, do func(T)) {
	done := map[T]bool{}
	for i := 0; ; i++ {
		all := list()
		next := slices.IndexFunc(all, func(x T) bool { return !done[x] })
		if next < 0 || i == mostTurns {
			return
		}
		done[all[next]] = true
		do(all[next])
	}
}

// mostTurns ends a race with a program that begins turns faster than they end:
// the end of its tree ends them all.
const mostTurns = 64

func (d *codexDriver) went() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Went()
}

func (d *codexDriver) more() bool { return false }

func (d *codexDriver) answer(id string, allow bool) []byte {
	d.mu.Lock()
	ask, ok := d.asked[id]
	delete(d.asked, id)
	d.mu.Unlock()
	switch {
	case !ok:
		return nil
	case allow:
		return wirecodex.Answer(ask, wirecodex.Accept)
	}
	return wirecodex.Answer(ask, wirecodex.Decline)
}

func (d *codexDriver) closed() []wire.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Close()
}

// Recover reads the conversation's rollout.
func (c codex) Recover(l Launch, id paceline.ConversationID, m paceline.Message, at time.Time) (bool, wire.Ending, error) {
	home := c.Home(l.Account, l.Env)
	files, err := filepath.Glob(filepath.Join(home, "sessions", "*", "*", "*", "rollout-*-"+string(id)+".jsonl"))
	if err != nil || len(files) == 0 {
		return false, wire.Ending{}, err // nothing is on disk before the first turn
	}
	f, err := os.Open(files[0])
	if err != nil {
		return false, wire.Ending{}, fmt.Errorf("read the rollout of %s: %w", id, err)
	}
	defer f.Close()
	delivered, end := wirecodex.ReadRollout(lines(f), m.UUID, m.Text, at)
	return delivered, end, nil
}

// settling is how long the vendor is given to tell a limit from a passing 429.
const settling = 3 * time.Second

// Settle asks the vendor what a 429 meant whose body the program dropped. The
// child must still be alive, and not frozen.
func (t *Turn) Settle(ctx context.Context, f paceline.Failure) paceline.Failure {
	d, ok := t.driver.(*codexDriver)
	if !ok || f.Cause != paceline.CauseThrottle {
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	r, err := d.ask(ctx, t, "account/rateLimits/read")
	if err != nil || !r.ok {
		return f
	}
	return wirecodex.Settle(f, wirecodex.AccountFrom(r.body))
}

// message is the text of a JSON-RPC error.
func message(body []byte) string { return gjson.GetBytes(body, "message").String() }

// version picks the program's own number out of its user agent
// ("name/0.169.0 (…)").
func version(agent string) string {
	_, rest, _ := strings.Cut(agent, "/")
	v, _, _ := strings.Cut(rest, " ")
	return v
}

func either(a, b json.RawMessage) []byte {
	if len(a) > 0 {
		return a
	}
	return b
}
