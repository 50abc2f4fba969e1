-- What the user asked of a thread's seat: where it is to move, where it is at
-- home, that it rests.
ALTER TABLE threads ADD COLUMN seat TEXT NOT NULL DEFAULT '{}';
