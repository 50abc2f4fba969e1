package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
)

// Thread is a durable conversation about one working tree.
type Thread struct {
	ID paceline.ThreadID `json:"id"`
	// Host is who serves it: its working tree, its engines' conversations and its
	// locks are there. The store sets it; it is "" in a database of one host.
	Host  string            `json:"host,omitempty"`
	Dir   string            `json:"dir"`  // where its children work; absolute, byte for byte
	Tree  string            `json:"tree"` // the root that Dir belongs to
	Title string            `json:"title"`
	Mode  paceline.Mode     `json:"mode"`
	Chain []paceline.Engine `json:"chain"`
	// Policy is what was resolved when the thread began. The store does not look
	// inside.
	Policy json.RawMessage `json:"policy,omitempty"`
	// Env holds the variables that its children get, without those that are
	// secret. It is the client's who was last here.
	Env []string `json:"-"`
	// Seat is what its user asked of its seat; its runs show the rest.
	Seat     run.Seat  `json:"seat,omitzero"`
	Archived bool      `json:"archived,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"` // when a message last came in or was settled
}

// SetPolicy keeps v as the thread's policy.
func (t *Thread) SetPolicy(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("policy of %s: %w", t.ID, err)
	}
	t.Policy = b
	return nil
}

// DecodePolicy fills in v from the thread's policy.
func (t Thread) DecodePolicy(v any) error {
	if err := json.Unmarshal(t.Policy, v); err != nil {
		return fmt.Errorf("policy of %s: %w", t.ID, err)
	}
	return nil
}

const threadColumns = `id, dir, tree, title, mode, chain, policy, archived, created_at, updated_at, env, host, seat`

func scanThread(row scanner) (Thread, error) {
	var t Thread
	var dir, tree, title []byte
	var chain JSON[[]paceline.Engine]
	var policy JSON[json.RawMessage]
	var env JSON[[]string]
	var seat JSON[run.Seat]
	var created, updated Millis
	err := row.Scan(&t.ID, &dir, &tree, &title, word{&t.Mode}, &chain, &policy, &t.Archived, &created, &updated, &env, &t.Host, &seat)
	t.Dir, t.Tree, t.Title = string(dir), string(tree), string(title)
	t.Chain, t.Policy, t.Env, t.Seat, t.Created, t.Updated = chain.V, policy.V, env.V, seat.V, created.Time, updated.Time
	return t, err
}

// AddThread adds a thread of this host.
func (t *Tx) AddThread(ctx context.Context, th Thread) error {
	_, err := t.tx.ExecContext(ctx, `INSERT INTO threads (`+threadColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		th.ID, []byte(th.Dir), []byte(th.Tree), []byte(th.Title), th.Mode.String(), JSON[[]paceline.Engine]{th.Chain},
		JSON[json.RawMessage]{th.Policy}, th.Archived, Millis{th.Created}, Millis{th.Updated}, JSON[[]string]{th.Env}, t.host, JSON[run.Seat]{th.Seat})
	if err != nil {
		return fmt.Errorf("add thread %s: %w", th.ID, err)
	}
	return nil
}

// SetThreadEnv keeps the variables of the client who is here now.
func (t *Tx) SetThreadEnv(ctx context.Context, id paceline.ThreadID, env []string) error {
	if _, err := t.tx.ExecContext(ctx, `UPDATE threads SET env = $1 WHERE id = $2`, JSON[[]string]{env}, id); err != nil {
		return fmt.Errorf("keep the environment of %s: %w", id, err)
	}
	return nil
}

// SetSeat keeps what the user asked of a thread's seat.
func (t *Tx) SetSeat(ctx context.Context, id paceline.ThreadID, seat run.Seat) error {
	if _, err := t.tx.ExecContext(ctx, `UPDATE threads SET seat = $1 WHERE id = $2`, JSON[run.Seat]{seat}, id); err != nil {
		return fmt.Errorf("keep the seat of %s: %w", id, err)
	}
	return nil
}

// ArchiveThread puts a thread aside. Doing it again changes nothing.
func (t *Tx) ArchiveThread(ctx context.Context, id paceline.ThreadID) error {
	ok, err := changed(t.tx.ExecContext(ctx, `UPDATE threads SET archived = $1, updated_at = $2 WHERE id = $3`, true, Millis{t.now}, id))
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("archive thread %s: %w", id, err)
	}
	return nil
}

// touch moves a thread to the front of the list.
func (t *Tx) touch(ctx context.Context, id paceline.ThreadID) error {
	_, err := t.tx.ExecContext(ctx, `UPDATE threads SET updated_at = $1 WHERE id = $2 AND updated_at < $1`, Millis{t.now}, id)
	return err
}

// Thread reads a thread as the transaction sees it.
func (t *Tx) Thread(ctx context.Context, id paceline.ThreadID) (Thread, error) {
	return thread(ctx, t.tx, id)
}

// Thread reads one thread, or ErrNotFound.
func (s *Store) Thread(ctx context.Context, id paceline.ThreadID) (Thread, error) {
	return reading(ctx, s, func(ctx context.Context) (Thread, error) { return thread(ctx, s.d.Read, id) })
}

func thread(ctx context.Context, q queryer, id paceline.ThreadID) (Thread, error) {
	return one(q.QueryRowContext(ctx, `SELECT `+threadColumns+` FROM threads WHERE id = $1`, id), "thread "+string(id), scanThread)
}

// Threads lists every thread, the one that changed last first.
func (s *Store) Threads(ctx context.Context) ([]Thread, error) {
	return list(ctx, s, "list threads", scanThread,
		`SELECT `+threadColumns+` FROM threads ORDER BY updated_at DESC, seq DESC`)
}

// LastThreadIn reads the thread of this host's tree that changed last and is
// not archived, or ErrNotFound.
func (s *Store) LastThreadIn(ctx context.Context, tree string) (Thread, error) {
	return single(ctx, s, "last thread in "+tree, scanThread, `SELECT `+threadColumns+` FROM threads
		WHERE host = $1 AND tree = $2 AND NOT archived ORDER BY updated_at DESC, seq DESC LIMIT 1`, s.d.Host, []byte(tree))
}

// Mine refuses a thread of another host with ErrElsewhere.
func (s *Store) Mine(t Thread) error {
	if t.Host != s.d.Host {
		return fmt.Errorf("thread %s is served by %s: %w", t.ID, t.Host, ErrElsewhere)
	}
	return nil
}
