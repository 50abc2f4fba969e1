package supervisor

import (
	"context"
	"errors"
	"slices"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/team"
)

// lane is whose round an owner carries. A team is one thread, and each of its
// participants has conversations, a chain and a mode of its own: what the others'
// runs did is not its past, and what they said it is told in its round's message.
// The zero value is a thread without a team.
type lane struct {
	team bool
	who  string                     // the participant
	outs map[paceline.Engine]string // engines that could not be reached, by anybody of the team
}

func (s *Supervisor) teamed(ctx context.Context, id paceline.ThreadID) (bool, error) {
	_, err := s.Store.Team(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// enter takes up the lane of whoever is asked by a message.
func (o *owner) enter(ctx context.Context, m paceline.Message) error {
	if !o.lane.team {
		return nil
	}
	s, err := o.Store.Team(ctx, o.thread.ID)
	if err != nil {
		return err
	}
	p, ok := s.Member(m.Sender)
	if !ok {
		return nil
	}
	o.lane.who, o.lane.outs = p.ID, map[paceline.Engine]string{}
	o.thread.Chain, o.policy.Mode = p.Chain, p.In(o.thread.Mode)
	if r := s.Round; r != nil && r.Message == m.ID {
		o.thread.Chain = r.Chain // an exempt one is held to its own engine (A33)
		for _, x := range s.Outs {
			if x.Until.After(r.Began) && !r.Exempt {
				o.lane.outs[x.Engine] = "it could not be reached, and is tried again later"
			}
		}
	}
	return nil
}

// runs are those of the lane.
func (o *owner) runs(ctx context.Context) ([]run.State, error) {
	if o.lane.who == "" {
		return o.Store.Runs(ctx, o.thread.ID)
	}
	return o.Store.RunsOf(ctx, o.thread.ID, o.lane.who)
}

// messages are those of the lane.
func (o *owner) messages(ctx context.Context) ([]store.Message, error) {
	all, err := o.Store.Messages(ctx, o.thread.ID)
	if o.lane.who == "" {
		return all, err
	}
	return slices.DeleteFunc(all, func(m store.Message) bool { return m.Sender != o.lane.who }), err
}

// voiced adds the line that says that a participant's limit moved it on.
func (l lane) voiced(s run.State, effects []run.Effect) []run.Effect {
	if l.who == "" || s.Failure == nil || s.Failure.Cause != paceline.CauseUsageLimit && s.Failure.Cause != paceline.CauseThrottle {
		return effects
	}
	for _, e := range effects {
		if c, ok := e.(run.Create); ok {
			return append(slices.Clone(effects), run.Announce{Text: team.Hop(l.who, s.Engine, c.Run.Engine)})
		}
	}
	return effects
}
