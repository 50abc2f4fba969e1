// Package team decides whose round it is. A team is one thread whose
// participants take rounds, one at a time: each is asked with its role, the task
// and what the others posted since, and its answer is a move. Step is a fold, as
// in package run: a state and an event go in, with every fact that a rule may look
// at; a state and effects come out.
//
//	paused -> running -> finished | stopped | paused -> running ...
//
// A round is one message of the thread, carried by ordinary runs along the
// participant's own chain. While one is under way no other begins: so of a team
// there is one writer at most, and the readers among it need no tree of their own.
//
// Whose round it is (next.go):
//
//	a gate is pending        its holder's, and only once a person has said something
//	a gate was approved      its holder's, on its own engine and no other
//	otherwise                who was addressed, else the next in turn; who has no
//	                         free engine is passed over, and a teammate takes the turn
//
// Where nobody can, it sleeps until the first one can (sleep.go). What a round
// comes to is in ended.go.
package team

import (
	"fmt"
	"slices"
	"time"

	"github.com/paceline/paceline"
)

// Phase is where a team's run stands. In the zero value nothing is begun.
type Phase uint8

const (
	Paused Phase = iota
	Running
	Finished // a participant said that the task is done
	Stopped  // its user did
)

var phaseNames = []string{"paused", "running", "finished", "stopped"}

// State is a team's run. Nothing in it is written through: Step copies what it
// changes.
type State struct {
	Thread  paceline.ThreadID `json:"thread"`
	Task    string            `json:"task"`
	Phase   Phase             `json:"phase"`
	Why     string            `json:"why,omitempty"` // why it rests; "" while it runs
	Rules   Rules             `json:"rules"`
	Members []Member          `json:"members"`         // in the order in which they take turns
	Round   *Round            `json:"round,omitempty"` // under way; nil is none
	Gate    *Gate             `json:"gate,omitempty"`  // pending; nil is none
	// Exempt is the participant whose gate was approved, until it has had the round
	// that follows from that.
	Exempt string `json:"exempt,omitempty"`
	Asked  string `json:"asked,omitempty"` // who was addressed, until it has had a round
	Last   string `json:"last,omitempty"`  // who had the last round
	// Handing is whose turn found no free engine and is anybody's now.
	Handing string `json:"handing,omitempty"`
	Outs    []Out  `json:"outs,omitempty"` // engines that could not be reached
	Wait    Wait   `json:"wait,omitzero"`  // what was said to be waited for
	// Rounds and Spent count since the start, or since a person last resumed it.
	Rounds int           `json:"rounds"`
	Spent  time.Duration `json:"spent"` // in runs; sleep is not charged (A21)
}

// Rules bound a team's run; 0 is no bound.
type Rules struct {
	MaxIterations int           `json:"max_iterations"`
	MaxRuntime    time.Duration `json:"max_runtime"`
	MaxWait       time.Duration `json:"max_wait"` // of one participant's wait moves in a row
}

// DefaultRules are those of a team whose user names none.
func DefaultRules() Rules {
	return Rules{MaxIterations: 50, MaxRuntime: 8 * time.Hour, MaxWait: time.Hour}
}

// Member is a participant with what became of its rounds.
type Member struct {
	Participant
	On    paceline.Engine `json:"on,omitzero"`     // where its last round was; the zero value is nowhere yet
	Away  bool            `json:"away,omitempty"`  // a limit moved it there
	Begun bool            `json:"begun,omitempty"` // it had a round
	// Seen is the last post that was there when its last round began, and Told when
	// the one before it did.
	Seen   int64  `json:"seen,omitempty"`
	Told   int64  `json:"told,omitempty"`
	Passed int    `json:"passed,omitempty"` // rounds of others while it was ready
	Handed bool   `json:"handed,omitempty"` // it was said that its turn is taken
	Cut    string `json:"cut,omitempty"`    // what cut its last round off, which may have worked

	Fails     int       `json:"fails,omitempty"`      // failed rounds in a row
	Limits    int       `json:"limits,omitempty"`     // limited rounds in a row
	Silent    int       `json:"silent,omitempty"`     // rounds in a row that ended with neither a post nor work
	NotBefore time.Time `json:"not_before,omitzero"`  // a failed one is tried again
	Waits     int       `json:"waits,omitempty"`      // wait moves in a row
	WaitSince time.Time `json:"wait_since,omitzero"`  // of the first of them
	WaitUntil time.Time `json:"wait_until,omitzero"`  // it asked for nothing before this
	WaitFor   string    `json:"wait_for,omitempty"`   // its own words
	Last      time.Time `json:"last_round,omitzero"`  // began
	Posts     int       `json:"posts,omitempty"`      // made
	Rounds    int       `json:"had_rounds,omitempty"` // begun
}

// Round is one that is under way.
type Round struct {
	Message     paceline.MessageID `json:"message"`
	Participant string             `json:"participant"`
	Chain       []paceline.Engine  `json:"chain"` // who may serve it
	Exempt      bool               `json:"exempt,omitempty"`
	Opener      bool               `json:"opener,omitempty"` // the participant's first
	Began       time.Time          `json:"began"`
	// Person says that it cannot end before a person has seen to it; a resume gives
	// it up.
	Person bool `json:"person,omitempty"`
}

// Gate is an approval that a participant asked a person for.
type Gate struct {
	Holder string    `json:"holder"`
	What   string    `json:"what"`
	Since  time.Time `json:"since"`
	Spoken bool      `json:"spoken,omitempty"` // a person posted meanwhile, and the holder may answer
}

// Out is an engine that could not be reached, for every participant on it (A25).
type Out struct {
	Engine paceline.Engine `json:"engine"`
	Fails  int             `json:"fails"` // in a row
	Until  time.Time       `json:"until"` // it is tried again
}

// Wait is what the team sleeps for. The zero value is no sleep.
type Wait struct {
	Until  time.Time            `json:"until,omitzero"`
	For    paceline.Engine      `json:"for,omitzero"`
	Source paceline.ResetSource `json:"source,omitempty"`
	Why    string               `json:"why,omitempty"`
}

// New is the state of a team that has not begun.
func New(id paceline.ThreadID, task string, rules Rules, all []Participant) State {
	s := State{Thread: id, Task: task, Rules: rules}
	for _, p := range all {
		s.Members = append(s.Members, Member{Participant: p})
	}
	return s
}

// Open reports whether anything is to happen by itself.
func (s State) Open() bool {
	return s.Round != nil && !s.Round.Person || s.Round == nil && s.Phase == Running && !s.Held()
}

// Held reports whether a person's word is waited for, and nothing else can go on.
func (s State) Held() bool { return s.Round == nil && s.Gate != nil && !s.Gate.Spoken }

// Member finds a participant by its name.
func (s State) Member(id string) (Member, bool) {
	if i := s.at(id); i >= 0 {
		return s.Members[i], true
	}
	return Member{}, false
}

func (s State) at(id string) int {
	return slices.IndexFunc(s.Members, func(m Member) bool { return m.ID == id })
}

// own has s share nothing with the state that it was copied from.
func (s State) own() State {
	s.Members, s.Outs = slices.Clone(s.Members), slices.Clone(s.Outs)
	if s.Gate != nil {
		g := *s.Gate
		s.Gate = &g
	}
	if s.Round != nil {
		r := *s.Round
		s.Round = &r
	}
	return s
}

func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "?"
}

func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p *Phase) UnmarshalText(b []byte) error {
	i := slices.Index(phaseNames, string(b))
	if i < 0 {
		return fmt.Errorf("phase %q is not one of %q", b, phaseNames)
	}
	*p = Phase(i)
	return nil
}
