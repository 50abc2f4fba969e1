package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paceline/paceline/internal/store"
)

// Codes that the database gives, and classes of them, which are their first two
// letters.
const (
	serialization = "40001" // somebody else wrote what this one read
	deadlock      = "40P01"
	lockTaken     = "55P03"
	duplicate     = "23505"
	readOnly      = "25006" // the one that leads now is another one
	tooMany       = "53300"
	diskFull      = "53100"
	futureMark    = "22023" // it never came to that transaction
	noDatabase    = "3D000"
	noFunction    = "42883"

	classConnection   = "08"
	classAuth         = "28"
	classIntervention = "57" // it is being shut down, or is only starting
	classPrivilege    = "42501"
)

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// again reports an error that goes away when the transaction is begun again.
func again(err error) bool {
	switch code(err) {
	case serialization, deadlock, lockTaken:
		return true
	case duplicate:
		// Two took the same place at the end of a thread: a collision of reads that
		// the database notices too late to call it one.
		var e *pgconn.PgError
		return errors.As(err, &e) && e.ConstraintName == "items_pkey"
	}
	return false
}

// lost reports that the database was not reached, or went away.
func lost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, errNewer) || errors.Is(err, errOlder) {
		return false
	}
	switch c := code(err); {
	case c == "":
	case c == readOnly, c == tooMany, strings.HasPrefix(c, classConnection):
		return true
	case strings.HasPrefix(c, classIntervention):
		return c != "57014" // a query that was cancelled
	default:
		return false
	}
	var refused *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &refused) || errors.As(err, &network) || pgconn.SafeToRetry(err) || errors.Is(err, errChanging) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// marks name transactions, so that the database still knows after a restart what
// became of one: by its number, and by a row that it alone wrote, since a crash
// has the database give the numbers of what it lost to others.
type marks struct {
	db   *sql.DB
	made atomic.Int64
}

// tidying is how many transactions of a server there are between two clearings
// of the names that nobody can still ask for.
const tidying = 10_000

// mark names a transaction that has just begun.
func (m *marks) mark(ctx context.Context, tx *sql.Tx) (string, error) {
	if m.made.Add(1)%tidying == 1 {
		// Outside of the transaction, and of no weight: the next time does as well.
		_, _ = m.db.ExecContext(ctx, `DELETE FROM commits WHERE at < now() - INTERVAL '1 day'`)
	}
	var number, id string
	err := tx.QueryRowContext(ctx, `INSERT INTO commits DEFAULT VALUES RETURNING pg_current_xact_id()::text, id::text`).Scan(&number, &id)
	return number + " " + id, err
}

// errGoing: the transaction is not over, although its connection is.
var errGoing = fmt.Errorf("its transaction is still going on: %w", driver.ErrBadConn)

func (m *marks) fate(ctx context.Context, mark string) (store.Fate, error) {
	number, id, _ := strings.Cut(mark, " ")
	// In two questions and this order: what is over by the first one has its row
	// in the second one, or never will.
	var status sql.NullString
	err := m.db.QueryRowContext(ctx, `SELECT pg_xact_status($1::text::xid8)`, number).Scan(&status)
	switch {
	case code(err) == futureMark, err == nil && status.String == "aborted":
		return store.Undone, nil
	case err != nil:
		return store.Unknown, err
	case status.String == "in progress":
		// It may be another one that was given the number; that one ends as well.
		return store.Unknown, errGoing
	}
	var written bool
	if err := m.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM commits WHERE id = $1::text::uuid)`, id).Scan(&written); err != nil {
		return store.Unknown, err
	}
	switch {
	case written:
		return store.Committed, nil
	case status.String == "committed":
		return store.Undone, nil
	}
	return store.Unknown, nil
}

// troubled is an error of opening as people are told it.
func (d database) troubled(err error) error {
	var known *store.Trouble
	if err == nil || errors.Is(err, ErrNothing) || errors.As(err, &known) {
		return err
	}
	if t := d.explain(err); t != nil {
		return t
	}
	return d.without(err)
}

// explain names what is wrong with the database. It returns nil for what is a
// fault of ours.
func (d database) explain(err error) *store.Trouble {
	t := func(kind store.TroubleKind, hint string) *store.Trouble {
		return &store.Trouble{Kind: kind, Path: d.name, Err: d.without(err), Hint: hint}
	}
	switch c := code(err); {
	case errors.Is(err, errNewer):
		return t(store.Newer, "update paceline; this version leaves the tables untouched")
	case errors.Is(err, errOlder):
		return t(store.Unusable, "start a paceline server of this version, which brings the tables up to date")
	case errors.Is(err, errChanging), again(err):
		return t(store.Locked, "stop the other paceline servers of this database (`paceline server stop` on their hosts), or try again later")
	case c == diskFull:
		return t(store.Full, "make room on the database's disk and try again; nothing that was recorded is lost")
	case strings.HasPrefix(c, classAuth):
		return t(store.Refused, "look at the user and the password in store.url, and at the database's pg_hba.conf")
	case c == noDatabase:
		return t(store.Refused, "create the database, or name another one in store.url")
	case c == classPrivilege:
		return t(store.Refused, "grant this user CREATE on the schema, or name another user in store.url")
	case c == noFunction:
		return t(store.Unusable, "use PostgreSQL 13 or newer")
	case lost(err):
		return t(store.Lost, "see that the database runs and is reached from here, and try again; nothing that was recorded is lost")
	}
	return nil
}

// without makes sure that no error says the password, whoever wrote it.
func (d database) without(err error) error {
	secret := d.config.ConnConfig.Password
	if secret == "" || err == nil || !strings.Contains(err.Error(), secret) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), secret, "…"))
}
