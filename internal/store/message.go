package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
)

// Message is a message and how it ended.
type Message struct {
	paceline.Message
	Status  run.Status     `json:"status"`
	Outcome string         `json:"outcome,omitempty"` // for people: what happened
	Hint    string         `json:"hint,omitempty"`    // what to try
	Reset   paceline.Reset `json:"reset,omitzero"`    // when it could go on
	Settled time.Time      `json:"settled,omitzero"`  // zero while it is open
	// Steers is the run that it was added to while it ran. It ends as that run's
	// message does.
	Steers paceline.RunID `json:"steers,omitempty"`
}

// settlement is what a row keeps of a run.Settle besides its status.
type settlement struct {
	Text  string         `json:"text,omitempty"`
	Hint  string         `json:"hint,omitempty"`
	Reset paceline.Reset `json:"reset,omitzero"`
}

const messageColumns = `id, thread, kind, sender, text, uuid, at, opener, status, settlement, settled_at, steers, patience`

func scanMessage(row scanner) (Message, error) {
	var m Message
	var text []byte
	var at, settled Millis
	var patience int64
	var end JSON[settlement]
	err := row.Scan(&m.ID, &m.Thread, word{&m.Kind}, &m.Sender, &text, &m.UUID, &at, &m.Opener, word{&m.Status}, &end, &settled, &m.Steers, &patience)
	m.Text, m.At, m.Settled = string(text), at.Time, settled.Time
	m.Patience = time.Duration(patience) * time.Millisecond
	m.Outcome, m.Hint, m.Reset = end.V.Text, end.V.Hint, end.V.Reset
	return m, err
}

// AddMessage accepts a message once. Where its id was accepted before, nothing
// changes, and the row of then is returned with accepted false.
func (t *Tx) AddMessage(ctx context.Context, m paceline.Message) (row Message, accepted bool, err error) {
	return t.addMessage(ctx, m, "")
}

// AddSteer accepts a message, once, that is added to a run while it runs.
func (t *Tx) AddSteer(ctx context.Context, m paceline.Message, to paceline.RunID) (row Message, accepted bool, err error) {
	return t.addMessage(ctx, m, to)
}

// Unsteer makes a steer that its run did not take an ordinary message, which
// waits for its turn.
func (t *Tx) Unsteer(ctx context.Context, id paceline.MessageID) error {
	_, err := t.tx.ExecContext(ctx, `UPDATE messages SET steers = '', kind = $1 WHERE id = $2 AND status = $3`,
		paceline.KindPrompt.String(), id, run.Unsettled.String())
	if err != nil {
		return fmt.Errorf("queue %s: %w", id, err)
	}
	return nil
}

// Steered reports whether anything was added to a run while it ran.
func (t *Tx) Steered(ctx context.Context, id paceline.RunID) (bool, error) {
	n, err := one(t.tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM messages WHERE steers = $1`, id), "steers of "+string(id),
		func(row scanner) (n int, err error) { return n, row.Scan(&n) })
	return n > 0, err
}

// steersOf are the messages that were added to any run of the message that the
// run of $1 answers: work that was carried on elsewhere took them along.
const steersOf = `steers IN (SELECT id FROM runs WHERE message = (SELECT message FROM runs WHERE id = $1))`

// SettleSteers ends what was added to a run, or to one before it for the same
// message, as that message ended.
func (t *Tx) SettleSteers(ctx context.Context, id paceline.RunID, e run.Settle) error {
	_, err := t.tx.ExecContext(ctx, `UPDATE messages SET status = $2, settlement = $3, settled_at = $4 WHERE status = $5 AND `+steersOf,
		id, e.Status.String(), JSON[settlement]{settlement{e.Text, e.Hint, e.Reset}}, Millis{t.now}, run.Unsettled.String())
	if err != nil {
		return fmt.Errorf("settle what steered %s: %w", id, err)
	}
	return nil
}

func (t *Tx) addMessage(ctx context.Context, m paceline.Message, steers paceline.RunID) (row Message, accepted bool, err error) {
	what := "add message " + string(m.ID)
	row, err = one(t.tx.QueryRowContext(ctx, `INSERT INTO messages (`+messageColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11, $12)
		ON CONFLICT (id) DO NOTHING RETURNING `+messageColumns,
		m.ID, m.Thread, m.Kind.String(), readable(m.Sender), []byte(m.Text), m.UUID, Millis{m.At}, m.Opener,
		run.Unsettled.String(), JSON[settlement]{}, steers, patience(m.Patience)), what, scanMessage)
	if errors.Is(err, ErrNotFound) {
		row, err = t.Message(ctx, m.ID)
		return row, false, err
	}
	if err != nil {
		return row, false, err
	}
	if err := t.touch(ctx, m.Thread); err != nil {
		return row, false, fmt.Errorf("%s: %w", what, err)
	}
	return row, true, nil
}

// patience is a duration as a row keeps it. None at all stays negative however
// small it is.
func patience(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

// SettleMessage ends a message. It ends once: the first settlement stands, and
// a later one changes nothing.
func (t *Tx) SettleMessage(ctx context.Context, id paceline.MessageID, e run.Settle) error {
	ok, err := changed(t.tx.ExecContext(ctx, `UPDATE messages SET status = $1, settlement = $2, settled_at = $3
		WHERE id = $4 AND status = $5`,
		e.Status.String(), JSON[settlement]{settlement{e.Text, e.Hint, e.Reset}}, Millis{t.now}, id, run.Unsettled.String()))
	if err != nil {
		return fmt.Errorf("settle message %s: %w", id, err)
	}
	m, err := t.Message(ctx, id)
	if err != nil || !ok {
		return err
	}
	if err := t.touch(ctx, m.Thread); err != nil {
		return fmt.Errorf("settle message %s: %w", id, err)
	}
	return nil
}

// ReopenMessage takes back that a message needs a person, and that what was added
// to its runs does, and nothing else: work on it goes on.
func (t *Tx) ReopenMessage(ctx context.Context, id paceline.MessageID) error {
	ok, err := changed(t.tx.ExecContext(ctx, `UPDATE messages SET status = $1, settlement = $2, settled_at = 0
		WHERE status = $3 AND (id = $4 OR steers IN (SELECT id FROM runs WHERE message = $4))`,
		run.Unsettled.String(), JSON[settlement]{}, run.NeedPerson.String(), id))
	if err == nil && !ok {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("reopen message %s: %w", id, err)
	}
	return nil
}

// Message reads a message as the transaction sees it.
func (t *Tx) Message(ctx context.Context, id paceline.MessageID) (Message, error) {
	return message(ctx, t.tx, id)
}

// Message reads one message, or ErrNotFound.
func (s *Store) Message(ctx context.Context, id paceline.MessageID) (Message, error) {
	return reading(ctx, s, func(ctx context.Context) (Message, error) { return message(ctx, s.d.Read, id) })
}

func message(ctx context.Context, q queryer, id paceline.MessageID) (Message, error) {
	return one(q.QueryRowContext(ctx, `SELECT `+messageColumns+` FROM messages WHERE id = $1`, id), "message "+string(id), scanMessage)
}

// Messages lists a thread's messages in the order in which they were accepted.
func (s *Store) Messages(ctx context.Context, id paceline.ThreadID) ([]Message, error) {
	return list(ctx, s, "list messages of "+string(id), scanMessage,
		`SELECT `+messageColumns+` FROM messages WHERE thread = $1 ORDER BY seq`, id)
}

// Unsettled lists this host's threads in which a message is open, the oldest such
// message first.
func (s *Store) Unsettled(ctx context.Context) ([]paceline.ThreadID, error) {
	return list(ctx, s, "list open threads", func(row scanner) (id paceline.ThreadID, err error) {
		return id, row.Scan(&id)
	}, `SELECT messages.thread FROM messages JOIN threads ON threads.id = messages.thread
		WHERE messages.status = '`+run.Unsettled.String()+`' AND threads.host = $1
		GROUP BY messages.thread ORDER BY MIN(messages.seq)`, s.d.Host)
}
