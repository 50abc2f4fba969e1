-- The run that a message was added to while it ran; '' is none. It ends as that
-- run's message does.
ALTER TABLE messages ADD COLUMN steers TEXT NOT NULL DEFAULT '';

CREATE INDEX messages_steers ON messages (steers) WHERE steers <> '';
