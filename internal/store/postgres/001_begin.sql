-- Times are unix milliseconds; 0 is no time. JSON is text: as JSONB it would come
-- back changed, and could not hold every character that people write. What people
-- wrote, and paths, are bytes: they may hold anything. The words in phase, claim,
-- kind, mode, posture and status are those of the packages that decide on them.

-- What this database is told about itself, such as how far the tables of the
-- job queue are.
CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
);

-- host is whose thread it is: several servers share this database.
CREATE TABLE threads (
	seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE CHECK (id <> ''),
	host       TEXT NOT NULL,
	dir        BYTEA NOT NULL,
	tree       BYTEA NOT NULL,
	title      BYTEA NOT NULL,
	mode       TEXT NOT NULL,
	chain      TEXT NOT NULL,
	policy     TEXT NOT NULL,
	env        TEXT NOT NULL,
	archived   BOOLEAN NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);

CREATE INDEX threads_tree ON threads (host, tree, updated_at);

CREATE TABLE messages (
	seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE CHECK (id <> ''),
	thread     TEXT NOT NULL REFERENCES threads (id),
	kind       TEXT NOT NULL,
	sender     TEXT NOT NULL,
	text       BYTEA NOT NULL,
	uuid       TEXT NOT NULL,
	at         BIGINT NOT NULL,
	opener     BOOLEAN NOT NULL,
	status     TEXT NOT NULL,
	settlement TEXT NOT NULL,
	settled_at BIGINT NOT NULL,
	-- The run that it was added to while that ran; '' is none. It ends as that
	-- run's message does.
	steers     TEXT NOT NULL
);

CREATE INDEX messages_thread ON messages (thread, seq);
CREATE INDEX messages_steers ON messages (steers) WHERE steers <> '';
-- What a server that starts has to carry on.
CREATE INDEX messages_open ON messages (thread) WHERE status = 'open';

CREATE TABLE runs (
	seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE CHECK (id <> ''),
	thread     TEXT NOT NULL REFERENCES threads (id),
	message    TEXT NOT NULL REFERENCES messages (id),
	after      TEXT NOT NULL,
	phase      TEXT NOT NULL,
	claim      TEXT NOT NULL,
	engine     TEXT NOT NULL,
	is_open    BOOLEAN NOT NULL,
	body       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	version    BIGINT NOT NULL CHECK (version > 0)
);

CREATE INDEX runs_thread ON runs (thread, seq);
CREATE INDEX runs_message ON runs (message, seq);
CREATE INDEX runs_open ON runs (seq) WHERE is_open;

-- A claim is performed once because its run's version is compared. This holds
-- the same line a second time: no run has two successors.
CREATE UNIQUE INDEX runs_after ON runs (after) WHERE after <> '';

CREATE TABLE decisions (
	seq    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	thread TEXT NOT NULL REFERENCES threads (id),
	run    TEXT NOT NULL,
	at     BIGINT NOT NULL,
	body   TEXT NOT NULL
);

CREATE INDEX decisions_thread ON decisions (thread, seq);
CREATE INDEX decisions_run ON decisions (run, seq);

CREATE TABLE items (
	thread TEXT NOT NULL REFERENCES threads (id),
	seq    BIGINT NOT NULL,
	run    TEXT NOT NULL,
	kind   TEXT NOT NULL,
	body   TEXT NOT NULL,
	at     BIGINT NOT NULL,
	PRIMARY KEY (thread, seq)
);

-- What clients are told, in the order in which they are told it. epoch counts
-- the servers: after a crash the next one carries the numbers on from what was
-- on record, and a client may have seen more than that.
CREATE TABLE events (
	thread TEXT NOT NULL REFERENCES threads (id),
	seq    BIGINT NOT NULL CHECK (seq > 0),
	epoch  BIGINT NOT NULL CHECK (epoch > 0),
	body   TEXT NOT NULL,
	PRIMARY KEY (thread, seq)
);

-- What a program said of its account, and where it refused to serve, was said on
-- one host: another one may be signed in to another account of the same name.
CREATE TABLE limits (
	host    TEXT NOT NULL,
	engine  TEXT NOT NULL,
	body    TEXT NOT NULL,
	seen_at BIGINT NOT NULL,
	PRIMARY KEY (host, engine)
);

CREATE TABLE accounts (
	host      TEXT NOT NULL,
	name      TEXT NOT NULL,
	harness   TEXT NOT NULL,
	version   TEXT NOT NULL,
	signed_in BOOLEAN NOT NULL,
	posture   TEXT NOT NULL,
	note      TEXT NOT NULL,
	stamp     TEXT NOT NULL,
	seen_at   BIGINT NOT NULL,
	PRIMARY KEY (host, name)
);

-- Which project files of a tree its user has agreed to, by their digest.
CREATE TABLE trust (
	host   TEXT NOT NULL,
	tree   BYTEA NOT NULL,
	digest TEXT NOT NULL,
	at     BIGINT NOT NULL,
	PRIMARY KEY (host, tree, digest)
);

CREATE TABLE unknown_frames (
	harness TEXT NOT NULL,
	version TEXT NOT NULL,
	frame   TEXT NOT NULL,
	count   BIGINT NOT NULL,
	last_at BIGINT NOT NULL,
	PRIMARY KEY (harness, version, frame)
);
