-- Several servers may share a database that stands on its own, and each keeps to
-- its own host. A file has one host, whose name is empty.
ALTER TABLE threads ADD COLUMN host TEXT NOT NULL DEFAULT '';

-- What a program said of its account, and where it refused to serve, was said on
-- one host: another one may be signed in to another account of the same name.
CREATE TABLE limits_5 (
	host    TEXT NOT NULL,
	engine  TEXT NOT NULL,
	body    TEXT NOT NULL,
	seen_at INTEGER NOT NULL,
	PRIMARY KEY (host, engine)
) STRICT;
INSERT INTO limits_5 (host, engine, body, seen_at) SELECT '', engine, body, seen_at FROM limits;
DROP TABLE limits;
ALTER TABLE limits_5 RENAME TO limits;

CREATE TABLE accounts_5 (
	host      TEXT NOT NULL,
	name      TEXT NOT NULL,
	harness   TEXT NOT NULL,
	version   TEXT NOT NULL,
	signed_in INTEGER NOT NULL CHECK (signed_in IN (0, 1)),
	posture   TEXT NOT NULL,
	note      TEXT NOT NULL,
	stamp     TEXT NOT NULL,
	seen_at   INTEGER NOT NULL,
	PRIMARY KEY (host, name)
) STRICT;
INSERT INTO accounts_5 (host, name, harness, version, signed_in, posture, note, stamp, seen_at)
	SELECT '', name, harness, version, signed_in, posture, note, stamp, seen_at FROM accounts;
DROP TABLE accounts;
ALTER TABLE accounts_5 RENAME TO accounts;

-- The same path is another tree on another host.
CREATE TABLE trust_5 (
	host   TEXT NOT NULL,
	tree   BLOB NOT NULL,
	digest TEXT NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (host, tree, digest)
) STRICT, WITHOUT ROWID;
INSERT INTO trust_5 (host, tree, digest, at) SELECT '', tree, digest, at FROM trust;
DROP TABLE trust;
ALTER TABLE trust_5 RENAME TO trust;
