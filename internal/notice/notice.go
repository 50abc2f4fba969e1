// Package notice reads what a failed call says of itself: its class, when it
// lifts, which usage window and which model it is about, and how sure that is.
// There is one such parser, so that what is shown and what is waited for never
// drift apart. It is only ever given a failed call's own words (P7): a short
// notice, an error's body, a typed frame's fields.
package notice

import (
	"strconv"
	"time"

	"github.com/paceline/paceline"
)

// Class is what a notice says. Causes and classes are one vocabulary; None and
// Warning have no cause.
type Class uint8

const (
	None      Class = iota // says nothing of a failed call
	Warning                // of a limit that is near, of a retry; nothing failed
	Limit                  // a usage window is spent
	Throttle               // a 429 whose cause nobody told, or one that is over in a moment
	Auth                   // signed out, or the account was refused
	Billing                // out of money, or a spend cap
	Transport              // no route to the vendor
	Server                 // the vendor is broken or overloaded
	Model                  // no such model for this account
	Context                // the conversation does not fit
)

var classes = []struct {
	name  string
	cause paceline.Cause
}{
	{"none", paceline.CauseOther},
	{"warning", paceline.CauseOther},
	{"usage_limit", paceline.CauseUsageLimit},
	{"rate_limit_transient", paceline.CauseThrottle},
	{"auth", paceline.CauseAuth},
	{"billing", paceline.CauseBilling},
	{"transport", paceline.CauseTransport},
	{"server", paceline.CauseServer},
	{"model_unavailable", paceline.CauseModel},
	{"context_overflow", paceline.CauseContext},
}

// String is the class as the notice corpus spells it.
func (c Class) String() string { return classes[c].name }

// Cause is what a run that ended so failed of. A failed call whose notice says
// nothing known failed all the same (A35).
func (c Class) Cause() paceline.Cause { return classes[c].cause }

// Origin is which words a moment was read from, the surest first: where two of
// them disagree, the surer one holds.
type Origin uint8

const (
	NoMoment Origin = iota
	Field           // an instant in a typed field
	Header
	Epoch
	Date
	Relative
	Clock
)

var origins = []string{"none", "date", "header", "epoch", "date", "relative", "clock"}

func (o Origin) String() string { return origins[o] }

// Basis is what the class rests on.
type Basis uint8

const (
	Unfounded Basis = iota
	ByCode          // the vendor's own typed word
	ByWords         // the grammar of the notice
	ByStatus        // nothing but the HTTP status
)

var bases = []string{"", "code", "words", "status"}

func (b Basis) String() string { return bases[b] }

// Call is a failed call, as its program told of it.
type Call struct {
	Code   string // the vendor's own word, "" where there is none
	Status int64  // HTTP; 0 where none was told
	Text   string // its own short notice, or the body that the vendor sent
}

// Notice is what a call says of itself.
type Notice struct {
	Class  Class
	Basis  Basis
	Going  bool   // the program is still retrying, or its turn goes on
	Code   string // the vendor's most telling word, else the HTTP status
	Reset  paceline.Reset
	Origin Origin // of Reset
	// Window is the usage window that is named: "5h", "session", "daily",
	// "weekly", "monthly" or any other duration ("3h"); "" where none is.
	// It is worded or typed, never guessed from a distance.
	Window string
	// Model is the model that the limit is about: "this" where it goes
	// unnamed, "" where the whole account is limited.
	Model string
	Text  string // the notice's own words, out of the body that held them
}

// Read reads a failed call. at is when the notice was printed, in the zone of
// whoever printed it; zero where nobody knows, and then nothing that counts
// from it is resolved (A4).
func Read(c Call, at time.Time) Notice {
	o := open(c)
	said := plain(o.text)
	words := comparable(said)
	n := Notice{Code: o.code, Text: o.text}
	n.Class, n.Basis = o.class(words)
	if n.Code == "" && o.status != 0 {
		n.Code = strconv.FormatInt(o.status, 10)
	}
	n.Going = going.MatchString(words)
	if o.capped { // the cap of an app has no time of its own
		n.Window = "weekly"
		return n
	}
	n.Window = window(words, o.window)
	if n.Class == Limit {
		n.Model = model(words)
	}
	switch n.Class {
	case Limit, Throttle, Billing:
		n.Reset, n.Origin = reset(o, said, n, at)
	default:
	}
	if n.Class == Billing && (n.Origin == Header || n.Origin == Relative) {
		n.Reset, n.Origin = paceline.Reset{}, NoMoment // when to ask again is not when somebody has paid
	}
	// A burst is over in a moment. What is put off for hours is a usage window,
	// whatever its vendor calls it; a header alone says only when to ask again.
	if n.Class == Throttle && n.Origin != Header && n.Reset.At.Sub(at) > longest && !at.IsZero() {
		n.Class = Limit
	}
	return n
}

// Failure makes a failure of it. Work and evidence are the caller's to add.
func (n Notice) Failure() paceline.Failure {
	f := paceline.Failure{Cause: n.Class.Cause(), Code: n.Code, Notice: n.Text}
	switch n.Class {
	case Limit, Throttle:
		f.Retryable, f.Reset, f.Scope = true, n.Reset, n.scope()
	case Server, Transport, Auth:
		f.Retryable = true
	case Billing:
		f.Reset = n.Reset
	default:
	}
	return f
}

// scope names the window as the readers of typed frames do. A model's own
// window is another one than the account's of the same length (A7).
func (n Notice) scope() string {
	s := n.Window
	if s == "5h" || s == "session" {
		s = "five_hour"
	}
	if n.Model != "" && (s == "five_hour" || s == "weekly") {
		s += "_model"
	}
	return s
}
