// Package store keeps threads, messages, runs, claims, decisions and limits in
// rows, and is the only place with SQL.
//
// One text of SQL serves every database: numbered parameters, RETURNING, ON
// CONFLICT, times as unix milliseconds, JSON as text. It compares ids, versions
// and times, and decides nothing: what follows from a run is decided in package
// run, and its words are stored as they are.
//
// Writing happens in InTx, one transaction at a time. A run carries a version,
// and PutRun applies only to the version that was read, so of two writers who
// read the same run one gets ErrStale. That comparison is the once-only device
// of the whole program: a claim is dispatched by whoever's PutRun lands.
//
// Reading goes through connections of its own and waits for no writer.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrStale: the row was changed, or its place taken, since it was read. Load
	// again and decide again.
	ErrStale = errors.New("changed since it was read")
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrElsewhere: the thread belongs to another host of this database.
	ErrElsewhere = errors.New("it belongs to another host")
	// ErrReadOnly: the store was opened for reading.
	ErrReadOnly = errors.New("the store was opened for reading")
)

// Dialect is what one kind of database brings along.
type Dialect struct {
	Path  string  // how people name this store
	Write *sql.DB // nil where the store was opened for reading
	Read  *sql.DB
	// Host is whose threads are served from here; "" where the database has one
	// host only.
	Host string
	// Native is what the driver itself is reached by; nil where *sql.DB is all.
	Native any
	// Begin is how a transaction is begun; nil is the database's own way. What is
	// written here relies on nobody writing in between.
	Begin *sql.TxOptions
	// Busy reports an error that goes away when the transaction is tried again.
	Busy func(error) bool
	// Patience is how long a busy store is tried again.
	Patience time.Duration
	// Lost reports that the database could not be reached, or went away before it
	// answered. nil where there is no such thing.
	Lost func(error) bool
	// Outage is how long a lost database is waited for.
	Outage time.Duration
	// Mark names the transaction, so that Fate can tell later what became of it.
	// Both are nil where a commit's error says that it did not happen.
	Mark func(context.Context, *sql.Tx) (string, error)
	Fate func(ctx context.Context, mark string) (Fate, error)
	// Explain turns an error of the database into a Trouble; nil where it is none.
	Explain func(error) *Trouble
	// Close releases what else was held; nil where nothing was.
	Close func() error
}

// Fate is what became of a transaction.
type Fate uint8

const (
	Unknown Fate = iota
	Committed
	Undone
)

// Store is an open database.
type Store struct {
	d     Dialect
	close func() error
	// hurry is closed when nobody waits for a lost database any more.
	hurry  chan struct{}
	giveUp func()
	away   atomic.Pointer[time.Time] // since when it does not answer; nil while it does
	moved  atomic.Pointer[func(error)]
}

// New returns a Store on an opened and migrated database.
func New(d Dialect) *Store {
	hurry := make(chan struct{})
	return &Store{d: d, close: sync.OnceValue(d.close), hurry: hurry, giveUp: sync.OnceFunc(func() { close(hurry) })}
}

// Path is where the store lies.
func (s *Store) Path() string { return s.d.Path }

// DB is the pool that writes, for the outbox's jobs. It is nil where the store
// was opened for reading. It may hold a single connection: whoever asks it for
// another one inside of InTx waits for ever.
func (s *Store) DB() *sql.DB { return s.d.Write }

// ReadDB is the pool that reads.
func (s *Store) ReadDB() *sql.DB { return s.d.Read }

// Host is whose threads are served from this store.
func (s *Store) Host() string { return s.d.Host }

// Native is what the database's driver is reached by, for the outbox; nil where
// DB is all.
func (s *Store) Native() any { return s.d.Native }

// Close closes the store. No transaction may be open. Closing twice is nothing.
func (s *Store) Close() error { return s.close() }

func (d Dialect) close() error {
	var errs []error
	for _, db := range []*sql.DB{d.Read, d.Write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if d.Close != nil {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// Tx is one write transaction. It is used by one goroutine, and not after InTx
// returned.
type Tx struct {
	tx   *sql.Tx
	host string
	now  time.Time // one instant for all that is written together
}

// SQL is the transaction itself, for writing the outbox's job with the rest.
func (t *Tx) SQL() *sql.Tx { return t.tx }

// InTx runs do in one transaction, which is committed if do returns nil and
// leaves nothing behind otherwise. A store that is busy or away is tried again
// for a while, so do may be called more than once and changes nothing outside.
// What is wrong with the store itself is returned as a *Trouble; a later InTx
// may succeed again.
func (s *Store) InTx(ctx context.Context, do func(*Tx) error) error {
	if s.d.Write == nil {
		return ErrReadOnly
	}
	return s.persist(ctx, func(ctx context.Context) error { return s.once(ctx, do) })
}

func (s *Store) once(ctx context.Context, do func(*Tx) error) error {
	tx, err := s.d.Write.BeginTx(ctx, s.d.Begin)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing left to roll back
	mark := ""
	if s.d.Mark != nil {
		if mark, err = s.d.Mark(ctx, tx); err != nil {
			return fmt.Errorf("begin a transaction: %w", err)
		}
	}
	if err := do(&Tx{tx: tx, host: s.d.Host, now: time.Now()}); err != nil {
		return err
	}
	err = tx.Commit()
	if err == nil {
		return nil
	}
	if mark != "" && s.lost(err) {
		landed, e := s.landed(ctx, mark)
		if landed || e != nil {
			return e
		}
	}
	return fmt.Errorf("commit: %w", err)
}

// explain names what is wrong with the store, where that is known.
func (s *Store) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var known *Trouble
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, errUnsure) {
		return &Trouble{
			Kind: Unsure, Path: s.d.Path, Err: err,
			Hint: "`paceline show` tells what is on record; the database may have been replaced by an older copy",
		}
	}
	if t := s.d.Explain(err); t != nil {
		return t
	}
	return err
}

// queryer is what a transaction and a pool have in common.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a row, alone or among others.
type scanner interface{ Scan(to ...any) error }

// one reads a single row.
func one[T any](row *sql.Row, what string, scan func(scanner) (T, error)) (T, error) {
	v, err := scan(row)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

// all reads every row of a query.
func all[T any](ctx context.Context, q queryer, what string, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}

// changed reports whether a statement changed a row.
func changed(res sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}
