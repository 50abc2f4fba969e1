// Package harness drives the vendors' own programs. There is one Harness a
// program: how to find it, start it, ask it who is signed in, talk to it, and
// read back what its transcript kept after a crash. What its frames mean is
// decided in wire; who may be sent what, in run.
//
// A Turn is a child that is up, with its conversation open, before anything was
// sent. Open and Send are apart on purpose: between them the run's `sending` is
// put on disk, and a standby can wait there.
package harness

import (
	"context"
	"slices"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// Harness is one vendor's program.
type Harness interface {
	// Name is what accounts call it: "claude", "codex".
	Name() string
	Vendor() string
	// Install says how to get it, for people.
	Install() string
	// Find locates the program for the given environment; an error says what to
	// install.
	Find(env Environment) (path string, err error)
	// Route is the host:port that an account's requests go to.
	Route(a paceline.Account, env Environment) string
	// Probe asks the program, without a model request, whether somebody is
	// signed in and whose money it would spend.
	Probe(ctx context.Context, a paceline.Account, env Environment) (Probed, error)
	// Fresh asks the vendor, through one new process, whether the sign-in is
	// accepted: a running child may hold a token that another one refreshed.
	Fresh(ctx context.Context, l Launch) (accepted, known bool)
	// Open starts a child and opens its conversation. Nothing was sent yet.
	Open(ctx context.Context, l Launch) (*Turn, error)
	// Recover reads the engine's own transcript after its child is gone.
	Recover(l Launch, c paceline.ConversationID, m paceline.Message, at time.Time) (delivered bool, end wire.Ending, err error)
	// Home is the folder that the account's program writes to.
	Home(a paceline.Account, env Environment) string
}

// All lists the harnesses in the order in which a first run looks for them.
func All() []Harness { return []Harness{claude{}, codex{}} }

// Named returns the harness of that name. Those that All does not list serve
// only accounts that were declared.
func Named(name string) (Harness, bool) {
	for _, h := range All() {
		if h.Name() == name {
			return h, true
		}
	}
	if name == (agy{}).Name() {
		return agy{}, true
	}
	for _, a := range agents {
		if a.name == name {
			return speaker{a}, true
		}
	}
	return nil, false
}

// Undeclared names the harnesses that are installed and stand for no account.
// They serve nobody before their user says whose money they spend (P6).
func Undeclared(env Environment, declared []paceline.Account) (out []string) {
	names := []string{(agy{}).Name()}
	for _, a := range agents {
		if a.name != own {
			names = append(names, a.name)
		}
	}
	for _, name := range names {
		h, _ := Named(name)
		_, err := h.Find(env)
		if err == nil && !slices.ContainsFunc(declared, func(a paceline.Account) bool { return a.Harness == name }) {
			out = append(out, name)
		}
	}
	return out
}

// Proves reports whether what a harness tells of a turn is proof by itself that
// it did no work. Of every other the tree has to agree as well (F10): their
// streams show less than they do, or were never recorded by us.
func Proves(h Harness) bool { return slices.Contains(All(), h) }

// Keeps reports whether a conversation of the account can be opened again in a
// new process. Where it cannot, what was said before goes along in a packet.
func Keeps(h Harness) bool {
	s, spoken := h.(speaker)
	return !spoken || s.agent.keeps
}

// Silence is under which name of the configuration's [stall] a harness's
// deadlines are.
func Silence(h Harness) string {
	if slices.Contains(All(), h) {
		return h.Name()
	}
	return "acp"
}

// Launch is everything that a child is started with.
type Launch struct {
	Run         paceline.RunID
	Account     paceline.Account
	Model       string
	Dir         string // absolute
	Mode        paceline.Mode
	Containment Contained
	Resume      paceline.ConversationID // "" starts a new conversation
	Env         Environment
	Self        string // our own binary, for the guard
	Lock        string // the run's lock file
	Version     string // ours, told to programs that ask who drives them
}

// Probed is what a program says of its account.
type Probed struct {
	SignedIn bool
	Posture  paceline.Posture
	Note     string // why it cannot serve; "" where it can
}

// Opened is what a child said while its conversation was opened.
type Opened struct {
	Conversation paceline.ConversationID
	Posture      paceline.Posture
	Version      string
	SignedOut    bool // the program itself says that nobody is signed in
}

// Trouble is a child that could not be started or opened. It is ours to
// report, unlike a vendor's failure, which arrives as an Ended event.
type Trouble struct {
	What string // "claude ended before its first frame (exit 1)"
	Hint string
	Err  error
	// Failure is what the program itself said of it; without a cause it is a
	// crash.
	Failure paceline.Failure
}

func (t *Trouble) Error() string {
	if t.Err != nil {
		return t.What + ": " + t.Err.Error()
	}
	return t.What
}

func (t *Trouble) Unwrap() error { return t.Err }
