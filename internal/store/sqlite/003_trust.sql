-- Which project files of a tree its user has agreed to, by their digest.
CREATE TABLE trust (
	tree   BLOB NOT NULL,
	digest TEXT NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (tree, digest)
) STRICT, WITHOUT ROWID;
