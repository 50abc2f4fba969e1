// Package config turns layers of settings into one validated Policy.
//
// The layers, weakest first: defaults, the user's file, the repository's file,
// the environment, flags. A layer is a list of settings, each with the place it
// came from; one table, keys, says what may be set, in what form, and who may
// set it. Everything else follows from the table: the names in the environment,
// what is shown, and which name was meant by a wrong one.
//
// A repository is somebody else's text. Its file may only narrow: a key that
// chooses whose money is spent, what a child is told, or where it may write is
// refused there by name, and any other may only be set to something no wider
// than what holds without it. A refusal is an error and never a silent repair,
// because a project that believes to have set something should hear that it has
// not.
//
// The parser's own strict decoding is not used: it ends at the first value of a
// wrong type and keeps no positions, and people want every problem of a file at
// once, each with its line. So a file is read as its syntax tree.
//
// Only Load reads files; everything that decides is a function of the layers.
package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/health"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/stall"
)

// Policy is what holds for the runs of a thread. It is resolved when the thread
// is created and stored with it, so that a file changed later opts no thread in
// to anything (F47).
type Policy struct {
	Mode paceline.Mode `json:"mode"`
	// Accounts are the declared ones and, under their own names, one for each
	// harness. Their keys are never part of a policy.
	Accounts map[string]paceline.Account `json:"accounts"`
	Capacity map[string]Capacity         `json:"capacity,omitempty"` // per account; absent is CapacityFull
	// Chain is nil where none was named: there is no default chain, since being
	// named in one is what consents to an engine's vendor.
	Chain    []paceline.Engine `json:"chain,omitempty"`
	Fallback Fallback          `json:"fallback"`
	Notify   string            `json:"notify,omitempty"` // a shell command that is told of what matters; "" is none
	// Stall holds how long each harness may be silent, where it is not as usual.
	Stall    map[string]stall.Bounds `json:"stall,omitempty"`
	Writable []string                `json:"writable,omitempty"` // absolute roots, besides the tree, that ask and edit may write to
	Pass     []string                `json:"pass,omitempty"`     // names of further variables that children get
	// Store is the URL of the database that state is kept in; "" is a file in the
	// state folder. It may hold a password, so it is never a part of what is stored
	// or sent.
	Store string `json:"-"`
}

// Names lists the accounts.
func (p Policy) Names() []string { return slices.Sorted(maps.Keys(p.Accounts)) }

// Fallback is what may be done about an engine that cannot serve.
type Fallback struct {
	Enabled  bool         `json:"enabled"`
	MaxHops  int          `json:"max_hops"` // 0 is the chain's length
	Weaker   place.Weaker `json:"weaker"`
	Overage  Overage      `json:"overage"`
	Rollover Rollover     `json:"rollover"`
	// Health is when new work keeps off a route. A policy that was stored before
	// there was any has none.
	Health health.Policy `json:"health"`
}

// Overage is what to do when a subscription begins to cost extra.
type Overage uint8

const (
	OverageStop     Overage = iota // a run does not go on at extra cost
	OverageAnnounce                // it goes on, and says so
	OverageUse                     // it goes on
)

var overageNames = []string{"stop", "announce", "use"}

// Rollover says when a seat may move on to another engine with a packet.
type Rollover uint8

const (
	RolloverOff     Rollover = iota
	RolloverSettled          // only where every effect that began has settled
	RolloverAlways
)

var rolloverNames = []string{"off", "settled", "always"}

// Capacity is how large a task an account is meant for.
type Capacity uint8

const (
	CapacityFull Capacity = iota
	CapacitySmallOnly
)

var capacityNames = []string{"full", "small-only"}

// weakerNames are place.Weaker's, whose numbers a stored policy must not hold.
var weakerNames = []string{"skip", "announce"}

func (o Overage) String() string  { return word(overageNames, uint8(o)) }
func (r Rollover) String() string { return word(rolloverNames, uint8(r)) }
func (c Capacity) String() string { return word(capacityNames, uint8(c)) }

// The text forms are what stored policies and files hold, so that the numbers
// may change.

func (o Overage) MarshalText() ([]byte, error)  { return []byte(o.String()), nil }
func (r Rollover) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
func (c Capacity) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (o *Overage) UnmarshalText(b []byte) error  { return parse(overageNames, b, (*uint8)(o)) }
func (r *Rollover) UnmarshalText(b []byte) error { return parse(rolloverNames, b, (*uint8)(r)) }
func (c *Capacity) UnmarshalText(b []byte) error { return parse(capacityNames, b, (*uint8)(c)) }

// MarshalJSON writes weaker as its word.
func (f Fallback) MarshalJSON() ([]byte, error) {
	type plain Fallback // without the method
	return json.Marshal(struct {
		plain
		Weaker string `json:"weaker"`
	}{plain(f), word(weakerNames, uint8(f.Weaker))})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Fallback) UnmarshalJSON(b []byte) error {
	type plain Fallback
	in := struct {
		*plain
		Weaker string `json:"weaker"`
	}{plain: (*plain)(f)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if in.Weaker == "" {
		return nil // the zero value skips
	}
	return parse(weakerNames, []byte(in.Weaker), (*uint8)(&f.Weaker))
}

func word(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%d?", i)
}

func parse(names []string, text []byte, to *uint8) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("%q is not one of %q", text, names)
	}
	*to = uint8(i)
	return nil
}
