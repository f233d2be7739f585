-- What is to be asked of a provider, or sent to it, and must not be forgotten. kind 0: a delivery said that something has
-- changed, and what it is has to be read (key: the event's id, body: the delivery); kind 1: something to send (key and body: the
-- request; an id is never used again). A row goes away in the transaction that makes it needless.
CREATE TABLE provider_task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    provider TEXT NOT NULL,
    kind INTEGER NOT NULL,
    key TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    UNIQUE (provider, kind, key)
) STRICT;
CREATE INDEX provider_task_due ON provider_task (next_at);
