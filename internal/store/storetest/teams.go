package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/team"
)

var teams = []proof{
	{"A24 a team is kept whole, and written over the version that was read", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		s := squad("t-1")
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.AddTeam(ctx, s) })
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			got, version, err := tx.Team(ctx, "t-1")
			if err != nil || version != 1 {
				t.Errorf("version %d, %v", version, err)
			}
			equal(t, "read", s, got)
			got.Phase, got.Why = team.Finished, "done"
			return tx.PutTeam(ctx, got, version)
		})
		is(t, b.try(t, func(ctx context.Context, tx *store.Tx) error { return tx.PutTeam(ctx, s, 1) }), store.ErrStale)
		got, err := b.Team(t.Context(), "t-1")
		if err != nil || got.Phase != team.Finished {
			t.Errorf("%+v, %v", got, err)
		}
		_, err = b.Team(t.Context(), "t-2")
		is(t, err, store.ErrNotFound)
	}},
	{"A24 a server that starts takes up the teams that go on by themselves", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.thread(t, "t-2", "m-2")
		rests := squad("t-2")
		rests.Phase, rests.Round, rests.Gate = team.Paused, nil, nil
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.AddTeam(ctx, squad("t-1")); err != nil {
				return err
			}
			return tx.AddTeam(ctx, rests)
		})
		want(t, []paceline.ThreadID{"t-1"})(b.OpenTeams(t.Context()))
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			rests.Phase = team.Running
			return tx.PutTeam(ctx, rests, 1)
		})
		want(t, []paceline.ThreadID{"t-1", "t-2"})(b.OpenTeams(t.Context()))
	}},
	{"The last team of a tree is found, and no thread without one", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		_, err := b.LastTeamIn(t.Context(), "/src")
		is(t, err, store.ErrNotFound)
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return tx.AddTeam(ctx, squad("t-1")) })
		b.thread(t, "t-2", "m-2")
		th, err := b.LastTeamIn(t.Context(), "/src")
		want(t, paceline.ThreadID("t-1"))(th.ID, err)
	}},
	{"A participant's runs are told from those of the others", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			m := prompt("m-2", "t-1")
			m.Sender = "ann"
			return added(tx.AddMessage(ctx, m))
		})
		b.add(t, running("r-1", "t-1", "m-1"), running("r-2", "t-1", "m-2"), running("r-3", "t-1", "m-1"), running("r-4", "t-1", "m-2"))
		equal(t, "ann's", []string{"r-2", "r-4"}, names(t, runID)(b.RunsOf(t.Context(), "t-1", "ann")))
		equal(t, "nobody's", []string(nil), names(t, runID)(b.RunsOf(t.Context(), "t-1", "bob")))
	}},
	{"Posts stand among the items of their thread, in their order, and hold any text", func(t *testing.T, b bench) {
		b.thread(t, "t-1", "m-1")
		one := team.Post{By: "ann", To: "bob", Text: "look \x00 here", Move: "ask", At: at}
		two := team.Post{By: "user", Text: "ok", Move: "post", At: at}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.AddItem(ctx, store.Item{Thread: "t-1", Run: "r-1", Kind: "text", At: at}); err != nil {
				return err
			}
			if err := tx.AddPost(ctx, "t-1", one); err != nil {
				return err
			}
			return tx.AddPost(ctx, "t-1", two)
		})
		one.Seq, two.Seq = 2, 3
		want(t, []team.Post{one, two})(b.Posts(t.Context(), "t-1", 0))
		want(t, []team.Post{two})(b.Posts(t.Context(), "t-1", 2))
	}},
}

// squad is a team in the middle of a round.
func squad(id paceline.ThreadID) team.State {
	claude := paceline.Engine{Account: "claude", Model: "opus"}
	mode := paceline.ModeRead
	return team.State{
		Thread: id, Task: "fix \"it\"", Phase: team.Running, Rules: team.DefaultRules(), Last: "ann", Asked: "bob", Rounds: 3, Spent: time.Minute,
		Members: []team.Member{{Participant: team.Participant{ID: "ann", Chain: []paceline.Engine{claude}, Mode: &mode, Role: "lead"}, On: claude, NotBefore: at, Fails: 2}},
		Round:   &team.Round{Message: "m-1", Participant: "ann", Chain: []paceline.Engine{claude}, Began: at},
		Gate:    &team.Gate{Holder: "ann", What: "push", Since: at},
		Outs:    []team.Out{{Engine: claude, Fails: 1, Until: at}},
		Wait:    team.Wait{Until: at, For: claude, Source: paceline.ResetStated},
	}
}
