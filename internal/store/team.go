package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/team"
)

func scanTeam(row scanner) (team.State, error) {
	var body JSON[team.State]
	err := row.Scan(&body)
	return body.V, err
}

// versionedTeam is a team with the version that PutTeam compares.
type versionedTeam struct {
	state   team.State
	version int64
}

func scanVersionedTeam(row scanner) (v versionedTeam, err error) {
	var body JSON[team.State]
	err = row.Scan(&body, &v.version)
	v.state = body.V
	return v, err
}

// AddTeam makes a thread a team's.
func (t *Tx) AddTeam(ctx context.Context, s team.State) error {
	_, err := t.tx.ExecContext(ctx, `INSERT INTO teams (thread, is_open, body, updated_at, version) VALUES ($1, $2, $3, $4, 1)`,
		s.Thread, s.Open(), JSON[team.State]{s}, Millis{t.now})
	if err != nil {
		return fmt.Errorf("add the team of %s: %w", s.Thread, err)
	}
	return nil
}

// PutTeam writes a team back over the version that was read, or is ErrStale.
func (t *Tx) PutTeam(ctx context.Context, s team.State, version int64) error {
	ok, err := changed(t.tx.ExecContext(ctx, `UPDATE teams SET is_open = $1, body = $2, updated_at = $3, version = version + 1
		WHERE thread = $4 AND version = $5`, s.Open(), JSON[team.State]{s}, Millis{t.now}, s.Thread, version))
	if err == nil && !ok {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("put the team of %s at version %d: %w", s.Thread, version, err)
	}
	return nil
}

// Team reads a team and its version, or ErrNotFound.
func (t *Tx) Team(ctx context.Context, id paceline.ThreadID) (team.State, int64, error) {
	v, err := one(t.tx.QueryRowContext(ctx, `SELECT body, version FROM teams WHERE thread = $1`, id), "team of "+string(id), scanVersionedTeam)
	return v.state, v.version, err
}

// Team reads the team of a thread, or ErrNotFound where it has none.
func (s *Store) Team(ctx context.Context, id paceline.ThreadID) (team.State, error) {
	return single(ctx, s, "team of "+string(id), scanTeam, `SELECT body FROM teams WHERE thread = $1`, id)
}

// OpenTeams lists this host's threads whose team goes on by itself.
func (s *Store) OpenTeams(ctx context.Context) ([]paceline.ThreadID, error) {
	return list(ctx, s, "list open teams", func(row scanner) (id paceline.ThreadID, err error) { return id, row.Scan(&id) },
		`SELECT teams.thread FROM teams JOIN threads ON threads.id = teams.thread
		WHERE teams.is_open AND threads.host = $1 ORDER BY threads.seq`, s.d.Host)
}

// LastTeamIn reads the thread of this host's tree that has a team and changed
// last, or ErrNotFound.
func (s *Store) LastTeamIn(ctx context.Context, tree string) (Thread, error) {
	return single(ctx, s, "last team in "+tree, scanThread, `SELECT `+threadColumns+` FROM threads
		WHERE host = $1 AND tree = $2 AND NOT archived AND id IN (SELECT thread FROM teams) ORDER BY updated_at DESC, seq DESC LIMIT 1`, s.d.Host, []byte(tree))
}

// RunsOf lists the runs of a thread that answer messages of one sender, in the
// order in which they were added.
func (s *Store) RunsOf(ctx context.Context, id paceline.ThreadID, sender string) ([]run.State, error) {
	return list(ctx, s, "list runs of "+sender+" in "+string(id), scanRun, `SELECT runs.body FROM runs
		JOIN messages ON messages.id = runs.message WHERE runs.thread = $1 AND messages.sender = $2 ORDER BY runs.seq`, id, sender)
}

// postKind is the kind of item that a post is.
const postKind = "post"

// AddPost adds something that somebody said to a team's thread.
func (t *Tx) AddPost(ctx context.Context, id paceline.ThreadID, p team.Post) error {
	body, err := json.Marshal(map[string]string{"by": p.By, "to": p.To, "text": p.Text, "move": p.Move})
	if err != nil {
		return fmt.Errorf("add a post to %s: %w", id, err)
	}
	return t.AddItem(ctx, Item{Thread: id, Kind: postKind, Body: body, At: p.At})
}

// Posts lists what was said in a team's thread after a number; 0 is all of it.
func (s *Store) Posts(ctx context.Context, id paceline.ThreadID, after int64) ([]team.Post, error) {
	return list(ctx, s, "list posts of "+string(id), func(row scanner) (team.Post, error) {
		it, err := scanItem(row)
		var p team.Post
		if err == nil {
			err = json.Unmarshal(it.Body, &p)
		}
		p.Seq, p.At = it.Seq, it.At
		return p, err
	}, `SELECT seq, thread, run, kind, body, at FROM items WHERE thread = $1 AND seq > $2 AND kind = '`+postKind+`' ORDER BY seq`, id, after)
}
