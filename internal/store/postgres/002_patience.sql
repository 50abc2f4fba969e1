-- How long a message may wait for an engine to come back, in milliseconds; 0 is
-- for as long as it takes, negative is not at all.
ALTER TABLE messages ADD COLUMN patience BIGINT NOT NULL DEFAULT 0;
