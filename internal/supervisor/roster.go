package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/team"
)

// Listed is a participant's file.
type Listed struct {
	team.Participant
	Path    string   `json:"path"`
	Digest  string   `json:"digest"`
	Problem string   `json:"problem,omitempty"` // why it cannot be read
	Widens  []string `json:"widens,omitempty"`  // in what it goes beyond the configuration
	Trusted bool     `json:"trusted"`           // its user agreed to it, or need not
}

// Participants is where a project's are.
func Participants(tree string) string { return filepath.Join(tree, ".paceline", "participants") }

// longestFile bounds a participant's file: its role is a part of each prompt.
const longestFile = 256 << 10

// Roster reads the participants of a folder, in the order of their names.
// Whether they are trusted the caller looks up.
func Roster(dir string, policy config.Policy) (out []Listed, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the participants: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".md")
		if !ok || e.IsDir() {
			continue
		}
		l := Listed{Path: filepath.Join(dir, e.Name())}
		l.ID = id
		text, err := os.ReadFile(l.Path)
		if err == nil && len(text) > longestFile {
			err = fmt.Errorf("it is longer than %d bytes", longestFile)
		}
		if err == nil {
			sum := sha256.Sum256([]byte(id + "\n" + string(text)))
			l.Digest = "participant-" + hex.EncodeToString(sum[:16])
			l.Participant, err = team.Parse(id, string(text))
		}
		if err != nil {
			l.Problem = err.Error()
		} else {
			l.Widens = l.Participant.Widens(policy.Mode, policy.Chain)
		}
		l.Trusted = l.Problem == "" && len(l.Widens) == 0
		out = append(out, l)
	}
	return out, nil
}

// Agreed notes which of them their user has agreed to.
func Agreed(ctx context.Context, st *store.Store, tree string, all []Listed) error {
	for i := range all {
		l := &all[i]
		if l.Trusted || l.Problem != "" {
			continue
		}
		var err error
		if l.Trusted, err = st.Trusted(ctx, tree, l.Digest); err != nil {
			return err
		}
	}
	return nil
}

// recruit reads the participants that a team is begun with, and refuses those who
// go beyond the configuration and to whom nobody agreed.
func (s *Supervisor) recruit(ctx context.Context, dir, tree string, policy config.Policy) (out []team.Participant, err error) {
	all, err := Roster(dir, policy)
	if err == nil {
		err = Agreed(ctx, s.Store, tree, all)
	}
	if err != nil {
		return nil, err
	}
	var wide []string
	for _, l := range all {
		switch {
		case l.Problem != "":
			return nil, &Refusal{Msg: fmt.Sprintf("%s cannot be read: %s", l.Path, l.Problem), Hint: "`paceline team list` shows them all", Code: 2}
		case l.Off:
		case !l.Trusted:
			wide = append(wide, "@"+l.ID+": "+strings.Join(l.Widens, "; "))
		}
		out = append(out, l.Participant)
	}
	on := 0
	for _, p := range out {
		if !p.Off {
			on++
		}
	}
	switch {
	case on == 0:
		return nil, &Refusal{Msg: "there are no participants in " + dir, Hint: "`paceline team init` writes two to begin with", Code: 2}
	case len(wide) > 0:
		return nil, &Refusal{
			Msg:  "participants go beyond what you configured, and nobody agreed to that",
			Hint: strings.Join(wide, "\n") + "\nread their files, then `paceline team trust`", Code: 5,
		}
	}
	return out, nil
}

// Squad is what a team is begun with.
type Squad struct {
	Dir, Tree string
	From      string // the folder of its participants
	Task      string
	Rules     team.Rules
	Policy    config.Policy
	Agreed    string // the digest of project files that the user has just agreed to
	Env       harness.Environment
}

// BeginTeam puts a team on record, ready to run. What cannot begin is a *Refusal.
func (s *Supervisor) BeginTeam(ctx context.Context, q Squad) (store.Thread, Offset, error) {
	if err := s.Vet(ctx, q.Dir, q.Tree, q.Agreed); err != nil {
		return store.Thread{}, Offset{}, err
	}
	all, err := s.recruit(ctx, q.From, q.Tree, q.Policy)
	if err != nil {
		return store.Thread{}, Offset{}, err
	}
	q.Policy.Chain = nil
	for _, p := range all {
		q.Policy.Chain = append(q.Policy.Chain, p.Chain...) // that anything of it can be used is looked up
	}
	th, err := s.Begin(ctx, q.Dir, q.Tree, q.Task, q.Policy, q.Env)
	if err != nil {
		return th, Offset{}, err
	}
	th.Chain = union(all)
	st, _ := team.Step(team.New(th.ID, q.Task, q.Rules, all), team.ResumeAsked{}, team.Facts{Now: time.Now()})
	at, err := s.journal.end(ctx, th.ID)
	if err != nil {
		return th, at, err
	}
	return th, at, s.journal.commit(ctx, th.ID, func(tx *store.Tx) ([]Event, error) {
		if err := tx.AddThread(ctx, th); err != nil {
			return nil, err
		}
		return nil, tx.AddTeam(ctx, st)
	})
}

// union is every engine of every chain, each once.
func union(all []team.Participant) (out []paceline.Engine) {
	seen := map[paceline.Engine]bool{}
	for _, p := range all {
		for _, e := range p.Chain {
			if !seen[e] {
				seen[e] = true
				out = append(out, e)
			}
		}
	}
	return out
}

// Word is what a person says to a team.
type Word struct {
	What string `json:"what"` // post, approve, reject, pause, resume or stop
	To   string `json:"to,omitempty"`
	Text string `json:"text,omitempty"`
}

// Tell gives a person's word to a team, and has it go on.
func (s *Supervisor) Tell(ctx context.Context, id paceline.ThreadID, w Word) (team.State, error) {
	o := &owner{Supervisor: s}
	if err := o.read(ctx, id); err != nil {
		return team.State{}, err
	}
	if !o.lane.team {
		return team.State{}, &Refusal{Msg: fmt.Sprintf("%s has no team", id), Hint: "`paceline team start` begins one", Code: 2}
	}
	now, err := s.Store.Team(ctx, id)
	if err != nil {
		return now, err
	}
	var e team.Event
	switch w.What {
	case "post":
		if _, ok := now.Member(w.To); w.To != "" && !ok {
			return now, &Refusal{Msg: fmt.Sprintf("nobody in the team is named %q", w.To), Hint: "`paceline team show` names them", Code: 2}
		}
		e = team.Posted{To: w.To, Text: w.Text}
	case "approve", "reject":
		if now.Gate == nil {
			return now, &Refusal{Msg: "no gate is pending", Hint: "`paceline team show` says what the team does", Code: 2}
		}
		e = team.Ruled{Approve: w.What == "approve", Text: w.Text}
	case "pause":
		e = team.PauseAsked{}
	case "resume":
		e = team.ResumeAsked{}
	case "stop":
		e = team.StopAsked{}
	default:
		return now, &Refusal{Msg: fmt.Sprintf("nobody knows what %q of a team is", w.What), Code: 2}
	}
	now, err = o.turn(ctx, e, nil)
	if err == nil && w.What == "stop" {
		err = s.Stop(context.WithoutCancel(ctx), id)
	}
	s.Wake(id) // what was cut, or is to go on, is taken up
	return now, err
}

// Alone refuses a message to a thread that is a team's: its participants take
// turns, and are spoken to as a team.
func (s *Supervisor) Alone(ctx context.Context, id paceline.ThreadID) error {
	if is, err := s.teamed(ctx, id); !is || err != nil {
		return err
	}
	return &Refusal{
		Msg:  fmt.Sprintf("%s is a team's", id),
		Hint: fmt.Sprintf("`paceline team post -t %s TEXT` says something to it", id), Code: 2,
	}
}

// TrustTeam keeps that the user agreed to files of participants, by their digests.
func (s *Supervisor) TrustTeam(ctx context.Context, tree string, digests []string) error {
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		for _, d := range digests {
			if !strings.HasPrefix(d, "participant-") {
				return &Refusal{Msg: "that is no participant's file", Code: 2}
			}
			if err := tx.Trust(ctx, tree, d); err != nil {
				return err
			}
		}
		return nil
	})
}
