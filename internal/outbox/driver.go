package outbox

import (
	"database/sql"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"github.com/paceline/paceline/internal/store"
)

// driver is how River works a store's database. PostgreSQL tells of a new job by
// itself, over a connection of its own.
func driver(st *store.Store) riverdriver.Driver[*sql.Tx] {
	if pool, ok := st.Native().(*pgxpool.Pool); ok {
		return riverdatabasesql.NewWithPgxListener(st.DB(), pool)
	}
	return riversqlite.New(st.DB())
}

// queue is the one from which a host's jobs are taken: what they act on is there
// alone.
func queue(host string) string {
	if host == "" {
		return dispatch{}.Kind()
	}
	return dispatch{}.Kind() + "-" + host
}
