// Package health folds what runs came to into the health of a route, and says
// whether new work may go there.
//
// A route is an account's endpoint. It is healthy until the way to the vendor
// or the vendor's machines fail; what an account may still spend, whether a
// conversation fits and what a model wrote are other questions (Z67, Z70, Z71).
//
//	healthy      new work goes there
//	suspect      something failed a moment ago; new work goes there all the same
//	degraded     too much fails, or it is slow: used where nothing better is (Z72)
//	open         it failed several times in a row: nothing new goes there until
//	             its cooldown is over
//	half-open    the cooldown is over: one run tries it, by name (Z77)
//	unavailable  the vendor refused the account or the address: as open, at once,
//	             and for this account alone (Z68, Z69)
//
// Every phase ends by itself: failures age out of the window, a cooldown ends, a
// trial expires. So a record is data that is read with the time, and nothing has
// to happen for it to heal.
//
// What is folded carries its own time and id. The same outcome twice, or one
// from before the window, changes nothing (Z86), whoever reads it again.
package health

import (
	"fmt"
	"slices"
	"time"
)

// Phase is how a route stands.
type Phase uint8

const (
	Healthy Phase = iota
	Suspect
	Degraded
	HalfOpen
	Open
	Unavailable
)

var phaseNames = []string{"healthy", "suspect", "degraded", "half-open", "open", "unavailable"}

func (p Phase) String() string               { return word(phaseNames, uint8(p)) }
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (p *Phase) UnmarshalText(b []byte) error { return unword(phaseNames, b, (*uint8)(p)) }

// shut reports whether new work keeps off, but for a trial.
func (p Phase) shut() bool { return p == Open || p == HalfOpen || p == Unavailable }

// Kind is what an outcome says of its route.
type Kind uint8

const (
	Nothing      Kind = iota // it says nothing: a crash, a stop, whatever was not read
	Success                  // a turn was answered
	Reached                  // the first word of an answer came; the turn goes on
	Transport                // no answer, or none in time
	Server                   // the vendor says that it is broken or overloaded
	Denied                   // the vendor refused the account or the address
	Capacity                 // a limit: the account's, never the route's
	Session                  // it does not fit: the conversation's, never the route's
	ModelRefused             // no such model: the engine's, unless several are refused alike
)

var kindNames = []string{"nothing", "success", "reached", "transport", "server", "denied", "capacity", "session", "model"}

func (k Kind) String() string               { return word(kindNames, uint8(k)) }
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (k *Kind) UnmarshalText(b []byte) error { return unword(kindNames, b, (*uint8)(k)) }

// Route is what health belongs to. Two accounts are two routes, also where both
// go to their vendor's own address: nobody knows what stands behind that (Z75).
type Route struct {
	Account  string `json:"account"`
	Endpoint string `json:"endpoint"` // host:port, and no more of it (Z76)
	// Configured says that somebody put this endpoint in the place of the
	// program's own. Only such endpoints are known to be shared.
	Configured bool `json:"configured,omitempty"`
}

// String names a route as rows hold it: a record of another endpoint is another
// record.
func (r Route) String() string { return r.Account + "@" + r.Endpoint }

// Name is what people call a route.
func (r Route) Name() string { return r.Account }

// Outcome is what one run came to, as far as its route is concerned.
type Outcome struct {
	Kind Kind
	ID   string    // the run's; what carries the same is the same outcome
	At   time.Time // its own time; zero where it is not known
	// New says that an outcome without a time was read just now for the first
	// time. One that is neither dated nor new changes nothing.
	New   bool
	Code  string        // the vendor's own word, "" where there is none
	Model string        // for information alone (Z100)
	First time.Duration // from the prompt to the first word of the answer; 0 is not known
}

// Policy is row Z85.
type Policy struct {
	Enabled    bool          `json:"enabled"`
	OpenAfter  int           `json:"open_after_failures"`
	Window     time.Duration `json:"window"`
	Cooldown   time.Duration `json:"cooldown"`
	ErrorPct   int           `json:"degrade_error_rate_pct"`
	MinSamples int           `json:"degrade_min_samples"`
	TTFT       time.Duration `json:"degrade_ttft,omitempty"` // 0: latency does not degrade
}

// Record is what is known of a route. The zero value is a healthy one.
type Record struct {
	Route Route     `json:"route"`
	Phase Phase     `json:"phase"`
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"` // open, unavailable: when it is tried again
	Code  string    `json:"code,omitempty"` // unavailable: the vendor's word for it
	Trial Trial     `json:"trial,omitzero"`
	Model string    `json:"model,omitempty"` // the last one seen

	Fails   []Mark `json:"fails,omitempty"`   // transport and server, oldest first
	Oks     []Mark `json:"oks,omitempty"`     // answered turns, oldest first
	Refused []Mark `json:"refused,omitempty"` // accounts, addresses and models, oldest first
	// Floor is the time of the latest mark that a full ring dropped. Whatever is
	// not later may have been counted, and is history.
	Floor time.Time `json:"floor,omitzero"`
	// Cleared is the last answered turn: failures before it do not open the route.
	Cleared time.Time `json:"cleared,omitzero"`
	Bad     time.Time `json:"bad,omitzero"` // the last failure or refusal
	// Erring and Slow are why it is degraded. They outlast an outage.
	Erring bool `json:"erring,omitempty"`
	Slow   bool `json:"slow,omitempty"`
}

// Trial is the right to try a half-open route.
type Trial struct {
	Who   string    `json:"who"` // the run
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // it expires, so that a probe that never reports back holds nothing
}

// Mark is an outcome that is kept.
type Mark struct {
	ID    string        `json:"id"`
	At    time.Time     `json:"at"`
	Kind  Kind          `json:"kind"`
	Code  string        `json:"code,omitempty"`
	Model string        `json:"model,omitempty"`
	First time.Duration `json:"first,omitempty"`
}

// The rings' sizes (Z87). open_after_failures can be no more than what is kept.
const (
	MaxFails   = 20
	maxOks     = 40
	maxRefused = 20
)

// Line is what is told of a change of phase, once (Z84).
type Line struct {
	Event string // health-open, -half-open, -recovered, -unavailable, -degraded, -restored, -trial
	Text  string
	Why   string
}

// stamp is a time as a record holds it, so that what is read back from a row
// compares equal.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func word(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "?"
}

func unword(names []string, b []byte, to *uint8) error {
	i := slices.Index(names, string(b))
	if i < 0 {
		return fmt.Errorf("%q is not one of %q", b, names)
	}
	*to = uint8(i)
	return nil
}
