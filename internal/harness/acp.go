package harness

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
	wireacp "github.com/paceline/paceline/internal/wire/acp"
)

// speaker drives any agent that speaks the Agent Client Protocol. It offers
// neither files nor terminals: the agent acts by its own tools, inside its cage.
type speaker struct{ agent agent }

func (s speaker) Name() string    { return s.agent.name }
func (s speaker) Vendor() string  { return s.agent.vendor }
func (s speaker) Install() string { return s.agent.install }

func (s speaker) Find(env Environment) (string, error) {
	if s.agent.argv == nil {
		return "/bin/sh", nil // a user's own says how it is started
	}
	return lookPath(s.agent.argv[0], env)
}

func (s speaker) Route(a paceline.Account, env Environment) string {
	return route(first(a.BaseURL, s.agent.route))
}

func (s speaker) Home(a paceline.Account, env Environment) string { return s.agent.home(a, env) }

// Probe cannot ask anybody: the protocol tells who is signed in only when a
// conversation is opened. Whose money it spends is what was declared.
func (s speaker) Probe(_ context.Context, a paceline.Account, env Environment) (Probed, error) {
	_, err := s.Find(env)
	if words := strings.Fields(a.Command); s.agent.name == own && len(words) > 0 && !strings.Contains(words[0], "/") {
		_, err = lookPath(words[0], env)
	}
	switch {
	case err != nil:
		return Probed{Note: "it is not installed: " + s.agent.install}, err
	case a.Posture == paceline.PostureUnknown:
		return Probed{SignedIn: true, Note: "nobody said whose money it spends: give its account a posture"}, nil
	}
	return Probed{SignedIn: true, Posture: a.Posture}, nil
}

// Fresh opens a conversation in a new process: agents refuse that to nobody who
// is signed in.
func (s speaker) Fresh(ctx context.Context, l Launch) (accepted, known bool) {
	return fresh(ctx, s, l, func(*Turn) (accepted, known bool) { return false, false })
}

func (s speaker) Open(ctx context.Context, l Launch) (*Turn, error) {
	argv, err := s.agent.command(l.Account, l.Model, l.Env)
	if err != nil {
		return nil, &Trouble{What: s.agent.name + " is not installed", Hint: s.agent.install, Err: err}
	}
	replies := make(chan reply, 16)
	d := &speaking{agent: s.agent, reader: wireacp.New(s.agent.name), mode: l.Mode, replies: replies, asked: map[string]wireacp.Request{}, idle: make(chan struct{}, 1)}
	t, err := start(ctx, s, l, argv, s.agent.variables(l.Account, l.Env), d, replies)
	if err != nil {
		return nil, err
	}
	if err := d.open(ctx, t, l); err != nil {
		return nil, t.abandon(err)
	}
	return t, nil
}

// Recover knows nothing: an agent's own transcripts are none that were measured.
// What was sent may have been done.
func (s speaker) Recover(Launch, paceline.ConversationID, paceline.Message, time.Time) (bool, wire.Ending, error) {
	return true, wire.Ending{Failure: paceline.Failure{
		Cause: paceline.CauseCrash, Work: paceline.WorkUnknown, Notice: s.agent.name + " keeps no transcript that could be read",
	}}, nil
}

// speaking is one child of an agent.
type speaking struct {
	agent   agent
	mode    paceline.Mode
	replies chan<- reply
	next    atomic.Int64
	idle    chan struct{} // a turn has ended

	mu      sync.Mutex // also guards reader: it is told what we sent
	reader  *wireacp.Reader
	session string
	asked   map[string]wireacp.Request // requests that a person decides
}

// open shakes hands and opens the conversation, in the mode in which the agent
// asks before it acts.
func (d *speaking) open(ctx context.Context, t *Turn, l Launch) error {
	hello, err := d.ask(ctx, t, func(id int) []byte { return wireacp.Initialize(id, l.Version) })
	if err != nil {
		return err
	}
	if !hello.ok {
		return &Trouble{What: d.agent.name + " refused to start: " + message(hello.body), Hint: "run it by hand once"}
	}
	t.Opened.Version = gjson.GetBytes(hello.body, "agentInfo.version").String()
	opened, err := d.ask(ctx, t, func(id int) []byte { return d.begin(id, l, hello.body) })
	if err != nil {
		return err
	}
	if !opened.ok {
		if gjson.GetBytes(opened.body, "code").Int() == wireacp.AuthRequired {
			t.Opened.SignedOut = true
			return nil
		}
		return &Trouble{What: d.agent.name + " did not open a conversation: " + message(opened.body), Hint: "run it by hand once"}
	}
	d.mu.Lock()
	d.session = first(gjson.GetBytes(opened.body, "sessionId").String(), string(l.Resume))
	d.mu.Unlock()
	t.Opened.Conversation = paceline.ConversationID(d.session)
	return d.settle(ctx, t, l, opened.body)
}

func (d *speaking) begin(id int, l Launch, hello []byte) []byte {
	if l.Resume == "" {
		return wireacp.NewSession(id, l.Dir)
	}
	silently := gjson.GetBytes(hello, "agentCapabilities.sessionCapabilities.resume").Exists() && !d.agent.replays
	return wireacp.ResumeSession(id, string(l.Resume), l.Dir, !silently)
}

// settle picks mode and model. What was asked for holds, or nothing is sent.
func (d *speaking) settle(ctx context.Context, t *Turn, l Launch, opened []byte) error {
	mode := d.agent.asks
	if l.Mode == paceline.ModeRead && d.agent.plan != "" {
		mode = d.agent.plan
	}
	if now := gjson.GetBytes(opened, "modes.currentModeId").String(); mode != "" && mode != now {
		r, err := d.ask(ctx, t, func(id int) []byte { return wireacp.SetMode(id, d.session, mode) })
		if err != nil {
			return err
		}
		if !r.ok {
			return &Trouble{What: d.agent.name + " has no mode " + mode + ": " + message(r.body), Hint: "this version of it was not measured"}
		}
	}
	if l.Model == "" || d.agent.model != "" {
		return nil
	}
	option := gjson.GetBytes(opened, `configOptions.#(category=="model").id`).String()
	if option == "" {
		return &Trouble{What: d.agent.name + " lets nobody pick a model", Hint: "leave the model out of the engine, or pick it in its own settings"}
	}
	r, err := d.ask(ctx, t, func(id int) []byte { return wireacp.SetModel(id, d.session, option, l.Model) })
	if err != nil || r.ok {
		return err
	}
	return &Trouble{What: d.agent.name + " does not have the model " + l.Model + ": " + message(r.body), Hint: "name one that it lists"}
}

// ask makes one request and waits for its answer.
func (d *speaking) ask(ctx context.Context, t *Turn, request func(id int) []byte) (reply, error) {
	id := int(d.next.Add(1)) - 1
	if err := d.send(t, request(id)); err != nil {
		return reply{}, t.ended("ended while its conversation was opened", err)
	}
	return t.await(ctx, strconv.Itoa(id))
}

func (d *speaking) send(t *Turn, line []byte) error {
	d.mu.Lock()
	d.reader.Sent(line)
	d.mu.Unlock()
	return t.write(line)
}

func (d *speaking) line(line []byte, at time.Time) ([]wire.Event, []byte) {
	d.mu.Lock()
	ran := d.reader.Running()
	events := d.reader.Observe(line, at)
	ended := ran && !d.reader.Running()
	d.mu.Unlock()
	if ended {
		select {
		case d.idle <- struct{}{}:
		default:
		}
	}
	if a, ok := wireacp.ParseAnswer(line); ok {
		select {
		case d.replies <- reply{id: a.ID, ok: a.Error == nil, body: either(a.Error, a.Result)}:
		default:
		}
		if !ran {
			return drop(events, wire.Ended), nil // how opening went is open's to say
		}
		return events, nil
	}
	r, ok := wireacp.ParseRequest(line)
	switch {
	case !ok:
		return events, nil
	case !r.Permission():
		return drop(events, wire.Approval), r.Refuse()
	}
	switch d.mode {
	case paceline.ModeAsk:
		d.mu.Lock()
		d.asked[r.ID] = r
		d.mu.Unlock()
		return events, nil
	case paceline.ModeRead:
		return drop(events, wire.Approval), r.Decide(false)
	case paceline.ModeEdit, paceline.ModeFull:
	}
	return drop(events, wire.Approval), r.Decide(true)
}

func (d *speaking) prompt(m paceline.Message) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := wireacp.Prompt(int(d.next.Add(1))-1, d.session, m.Text)
	d.reader.Sent(line)
	return line
}

// steer has no place in the protocol: the message waits for its turn.
func (d *speaking) steer(context.Context, *Turn, paceline.Message) (bool, error) { return false, nil }

func (d *speaking) went() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Went()
}

// interrupt cancels the turn, and waits for the answer to its prompt.
func (d *speaking) interrupt(ctx context.Context, t *Turn) {
	d.mu.Lock()
	running, session := d.reader.Running(), d.session
	d.mu.Unlock()
	if !running || d.send(t, wireacp.Cancel(session)) != nil {
		return
	}
	select {
	case <-d.idle:
	case <-ctx.Done():
	case <-time.After(interrupting):
	}
}

func (d *speaking) more() bool { return false }

func (d *speaking) answer(id string, allow bool) []byte {
	d.mu.Lock()
	r, ok := d.asked[id]
	delete(d.asked, id)
	d.mu.Unlock()
	if !ok {
		return nil
	}
	return r.Decide(allow)
}

func (d *speaking) closed() []wire.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Close()
}
