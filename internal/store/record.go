package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
)

// Item is something that was said or done in a thread.
type Item struct {
	Seq    int64             `json:"seq"` // counts from 1 within the thread; set by the store
	Thread paceline.ThreadID `json:"thread"`
	Run    paceline.RunID    `json:"run,omitempty"`
	Kind   string            `json:"kind"` // text, tool, file, announcement, approval, ...
	Body   json.RawMessage   `json:"body"`
	At     time.Time         `json:"at"`
}

func scanItem(row scanner) (Item, error) {
	var it Item
	var body JSON[json.RawMessage]
	var at Millis
	err := row.Scan(&it.Seq, &it.Thread, &it.Run, &it.Kind, &body, &at)
	it.Body, it.At = body.V, at.Time
	return it, err
}

func scanDecision(row scanner) (run.Decision, error) {
	var body JSON[run.Decision]
	err := row.Scan(&body)
	return body.V, err
}

// AddDecision records a choice. Its run may be empty: a message that nobody can
// take has none.
func (t *Tx) AddDecision(ctx context.Context, thread paceline.ThreadID, d run.Decision) error {
	_, err := t.tx.ExecContext(ctx, `INSERT INTO decisions (thread, run, at, body) VALUES ($1, $2, $3, $4)`,
		thread, d.Run, Millis{d.At}, JSON[run.Decision]{d})
	if err != nil {
		return fmt.Errorf("add decision on %s: %w", d.Run, err)
	}
	return nil
}

// Decisions lists a thread's decisions, oldest first.
func (s *Store) Decisions(ctx context.Context, id paceline.ThreadID) ([]run.Decision, error) {
	return list(ctx, s, "list decisions of "+string(id), scanDecision,
		`SELECT body FROM decisions WHERE thread = $1 ORDER BY seq`, id)
}

// RunDecisions lists a run's decisions, oldest first.
func (s *Store) RunDecisions(ctx context.Context, id paceline.RunID) ([]run.Decision, error) {
	return list(ctx, s, "list decisions of "+string(id), scanDecision,
		`SELECT body FROM decisions WHERE run = $1 ORDER BY seq`, id)
}

// AddItem adds an item at the end of its thread.
func (t *Tx) AddItem(ctx context.Context, it Item) error { return t.AddItems(ctx, []Item{it}) }

// AddItems adds items in their order, each at the end of its thread. Whoever
// has many adds them in one call: a commit costs more than a row.
func (t *Tx) AddItems(ctx context.Context, items []Item) error {
	for _, it := range items {
		if len(it.Body) == 0 {
			it.Body = json.RawMessage("{}")
		}
		_, err := t.tx.ExecContext(ctx, `INSERT INTO items (seq, thread, run, kind, body, at)
			VALUES ((SELECT COALESCE(MAX(seq), 0) + 1 FROM items WHERE thread = $1), $1, $2, $3, $4, $5)`,
			it.Thread, it.Run, it.Kind, JSON[json.RawMessage]{it.Body}, Millis{it.At})
		if err != nil {
			return fmt.Errorf("add %s to %s: %w", it.Kind, it.Thread, err)
		}
	}
	return nil
}

// Items lists what a thread holds after a number; 0 is all of it.
func (s *Store) Items(ctx context.Context, id paceline.ThreadID, after int64) ([]Item, error) {
	return list(ctx, s, "list items of "+string(id), scanItem,
		`SELECT seq, thread, run, kind, body, at FROM items WHERE thread = $1 AND seq > $2 ORDER BY seq`, id, after)
}

// Head is an item without its body.
type Head struct {
	Seq  int64
	Run  paceline.RunID
	Kind string
	Size int             // of its body, in bytes
	Body json.RawMessage // of a result only: it is small, and says how a call ended
}

func scanHead(row scanner) (Head, error) {
	var h Head
	var body string
	err := row.Scan(&h.Seq, &h.Run, &h.Kind, &h.Size, &body)
	if body != "" {
		h.Body = json.RawMessage(body)
	}
	return h, err
}

// Heads lists what a thread holds without reading it: a thread may hold more
// than memory should.
func (s *Store) Heads(ctx context.Context, id paceline.ThreadID) ([]Head, error) {
	return list(ctx, s, "list heads of "+string(id), scanHead,
		`SELECT seq, run, kind, octet_length(body), CASE WHEN kind = 'result' THEN body ELSE '' END FROM items WHERE thread = $1 ORDER BY seq`, id)
}

// Item reads one item of a thread by its number, or ErrNotFound.
func (s *Store) Item(ctx context.Context, id paceline.ThreadID, seq int64) (Item, error) {
	return single(ctx, s, fmt.Sprintf("item %d of %s", seq, id), scanItem,
		`SELECT seq, thread, run, kind, body, at FROM items WHERE thread = $1 AND seq = $2`, id, seq)
}

// RunItems lists what one run of a thread said and did.
func (s *Store) RunItems(ctx context.Context, id paceline.ThreadID, run paceline.RunID) ([]Item, error) {
	return list(ctx, s, "list items of "+string(run), scanItem,
		`SELECT seq, thread, run, kind, body, at FROM items WHERE thread = $1 AND run = $2 ORDER BY seq`, id, run)
}

// RunItem reads the latest item of that kind of a run, or ErrNotFound.
func (s *Store) RunItem(ctx context.Context, id paceline.ThreadID, run paceline.RunID, kind string) (Item, error) {
	return single(ctx, s, kind+" of "+string(run), scanItem, `SELECT seq, thread, run, kind, body, at FROM items
		WHERE thread = $1 AND run = $2 AND kind = $3 ORDER BY seq DESC LIMIT 1`, id, run, kind)
}
