-- A team's run: all of its state, and whether anything is to happen in it by
-- itself. It is written over the version that was read, like a run.
CREATE TABLE teams (
	thread     TEXT PRIMARY KEY REFERENCES threads (id),
	is_open    BOOLEAN NOT NULL,
	body       TEXT NOT NULL,
	updated_at BIGINT NOT NULL,
	version    BIGINT NOT NULL CHECK (version > 0)
);

CREATE INDEX teams_open ON teams (thread) WHERE is_open;
