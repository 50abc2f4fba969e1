// Package postgres opens a store in a PostgreSQL database that is named by its
// URL. Several servers may share it, each with threads of its own host. It owns
// the connections, the migrations, and the names of what can be wrong.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/paceline/paceline/internal/store"
)

// ErrNothing: the database holds no store yet.
var ErrNothing = errors.New("nothing recorded yet")

// Options changes how a store is opened. The zero value is right but for Host.
type Options struct {
	// Host is whose threads are served.
	Host string
	// Busy is how long to wait for other transactions, and at the opening for
	// another program that changes the tables; 0 is 10 s.
	Busy time.Duration
	// Outage is how long a database that went away is waited for, by a store that
	// serves; 0 is 10 min, which outlasts a restart, a failover and a small
	// upgrade. One that is only read is never waited for: a person is.
	Outage time.Duration
}

const (
	busy     = 10 * time.Second
	outage   = 10 * time.Minute
	reaching = 5 * time.Second // to reach the database once
	most     = 8               // connections of one server, its listener aside
)

// Open opens the store for a process that serves, and makes or migrates its
// tables where needed. What people must be told is a *store.Trouble, which never
// holds the URL's password.
func Open(ctx context.Context, url string, o Options) (*store.Store, error) {
	if o.Busy <= 0 {
		o.Busy = busy
	}
	if o.Outage <= 0 {
		o.Outage = outage
	}
	d, err := parse(url)
	if err != nil {
		return nil, err
	}
	if err := d.migrate(ctx, o.Busy); err != nil {
		return nil, d.troubled(err)
	}
	pool, db, err := d.join(ctx, o.Busy)
	if err != nil {
		return nil, d.troubled(err)
	}
	s := d.dialect(o, db)
	s.Write, s.Native, s.Outage = db, pool, o.Outage
	s.Close = func() error { pool.Close(); return nil }
	return store.New(s), nil
}

// OpenRead opens the store for a command that only reads: nothing is made,
// migrated or written. It returns ErrNothing where there is no store.
func OpenRead(ctx context.Context, url string, o Options) (*store.Store, error) {
	d, err := parse(url)
	if err != nil {
		return nil, err
	}
	d.config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	pool, db, err := d.connect(ctx, nil)
	if err != nil {
		return nil, d.troubled(err)
	}
	v, err := versionsOf(ctx, db)
	if err == nil {
		err = v.readable()
	}
	if err != nil {
		db.Close()
		pool.Close()
		return nil, d.troubled(err)
	}
	s := d.dialect(o, db)
	s.Close = func() error { pool.Close(); return nil }
	return store.New(s), nil
}

// database is what a URL names.
type database struct {
	config *pgxpool.Config
	name   string // as people may see it
}

// Named is as much of a URL as may be seen: who, where and which, and never the
// password nor an option, which may be one.
func Named(text string) string {
	d, err := parse(text)
	if err != nil {
		return "a PostgreSQL database"
	}
	return d.name
}

// parse reads a URL. What is wrong with it is not repeated, since a password may
// be what was mistaken for something else.
func parse(text string) (database, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return database{}, badURL()
	}
	c, err := pgxpool.ParseConfig(text)
	if err != nil {
		return database{}, badURL()
	}
	c.MaxConns = most
	if c.ConnConfig.ConnectTimeout <= 0 || c.ConnConfig.ConnectTimeout > time.Minute {
		c.ConnConfig.ConnectTimeout = reaching
	}
	if c.ConnConfig.RuntimeParams["application_name"] == "" {
		c.ConnConfig.RuntimeParams["application_name"] = "paceline"
	}
	c.ConnConfig.DialFunc = dialer().DialContext
	return database{c, fmt.Sprintf("postgres://%s@%s/%s", c.ConnConfig.User, c.ConnConfig.Host, c.ConnConfig.Database)}, nil
}

func badURL() error {
	return &store.Trouble{
		Kind: store.Unusable, Path: "of store.url", Err: errors.New("the URL is not one of a PostgreSQL database"),
		Hint: "write it as postgres://USER@HOST:5432/DATABASE, with % codes for what is no letter in a password",
	}
}

// connect opens the pool. ready is asked of each connection before it is used.
func (d database) connect(ctx context.Context, ready func(context.Context, *pgx.Conn) error) (*pgxpool.Pool, *sql.DB, error) {
	d.config.AfterConnect = ready
	pool, err := pgxpool.NewWithConfig(ctx, d.config)
	if err != nil {
		return nil, nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, nil, err
	}
	return pool, stdlib.OpenDBFromPool(pool), nil
}

// join opens the pool of a server. Another one that starts as well may have the
// tables for itself for a moment, to find that there is nothing to do.
func (d database) join(ctx context.Context, patience time.Duration) (*pgxpool.Pool, *sql.DB, error) {
	for deadline := time.Now().Add(patience); ; {
		pool, db, err := d.connect(ctx, joining)
		if !errors.Is(err, errChanging) || time.Now().After(deadline) {
			return pool, db, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (d database) dialect(o Options, db *sql.DB) store.Dialect {
	m := &marks{db: db}
	return store.Dialect{
		Path: d.name, Read: db, Host: o.Host, Busy: again, Patience: o.Busy, Lost: lost, Mark: m.mark, Fate: m.fate,
		Explain: d.explain,
		// What is decided in a transaction rests on what was read in it, as in a
		// file that has one writer. Whoever comes second begins again.
		Begin: &sql.TxOptions{Isolation: sql.LevelSerializable},
	}
}
