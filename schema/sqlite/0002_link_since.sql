-- When a customer was first said to be the user: a link that is told again with every event has no other beginning.
ALTER TABLE link ADD COLUMN first_at INTEGER NOT NULL DEFAULT 0;
UPDATE link SET first_at = at;
