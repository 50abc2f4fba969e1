-- Times are unix milliseconds; 0 is no time. JSON is text. What people wrote,
-- and paths, are bytes: they may hold anything. The words in phase, claim, kind,
-- mode, posture and status are those of the packages that decide on them.

-- What this database is told about itself, such as how far the tables of the
-- job queue are.
CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT;

CREATE TABLE threads (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE CHECK (id <> ''),
	dir        BLOB NOT NULL,
	tree       BLOB NOT NULL,
	title      BLOB NOT NULL,
	mode       TEXT NOT NULL,
	chain      TEXT NOT NULL,
	policy     TEXT NOT NULL,
	archived   INTEGER NOT NULL CHECK (archived IN (0, 1)),
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX threads_tree ON threads (tree, updated_at);

CREATE TABLE messages (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE CHECK (id <> ''),
	thread     TEXT NOT NULL REFERENCES threads (id),
	kind       TEXT NOT NULL,
	sender     TEXT NOT NULL,
	text       BLOB NOT NULL,
	uuid       TEXT NOT NULL,
	at         INTEGER NOT NULL,
	opener     INTEGER NOT NULL CHECK (opener IN (0, 1)),
	status     TEXT NOT NULL,
	settlement TEXT NOT NULL,
	settled_at INTEGER NOT NULL
) STRICT;

CREATE INDEX messages_thread ON messages (thread, seq);

CREATE TABLE runs (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE CHECK (id <> ''),
	thread     TEXT NOT NULL REFERENCES threads (id),
	message    TEXT NOT NULL REFERENCES messages (id),
	after      TEXT NOT NULL,
	phase      TEXT NOT NULL,
	claim      TEXT NOT NULL,
	engine     TEXT NOT NULL,
	is_open    INTEGER NOT NULL CHECK (is_open IN (0, 1)),
	body       TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	version    INTEGER NOT NULL CHECK (version > 0)
) STRICT;

CREATE INDEX runs_thread ON runs (thread, seq);
CREATE INDEX runs_message ON runs (message, seq);
CREATE INDEX runs_open ON runs (seq) WHERE is_open;

-- A claim is performed once because its run's version is compared. This holds
-- the same line a second time: no run has two successors.
CREATE UNIQUE INDEX runs_after ON runs (after) WHERE after <> '';

CREATE TABLE decisions (
	seq    INTEGER PRIMARY KEY,
	thread TEXT NOT NULL REFERENCES threads (id),
	run    TEXT NOT NULL,
	at     INTEGER NOT NULL,
	body   TEXT NOT NULL
) STRICT;

CREATE INDEX decisions_thread ON decisions (thread, seq);
CREATE INDEX decisions_run ON decisions (run, seq);

CREATE TABLE items (
	thread TEXT NOT NULL REFERENCES threads (id),
	seq    INTEGER NOT NULL,
	run    TEXT NOT NULL,
	kind   TEXT NOT NULL,
	body   TEXT NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (thread, seq)
) STRICT;

CREATE TABLE limits (
	engine  TEXT PRIMARY KEY,
	body    TEXT NOT NULL,
	seen_at INTEGER NOT NULL
) STRICT;

CREATE TABLE accounts (
	name      TEXT PRIMARY KEY,
	harness   TEXT NOT NULL,
	version   TEXT NOT NULL,
	signed_in INTEGER NOT NULL CHECK (signed_in IN (0, 1)),
	posture   TEXT NOT NULL,
	note      TEXT NOT NULL,
	stamp     TEXT NOT NULL,
	seen_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE unknown_frames (
	harness TEXT NOT NULL,
	version TEXT NOT NULL,
	frame   TEXT NOT NULL,
	count   INTEGER NOT NULL,
	last_at INTEGER NOT NULL,
	PRIMARY KEY (harness, version, frame)
) STRICT;
