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
	Health      Health               // of its route
}

// Health is what speaks against new work on a candidate's route. The zero value
// is nothing: also where nobody asked, as of an engine that its user named
// outright (Z90).
type Health struct {
	Down string    // why nothing new goes there; "" where it may
	Back time.Time // when it is tried again
	// Shared says that another account failed on the same endpoint: whoever sits
	// on this one stays (Z75).
	Shared bool
	Last   string // why it is used only where nothing better is; "" where it is not so
}

// down is why c may not serve for its route's sake.
func (c Candidate) down(sits bool) string {
	if sits && c.Health.Shared {
		return ""
	}
	return c.Health.Down
}

// Closed reports whether c may not go on: a limit holds it, or its route is down.
// sits says that it has the work already.
func Closed(c Candidate, now time.Time, sits bool) bool {
	return Held(c.Limit, now) || c.down(sits) != ""
}

// Frees is when a candidate that is held or down may be asked again, and where
// that is from; the zero value where nobody knows. An engine that is neither is
// free since ever.
func Frees(c Candidate, now time.Time, sits bool) (r paceline.Reset, known bool) {
	if Held(c.Limit, now) {
		r = c.Limit.Reset
		if !r.Known() {
			return r, false // only a person knows
		}
	}
	if c.down(sits) != "" && c.Health.Back.After(Lifts(r)) {
		r = paceline.Reset{At: c.Health.Back, Source: paceline.ResetAssumed}
	}
	return r, true
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
	// Sits says that the candidates have the seat already.
	Sits bool
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
// against. One on a degraded route is taken where there is no better one (Z72).
func Choose(cs []Candidate, a Ask) Choice {
	if ch, spared := choose(cs, a, true); ch.Found || !spared {
		return ch
	}
	ch, _ := choose(cs, a, false)
	return ch
}

// choose is Choose for one of two rounds: the first spares degraded routes, and
// reports whether there were any.
func choose(cs []Candidate, a Ask, spare bool) (ch Choice, spared bool) {
	below := a.After == nil
	var soft *Candidate // the first that was spared
	for i, c := range cs {
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
		if spare && !a.Sits && c.Health.Last != "" {
			ch.Out = append(ch.Out, Exclusion{c.Engine, c.Health.Last})
			if soft == nil {
				soft = &cs[i]
			}
			continue
		}
		if soft != nil && !kinder(*soft, c) {
			// Being slow, or failing now and then, is no reason to spend other money,
			// or to hold a run less tightly.
			return Choice{}, true
		}
		ch.Engine, ch.Found, ch.Weaker = c.Engine, true, c.Containment.Weaker
	}
	return ch, soft != nil
}

// kinder reports whether moving from one to another costs nothing (P6).
func kinder(from, to Candidate) bool {
	return !dearer(from.Posture, to.Posture) && (to.Containment.Weaker == "" || from.Containment.Weaker != "")
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
	case c.down(a.Sits) != "":
		return c.down(a.Sits)
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
	c.Limit, c.Health = nil, Health{}
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
