-- A server that loses its connection while it commits must find out what became
-- of that. A transaction's number alone does not tell: after a crash of the
-- database the number of one that was lost is given to another, which may commit.
-- So each transaction leaves a name of its own, and it stands here or it did not
-- happen. They are cleared away after a day.
CREATE TABLE commits (
	id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
	at TIMESTAMPTZ NOT NULL DEFAULT now()
);
