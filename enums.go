package paceline

import "fmt"

// Cause is why a run failed. What follows from it is decided in internal/run,
// together with the work that was done; nowhere else.
type Cause uint8

const (
	CauseUnknown    Cause = iota // not read: nothing moves on it
	CauseUsageLimit              // the engine's allowance is used up
	CauseThrottle                // a 429 whose cause the vendor did not tell
	CauseAuth                    // signed out, or the account was refused
	CauseBilling                 // out of money, or a spend cap
	CauseTransport               // no route to the vendor
	CauseServer                  // the vendor answered that it is broken or overloaded
	CauseModel                   // there is no such model for this account
	CauseContext                 // the conversation does not fit
	CauseStall                   // it went silent past its deadline
	CauseCrash                   // the harness died
	CauseStopped                 // its user stopped it
	CauseOther                   // a typed failure that is none of the above
)

var causeNames = []string{
	"unknown", "usage_limit", "throttle", "auth", "billing", "transport", "server",
	"model", "context", "stall", "crash", "stopped", "other",
}

// Work is what a run's evidence says it did. Only WorkNone, proved at the
// adapter's boundary, lets a message be sent again (F2).
type Work uint8

const (
	WorkUnknown Work = iota // counts as work
	WorkNone
	WorkSome
)

var workNames = []string{"unknown", "none", "some"}

// Outcome is how one native turn ended.
type Outcome uint8

const (
	OutcomeIncomplete Outcome = iota // the stream stops before the turn does
	OutcomeCompleted
	OutcomeFailed
	OutcomeInterrupted
)

var outcomeNames = []string{"incomplete", "completed", "failed", "interrupted"}

// ResetSource is where a time came from (P8).
type ResetSource uint8

const (
	ResetNone    ResetSource = iota // there is no time
	ResetStated                     // the vendor gave the instant
	ResetDerived                    // reckoned from the vendor's words, e.g. a time of day without a date
	ResetAssumed                    // ours, because nobody said
)

var resetSourceNames = []string{"", "stated", "derived", "assumed"}

// Posture is whose money an account spends. PostureUnknown is never moved to.
type Posture uint8

const (
	PostureUnknown      Posture = iota
	PostureSubscription         // a plan with usage windows
	PostureMetered              // pay by the token
	PostureLocal                // nobody's
)

var postureNames = []string{"unknown", "subscription", "metered", "local"}

// Mode is what a run may do (the table in the README). It means the same on
// every engine; an adapter that cannot do it says in what it is weaker.
type Mode uint8

const (
	ModeRead Mode = iota // writes nowhere
	ModeAsk              // asks before each write or command
	ModeEdit             // writes in the tree and temporary folders, asks nothing
	ModeFull             // anywhere, asks nothing
)

var modeNames = []string{"read", "ask", "edit", "full"}

// Kind is what sort of message it is. Only prompts are ever sent again (F12).
type Kind uint8

const (
	KindUnknown Kind = iota
	KindPrompt
	KindSteer
	KindPost
	KindWake
	KindDelegated
	KindSlash
	KindScript
	KindContinuation // our fixed text that resumes a conversation which already holds the message
)

var kindNames = []string{"unknown", "prompt", "steer", "post", "wake", "delegated", "slash", "script", "continuation"}

func (c Cause) String() string       { return name(causeNames, uint8(c)) }
func (w Work) String() string        { return name(workNames, uint8(w)) }
func (o Outcome) String() string     { return name(outcomeNames, uint8(o)) }
func (s ResetSource) String() string { return name(resetSourceNames, uint8(s)) }
func (p Posture) String() string     { return name(postureNames, uint8(p)) }
func (m Mode) String() string        { return name(modeNames, uint8(m)) }
func (k Kind) String() string        { return name(kindNames, uint8(k)) }

// The text forms are what rows, JSON and configuration files hold; they are
// kept, so the numbers may change.

func (c Cause) MarshalText() ([]byte, error)       { return []byte(c.String()), nil }
func (w Work) MarshalText() ([]byte, error)        { return []byte(w.String()), nil }
func (o Outcome) MarshalText() ([]byte, error)     { return []byte(o.String()), nil }
func (s ResetSource) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
func (p Posture) MarshalText() ([]byte, error)     { return []byte(p.String()), nil }
func (m Mode) MarshalText() ([]byte, error)        { return []byte(m.String()), nil }
func (k Kind) MarshalText() ([]byte, error)        { return []byte(k.String()), nil }

func (c *Cause) UnmarshalText(b []byte) error { return parse("cause", causeNames, b, (*uint8)(c)) }
func (w *Work) UnmarshalText(b []byte) error  { return parse("work", workNames, b, (*uint8)(w)) }
func (o *Outcome) UnmarshalText(b []byte) error {
	return parse("outcome", outcomeNames, b, (*uint8)(o))
}

func (s *ResetSource) UnmarshalText(b []byte) error {
	return parse("reset source", resetSourceNames, b, (*uint8)(s))
}

func (p *Posture) UnmarshalText(b []byte) error {
	return parse("posture", postureNames, b, (*uint8)(p))
}
func (m *Mode) UnmarshalText(b []byte) error { return parse("mode", modeNames, b, (*uint8)(m)) }
func (k *Kind) UnmarshalText(b []byte) error { return parse("kind", kindNames, b, (*uint8)(k)) }

func name(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%d?", i)
}

func parse(what string, names []string, text []byte, to *uint8) error {
	for i, n := range names {
		if n == string(text) {
			*to = uint8(i)
			return nil
		}
	}
	return fmt.Errorf("%s %q is not one of %q", what, text, names)
}
