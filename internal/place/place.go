// Package place chooses the engine that serves next and says why each other
// one was passed over. It ranks values; what it needs to know arrives as facts.
//
// A chain is walked downward: within one limit episode a hop never goes back
// up, and each engine serves a message once (F11, F70). Work moves to another
// billing posture, or to a weaker containment, only where the operator said so
// (P6).
package place

import (
	"fmt"
	"time"

	"github.com/paceline/paceline"
)

// Candidate is one entry of a chain with what is known of it.
type Candidate struct {
	Engine      paceline.Engine
	Vendor      string
	Route       string // host:port that it talks to
	Posture     paceline.Posture
	Unready     string               // why it cannot start ("is not installed: npm i -g …"); "" when it can
	SignedOut   bool                 // Unready because nobody is signed in
	Limit       *paceline.Limit      // what is held against it; nil when nothing is
	Containment paceline.Containment // what a run there would be held in
}

// Weaker says what to do with an engine whose containment falls short.
type Weaker uint8

const (
	WeakerSkip     Weaker = iota // pass it over
	WeakerAnnounce               // use it, and say in what it is weaker
)

// Ask is the question: who serves next?
type Ask struct {
	Now    time.Time
	After  *Candidate        // the engine that failed; nil for a first placement
	Tried  []paceline.Engine // engines that already had this message
	Weaker Weaker
	// OffRoute passes over engines on After's own route: its fault was the
	// route's, so the same route would fail again.
	OffRoute bool
}

// Exclusion is an engine passed over, with the reason.
type Exclusion struct {
	Engine paceline.Engine `json:"engine"`
	Why    string          `json:"why"`
}

// Choice is the answer. Found false means that nobody can serve.
type Choice struct {
	Engine paceline.Engine
	Found  bool
	// Weaker says in what the chosen engine's containment falls short of the
	// mode; "" where it does not.
	Weaker string
	Out    []Exclusion
}

// Choose takes the first candidate, in chain order, that nothing speaks
// against.
func Choose(cs []Candidate, a Ask) Choice {
	var ch Choice
	below := a.After == nil
	for _, c := range cs {
		if !below {
			below = c.Engine == a.After.Engine
			ch.Out = append(ch.Out, Exclusion{c.Engine, "it stands at or above the engine that failed"})
			continue
		}
		if ch.Found {
			ch.Out = append(ch.Out, Exclusion{c.Engine, "it comes after " + ch.Engine.String() + " in the chain"})
			continue
		}
		if why := exclusion(c, a); why != "" {
			ch.Out = append(ch.Out, Exclusion{c.Engine, why})
			continue
		}
		ch.Engine, ch.Found, ch.Weaker = c.Engine, true, c.Containment.Weaker
	}
	return ch
}

// exclusion is the one predicate: "" means that c may serve.
func exclusion(c Candidate, a Ask) string {
	for _, t := range a.Tried {
		if t == c.Engine {
			return "it already had this message"
		}
	}
	switch {
	case c.Unready != "":
		return c.Unready
	case Held(c.Limit, a.Now):
		return "it is limited " + Until(c.Limit.Reset)
	case a.After != nil && dearer(a.After.Posture, c.Posture):
		return fmt.Sprintf("its posture is %s, the failed engine's is %s", c.Posture, a.After.Posture)
	case a.After != nil && a.OffRoute && c.Route == a.After.Route:
		return "it is on the same route, " + c.Route
	case c.Containment.Weaker != "" && a.Weaker == WeakerSkip && (a.After == nil || a.After.Containment.Weaker == ""):
		return "its containment is weaker: " + c.Containment.Weaker
	}
	return ""
}

// Fits reports whether c may take over from after, whatever is held against it
// now and wherever it stands in the chain.
func Fits(c Candidate, after *Candidate, w Weaker) bool {
	c.Limit = nil
	return exclusion(c, Ask{After: after, Weaker: w}) == ""
}

// dearer reports whether moving spends money of another kind (P6, Z47). A
// posture that nobody could read is not spent.
func dearer(from, to paceline.Posture) bool {
	if to == paceline.PostureUnknown {
		return true
	}
	return to != from && to != paceline.PostureLocal
}

// prose is added to a reset that was read from words: they drop the seconds.
const prose = time.Minute

// Lifts is when a limit with this reset holds no more. A reset that is not
// known gives the zero value.
func Lifts(r paceline.Reset) time.Time {
	if r.Source == paceline.ResetDerived && r.Known() {
		return r.At.Add(prose)
	}
	return r.At
}

// Held reports whether l still holds at now. A limit without a reset holds
// until somebody clears it or a probe succeeds.
func Held(l *paceline.Limit, now time.Time) bool {
	return l != nil && (!l.Reset.Known() || now.Before(Lifts(l.Reset)))
}

// Until says when a limit lifts, as a reason gives it.
func Until(r paceline.Reset) string {
	if !r.Known() {
		return "(it did not say until when)"
	}
	return fmt.Sprintf("until %s (%s)", r.At.UTC().Format(time.RFC3339), r.Source)
}
