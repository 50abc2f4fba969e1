-- A team's run: all of its state, and whether anything is to happen in it by
-- itself. It is written over the version that was read, like a run.
CREATE TABLE teams (
	thread     TEXT PRIMARY KEY REFERENCES threads (id),
	is_open    INTEGER NOT NULL CHECK (is_open IN (0, 1)),
	body       TEXT NOT NULL,
	updated_at INTEGER NOT NULL,
	version    INTEGER NOT NULL CHECK (version > 0)
) STRICT;

CREATE INDEX teams_open ON teams (thread) WHERE is_open;
