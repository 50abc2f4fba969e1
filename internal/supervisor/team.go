package supervisor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/secret"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/team"
)

// rounds does what is next in a team of which no message is open: it takes a
// round's ending in, begins the next one, or sleeps until one can begin. more is
// false where nothing goes on by itself.
func (o *owner) rounds(ctx context.Context) (more bool, err error) {
	if !o.lane.team {
		return false, nil
	}
	s, err := o.Store.Team(ctx, o.thread.ID)
	if err != nil || !s.Open() && s.Round == nil {
		return false, err
	}
	if s.Round != nil {
		r, over, err := o.result(ctx, *s.Round)
		if err != nil || !over {
			return false, err
		}
		_, err = o.turn(ctx, team.Ended{Result: r}, nil)
		return true, err
	}
	if o.Draining() {
		return false, ErrDraining
	}
	posts, err := o.Store.Posts(ctx, o.thread.ID, 0)
	if err != nil {
		return false, err
	}
	due := team.Due{Message: paceline.MessageID(store.NewID("m"))}
	if n := len(posts); n > 0 {
		due.Seen = posts[n-1].Seq
	}
	if s, err = o.turn(ctx, due, posts); err != nil || s.Round != nil || !s.Open() {
		return s.Round != nil, err
	}
	return true, o.nap(ctx, s)
}

// nap sleeps for a while, at most until the team's wait is over, or somebody says
// something. Limits that were lifted or moved meanwhile are seen after it.
func (o *owner) nap(ctx context.Context, s team.State) error {
	until := o.wall().Add(looked)
	if s.Wait.Until.Before(until) {
		until = s.Wait.Until
	}
	for {
		left := until.Sub(o.wall()) // a suspend counts (A20)
		if left <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(left, slice)):
		}
		now, err := o.Store.Team(ctx, o.thread.ID)
		switch {
		case err != nil:
			return err
		case o.Draining():
			return ErrDraining
		case !reflect.DeepEqual(now, s):
			return nil
		}
	}
}

// turn steps the team, and writes the state and every effect in one transaction.
func (o *owner) turn(ctx context.Context, e team.Event, posts []team.Post) (after team.State, err error) {
	ctx = context.WithoutCancel(ctx)
	before, err := o.Store.Team(ctx, o.thread.ID)
	if err != nil {
		return after, err
	}
	f, err := o.teamFacts(ctx, before)
	if err != nil {
		return after, err
	}
	var effects []team.Effect
	write := func(tx *store.Tx) ([]Event, error) {
		before, version, err := tx.Team(ctx, o.thread.ID)
		if err != nil {
			return nil, err
		}
		after, effects = team.Step(before, e, f)
		if len(effects) == 0 && reflect.DeepEqual(before, after) {
			return nil, nil
		}
		if err := tx.PutTeam(ctx, after, version); err != nil {
			return nil, err
		}
		var told []Event
		for _, e := range effects {
			ev, err := o.recorded(ctx, tx, after, e, posts)
			if err != nil {
				return nil, err
			}
			if ev != nil {
				told = append(told, *ev)
			}
		}
		return told, nil
	}
	for try := 0; ; try++ {
		err := o.commit(ctx, write)
		if errors.Is(err, store.ErrStale) && try < 5 {
			continue
		}
		if err != nil {
			return after, err
		}
		break
	}
	for _, e := range effects {
		switch e := e.(type) {
		case team.Decide:
			d := e.Decision
			if d.Event != "round" {
				d.Why = "" // it may hold a participant's own words, which are in the thread and not in the log
			}
			o.decided(d)
		case team.Line, team.Begin, team.Say, team.Sleep, team.Rest:
		}
	}
	return after, nil
}

// recorded writes one effect, and returns what clients are told of it.
func (o *owner) recorded(ctx context.Context, tx *store.Tx, s team.State, e team.Effect, posts []team.Post) (*Event, error) {
	ev := Event{At: time.Now(), Thread: o.thread.ID}
	switch e := e.(type) {
	case team.Begin:
		m, err := o.brief(s, e.Round, posts)
		if err != nil {
			return nil, err
		}
		ev.Event, ev.Message, ev.Participant = "accepted", m.ID, e.Round.Participant
		_, _, err = tx.AddMessage(ctx, m)
		return &ev, err
	case team.Say:
		return nil, tx.AddPost(ctx, o.thread.ID, team.Post{By: e.By, To: e.To, Text: e.Text, Move: e.Move, At: ev.At})
	case team.Line:
		ev.Event, ev.Text = "announcement", e.Text
		return &ev, tx.AddItem(ctx, item(run.State{Thread: o.thread.ID}, "announcement", map[string]string{"text": e.Text}))
	case team.Sleep:
		until := e.Wait.Until.UTC()
		ev.Event, ev.Until, ev.From, ev.Why = "waiting", &until, e.Wait.Source.String(), e.Wait.Why
		if e.Wait.For.Valid() {
			ev.Engine = e.Wait.For.String()
		}
		return &ev, nil
	case team.Rest:
		exit := Exit(e.Status)
		ev.Event, ev.Status, ev.Exit, ev.Text, ev.Hint = "finished", e.Status.String(), &exit, e.Text, e.Hint
		return &ev, nil
	case team.Decide:
		return nil, tx.AddDecision(ctx, o.thread.ID, e.Decision)
	}
	return nil, fmt.Errorf("team effect %T has no rule", e)
}

// brief is the message that a round is begun with. It does not wait where nobody
// can serve: a teammate may. Only an exempt one waits for its own engine (A33).
func (o *owner) brief(s team.State, r team.Round, posts []team.Post) (paceline.Message, error) {
	find, err := secret.New()
	if err != nil {
		return paceline.Message{}, err
	}
	told := make([]team.Post, len(posts))
	for i, p := range posts {
		if p.By != "user" {
			p.Text, _ = find.Blank(p.Text) // it may go to another vendor (F48)
		}
		told[i] = p
	}
	m := paceline.Message{
		ID: r.Message, Thread: o.thread.ID, Kind: paceline.KindPrompt, Sender: r.Participant, Text: team.Brief(s, r, o.thread.Mode, told),
		UUID: harness.UUID(), At: time.Now(), Opener: r.Opener, Patience: -1,
	}
	if r.Exempt {
		m.Patience = 0
	}
	return m, nil
}

// teamFacts looks at every engine of every chain.
func (o *owner) teamFacts(ctx context.Context, s team.State) (team.Facts, error) {
	f := team.Facts{Now: time.Now(), Engines: map[paceline.Engine]team.Engine{}}
	limits, err := o.Store.Limits(ctx)
	if err != nil {
		return f, err
	}
	was := o.lane.outs
	o.lane.outs = nil // the team itself knows who is out, and until when
	defer func() { o.lane.outs = was }()
	var all []place.Candidate
	for _, m := range s.Members {
		for _, e := range m.Chain {
			if !slices.ContainsFunc(all, func(c place.Candidate) bool { return c.Engine == e }) {
				all = append(all, o.entry(ctx, limits, e, true))
			}
		}
	}
	if err := o.weigh(ctx, all); err != nil {
		return f, err
	}
	for _, c := range all {
		f.Engines[c.Engine] = team.Engine{Limit: c.Limit, Unready: c.Unready, Down: c.Health.Down, Back: c.Health.Back}
	}
	return f, nil
}

// result is what a round came to; over is false while its message is open.
func (o *owner) result(ctx context.Context, round team.Round) (r team.Result, over bool, err error) {
	m, err := o.Store.Message(ctx, round.Message)
	if err != nil || m.Status == run.Unsettled || round.Person && m.Status == run.NeedPerson {
		return r, false, err
	}
	r = team.Result{Message: m.ID, Status: m.Status, What: m.Outcome}
	runs, err := o.Store.RunsOf(ctx, o.thread.ID, round.Participant)
	if err != nil {
		return r, false, err
	}
	for _, b := range runs {
		if b.Message != m.ID {
			continue
		}
		try := team.Try{Engine: b.Engine}
		if b.Failure != nil {
			try.Failed, try.Cause, try.Reset = true, b.Failure.Cause, b.Failure.Reset
		}
		if !b.Began.IsZero() && b.Ended.After(b.Began) {
			r.Busy += b.Ended.Sub(b.Began)
		}
		r.Tries = append(r.Tries, try)
		items, err := o.Store.RunItems(ctx, o.thread.ID, b.ID)
		if err != nil {
			return r, false, err
		}
		r.Reply = ""
		for _, it := range items {
			switch body := fields(it); it.Kind {
			case "text":
				r.Reply = body["text"]
			case "file":
				r.Worked = true
			case "tool":
				r.Worked = r.Worked || body["looks"] == ""
			}
		}
	}
	return r, true, nil
}
