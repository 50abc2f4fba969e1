-- How each route stands, as runs found it. The version is what a trial is claimed
-- by: of two that read the same row, one writes it.
CREATE TABLE health (
	host    TEXT NOT NULL,
	route   TEXT NOT NULL,
	version INTEGER NOT NULL,
	body    TEXT NOT NULL,
	PRIMARY KEY (host, route)
) STRICT;
