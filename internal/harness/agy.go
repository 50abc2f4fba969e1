package harness

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/guard"
	"github.com/paceline/paceline/internal/wire"
	wireagy "github.com/paceline/paceline/internal/wire/agy"
)

// agy is Antigravity's own program, driven by its stream-json. Only the user's
// own program is started, as the user would start it: its sign-in is never read,
// and nobody talks to its vendor in its name.
type agy struct{}

func (agy) Name() string   { return "agy" }
func (agy) Vendor() string { return "google" }

func (agy) Install() string {
	return "install Antigravity's command line from antigravity.google, then run `agy` once to sign in"
}

func (agy) Find(env Environment) (string, error) { return lookPath("agy", env) }

func (agy) Home(a paceline.Account, env Environment) string {
	switch {
	case a.Home != "":
		return a.Home
	case env.Get("HOME") != "":
		return filepath.Join(env.Get("HOME"), ".gemini")
	}
	return ""
}

// Route is known of the endpoint that a key's account names. Where a
// subscription's requests go is the program's affair.
func (agy) Route(a paceline.Account, _ Environment) string { return route(a.BaseURL) }

// environment keeps the program from replacing itself in the middle of a run: it
// does so unless this says exactly "true".
func (agy) environment(a paceline.Account, env Environment) Environment {
	env = env.With("AGY_CLI_DISABLE_AUTO_UPDATE=true")
	if a.BaseURL != "" {
		env = env.With("GOOGLE_GEMINI_BASE_URL=" + strings.TrimRight(a.BaseURL, "/"))
	}
	return keyed(a, env, "GEMINI_API_KEY")
}

// Probe asks nobody: the program's own question for its usage goes to its vendor
// each time. Whose money it spends is what was declared.
func (g agy) Probe(_ context.Context, a paceline.Account, env Environment) (Probed, error) {
	switch _, err := g.Find(env); {
	case err != nil:
		return Probed{Note: "it is not installed: " + g.Install()}, err
	case a.Posture == paceline.PostureUnknown:
		return Probed{SignedIn: true, Note: "nobody said whose money it spends: give its account a posture"}, nil
	}
	return Probed{SignedIn: true, Posture: a.Posture}, nil
}

// Fresh has a new process ask for its usage, which costs none. In its words a
// sign-out and a missing network are the same; its log tells them apart.
func (g agy) Fresh(ctx context.Context, l Launch) (accepted, known bool) {
	path, err := g.Find(l.Env)
	if err != nil {
		return false, false
	}
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	log, err := g.log(l)
	if err != nil {
		return false, false
	}
	defer os.RemoveAll(filepath.Dir(log))
	cmd := exec.CommandContext(ctx, path, append(g.place(l.Account), "--print=/usage", "--output-format", "json", "--log-file", log)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = g.environment(l.Account, l.Env), l.Dir, time.Second
	cmd.Stdin = bytes.NewReader(nil) // a pipe at its end: of anything else it waits for a sign-in
	out, _ := cmd.Output()
	if gjson.GetBytes(out, "command.data").Exists() {
		return true, true
	}
	r := wireagy.New()
	r.Stderr([]byte("error: authentication failed or timed out"), time.Time{})
	readLog(r, log)
	for _, e := range r.Exit(1) {
		if e.Kind == wire.Ended && e.Ending.Failure.Cause == paceline.CauseAuth {
			return false, true
		}
	}
	return false, false
}

// place points the program at the account's own folder.
func (agy) place(a paceline.Account) []string {
	if a.Home == "" {
		return nil
	}
	return []string{"--gemini_dir=" + a.Home}
}

// log is where a child writes what it tells nowhere else. It lies in the one
// folder that the child can write to in every mode.
func (g agy) log(l Launch) (string, error) {
	home := g.Home(l.Account, l.Env)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(home, "paceline-")
	return filepath.Join(dir, "agy.log"), err
}

func (g agy) Open(ctx context.Context, l Launch) (*Turn, error) {
	path, err := g.Find(l.Env)
	switch {
	case err != nil:
		return nil, &Trouble{What: "agy is not installed", Hint: g.Install(), Err: err}
	case l.Mode == paceline.ModeAsk:
		return nil, &Trouble{What: "agy cannot ask anybody before it acts", Hint: "let it run in mode read or edit"}
	}
	log, err := g.log(l)
	if err != nil {
		return nil, &Trouble{What: "agy has no place for its log", Hint: "make its folder writable", Err: err}
	}
	// --print= with its equals sign: else the next word is the prompt.
	argv := append([]string{path}, g.place(l.Account)...)
	argv = append(argv, "--print=", "--input-format", "stream-json", "--output-format", "stream-json",
		"--disable-slash-commands", "--print-timeout=0s", "--add-dir", l.Dir, "--log-file", log)
	if l.Resume != "" {
		argv = append(argv, "--conversation", string(l.Resume))
	}
	if l.Model != "" {
		argv = append(argv, "--model", l.Model)
	}
	if l.Mode == paceline.ModeRead {
		argv = append(argv, "--mode", "plan")
	} else {
		// It can ask nobody, and ends its turn at the first thing that it is denied.
		// What it may do is the cage's to decide.
		argv = append(argv, "--dangerously-skip-permissions")
	}
	replies := make(chan reply, 1)
	d := &agyDriver{reader: wireagy.New(), log: log, replies: replies}
	t, err := start(ctx, g, l, argv, g.environment(l.Account, l.Env), d, replies)
	if err != nil {
		_ = os.RemoveAll(filepath.Dir(log))
		return nil, err
	}
	d.mu.Lock()
	d.leave = t.child.Stdin.Close
	d.mu.Unlock()
	r, err := t.await(ctx, "init")
	if err != nil {
		return nil, g.refused(t, err)
	}
	conversation, dir, _ := wireagy.Init(r.body)
	switch {
	case !same(dir, l.Dir):
		return nil, t.abandon(&Trouble{What: "agy works in another folder than it was told to", Hint: "see that its own settings do not name one"})
	case l.Resume != "" && conversation != string(l.Resume):
		return nil, t.abandon(&Trouble{
			What: "agy does not find the conversation that was to go on, and began another one",
			Hint: "it was removed, or is kept in another folder: begin a new thread",
		})
	}
	t.Opened.Conversation = paceline.ConversationID(conversation)
	return t, nil
}

// refused adds why a child ended before its conversation was open, where it says
// so: nobody is signed in, nobody is reached, or a limit that old versions tell
// their log alone.
func (agy) refused(t *Turn, err error) error {
	_, _ = t.child.Kill(context.Background())
	var tr *Trouble
	for e := range t.Events {
		if e.Kind != wire.Ended || !errors.As(err, &tr) {
			continue
		}
		tr.Failure = e.Ending.Failure
		if tr.Failure.Code != "" {
			tr.What += ": " + strings.ReplaceAll(tr.Failure.Code, "_", " ")
		}
		if tr.Failure.Code == wireagy.Unsigned {
			tr.Failure.Cause = paceline.CauseTransport // a sign-out is claimed only where it is proved
		}
	}
	return err
}

// same reports whether two names are one folder.
func same(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}

// Recover knows nothing: its own transcripts were never measured. What was sent
// may have been done.
func (agy) Recover(Launch, paceline.ConversationID, paceline.Message, time.Time) (bool, wire.Ending, error) {
	return true, wire.Ending{Failure: paceline.Failure{
		Cause: paceline.CauseCrash, Work: paceline.WorkUnknown, Notice: "agy keeps no transcript that could be read",
	}}, nil
}

// agyDriver is one child of agy.
type agyDriver struct {
	log     string
	replies chan<- reply

	mu     sync.Mutex // guards the rest
	reader *wireagy.Reader
	leave  func() error // ends its input, upon which it goes
}

func (d *agyDriver) line(line []byte, at time.Time) ([]wire.Event, []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	events := d.reader.Observe(line, at)
	if _, _, ok := wireagy.Init(line); ok {
		select {
		case d.replies <- reply{id: "init", ok: true, body: bytes.Clone(line)}:
		default:
		}
	}
	if d.reader.Held() && d.leave != nil {
		// Why it failed is said on its way out. Most go by themselves.
		_ = d.leave()
	}
	return events, nil
}

func (d *agyDriver) complaint(line []byte, at time.Time) []wire.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Stderr(line, at)
}

// exited is the child's end. Its log is read then, and removed.
func (d *agyDriver) exited(e guard.Ended) []wire.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	readLog(d.reader, d.log)
	_ = os.RemoveAll(filepath.Dir(d.log))
	if e.Signal != "" || e.Lost {
		return d.reader.Exit(-1)
	}
	return d.reader.Exit(e.Exit)
}

// logMax is how much of a log's end is read, in bytes. What ended a turn is
// there.
const logMax = 1 << 20

func readLog(r *wireagy.Reader, path string) {
	f, err := os.Open(path)
	if err != nil {
		return // without a log it says less, and is believed less
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode()&fs.ModeType == 0 && info.Size() > logMax {
		_, _ = f.Seek(-logMax, io.SeekEnd)
	}
	in := bufio.NewReader(io.LimitReader(f, logMax))
	for {
		line, err := wire.ReadLine(in)
		if len(line) > 0 {
			r.Log(line, time.Now())
		}
		if err != nil {
			return
		}
	}
}

func (d *agyDriver) prompt(m paceline.Message) []byte { return wireagy.Prompt(m.Text) }

// steer is queued by the program, for a turn of its own: the message waits here
// as well, where a stop does not lose it.
func (d *agyDriver) steer(context.Context, *Turn, paceline.Message) (bool, error) { return false, nil }

func (d *agyDriver) answer(string, bool) []byte { return nil }

func (d *agyDriver) went() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Went()
}

// interrupt has no word in its stream: the signal that ends its tree first asks
// it to end its turn, and it ends its commands then.
func (d *agyDriver) interrupt(context.Context, *Turn) {}

func (d *agyDriver) more() bool { return false }

func (d *agyDriver) closed() []wire.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.Close()
}

// Terms is what a vendor's terms say of being driven by another program, where
// that is less than plain consent; "" elsewhere.
func Terms(h Harness) string {
	if h.Name() != (agy{}).Name() {
		return ""
	}
	return "its vendor's terms name third-party software that uses the service, and it has suspended accounts for reusing their sign-in. " +
		"Only your own program is started, and no sign-in is read. The plain way is a key of your own: posture = \"metered\". Keep to one account."
}
