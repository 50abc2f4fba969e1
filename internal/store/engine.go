package store

import (
	"context"
	"fmt"
	"time"

	"github.com/paceline/paceline"
)

// HoldLimit keeps what an engine reported about its exhaustion, for every
// process of this host: another one may be signed in to another account of the
// same name. What was seen last stands, in whichever order it is written.
func (t *Tx) HoldLimit(ctx context.Context, l paceline.Limit) error {
	_, err := t.tx.ExecContext(ctx, `INSERT INTO limits (host, engine, body, seen_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (host, engine) DO UPDATE SET body = excluded.body, seen_at = excluded.seen_at
		WHERE excluded.seen_at >= limits.seen_at`,
		t.host, l.Engine.String(), JSON[paceline.Limit]{l}, Millis{l.Seen})
	if err != nil {
		return fmt.Errorf("hold a limit against %s: %w", l.Engine, err)
	}
	return nil
}

// LiftLimit drops what is held against an engine. Nothing held is no error.
func (t *Tx) LiftLimit(ctx context.Context, e paceline.Engine) error {
	if _, err := t.tx.ExecContext(ctx, `DELETE FROM limits WHERE host = $1 AND engine = $2`, t.host, e.String()); err != nil {
		return fmt.Errorf("lift the limit of %s: %w", e, err)
	}
	return nil
}

// Limits lists what was reported of each engine on this host, by its name.
// Whether it still holds is not decided here.
func (s *Store) Limits(ctx context.Context) ([]paceline.Limit, error) {
	return list(ctx, s, "list limits", func(row scanner) (paceline.Limit, error) {
		var body JSON[paceline.Limit]
		err := row.Scan(&body)
		return body.V, err
	}, `SELECT body FROM limits WHERE host = $1 ORDER BY engine`, s.d.Host)
}

// AccountRow is what a program said of its account.
type AccountRow struct {
	Name     string           `json:"name"`
	Harness  string           `json:"harness"`
	Version  string           `json:"version,omitempty"` // of the program
	SignedIn bool             `json:"signed_in"`
	Posture  paceline.Posture `json:"posture"`
	Note     string           `json:"note,omitempty"`  // why it cannot serve; "" when it can
	Stamp    string           `json:"stamp,omitempty"` // of the files that this rests on
	Seen     time.Time        `json:"seen"`
}

const accountColumns = `name, harness, version, signed_in, posture, note, stamp, seen_at`

// PutAccount keeps what was last seen of an account.
func (t *Tx) PutAccount(ctx context.Context, a AccountRow) error {
	_, err := t.tx.ExecContext(ctx, `INSERT INTO accounts (`+accountColumns+`, host) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (host, name) DO UPDATE SET harness = excluded.harness, version = excluded.version,
		signed_in = excluded.signed_in, posture = excluded.posture, note = excluded.note, stamp = excluded.stamp,
		seen_at = excluded.seen_at`,
		a.Name, a.Harness, readable(a.Version), a.SignedIn, a.Posture.String(), readable(a.Note), readable(a.Stamp), Millis{a.Seen}, t.host)
	if err != nil {
		return fmt.Errorf("put account %s: %w", a.Name, err)
	}
	return nil
}

// Accounts lists what is known of this host's accounts, by name.
func (s *Store) Accounts(ctx context.Context) ([]AccountRow, error) {
	return list(ctx, s, "list accounts", func(row scanner) (AccountRow, error) {
		var a AccountRow
		var seen Millis
		err := row.Scan(&a.Name, &a.Harness, &a.Version, &a.SignedIn, word{&a.Posture}, &a.Note, &a.Stamp, &seen)
		a.Seen = seen.Time
		return a, err
	}, `SELECT `+accountColumns+` FROM accounts WHERE host = $1 ORDER BY name`, s.d.Host)
}

// UnknownFrame counts how often a version of a harness sent a frame that no
// rule of ours knows.
type UnknownFrame struct {
	Harness string    `json:"harness"`
	Version string    `json:"version"`
	Frame   string    `json:"frame"`
	Count   int64     `json:"count"`
	Last    time.Time `json:"last"`
}

// CountUnknown adds n to the count of an unknown frame.
func (t *Tx) CountUnknown(ctx context.Context, harness, version, frame string, n int) error {
	_, err := t.tx.ExecContext(ctx, `INSERT INTO unknown_frames (harness, version, frame, count, last_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (harness, version, frame) DO UPDATE
		SET count = unknown_frames.count + excluded.count, last_at = excluded.last_at`,
		harness, readable(version), readable(frame), n, Millis{t.now})
	if err != nil {
		return fmt.Errorf("count an unknown frame of %s: %w", harness, err)
	}
	return nil
}

// UnknownFrames lists the unknown frames by harness, version and frame.
func (s *Store) UnknownFrames(ctx context.Context) ([]UnknownFrame, error) {
	return list(ctx, s, "list unknown frames", func(row scanner) (UnknownFrame, error) {
		var u UnknownFrame
		var last Millis
		err := row.Scan(&u.Harness, &u.Version, &u.Frame, &u.Count, &last)
		u.Last = last.Time
		return u, err
	}, `SELECT harness, version, frame, count, last_at FROM unknown_frames ORDER BY harness, version, frame`)
}
