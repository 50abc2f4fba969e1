-- What clients are told, in the order in which they are told it. epoch counts
-- the servers: after a crash the next one carries the numbers on from what was
-- on disk, and a client may have seen more than that.
CREATE TABLE events (
	thread TEXT NOT NULL REFERENCES threads (id),
	seq    INTEGER NOT NULL CHECK (seq > 0),
	epoch  INTEGER NOT NULL CHECK (epoch > 0),
	body   TEXT NOT NULL,
	PRIMARY KEY (thread, seq)
) STRICT, WITHOUT ROWID;

-- The variables that a thread's children get, without those that are secret.
ALTER TABLE threads ADD COLUMN env TEXT NOT NULL DEFAULT '[]';

-- What a server that starts has to carry on.
CREATE INDEX messages_open ON messages (thread) WHERE status = 'open';
