-- Who is to be told what, and when the clock alone changes an answer.

-- `judged_at`: the moment at which the answer that was told last was judged; 0: the moment of the row itself.
-- `turns_at`: the next moment after it at which the clock alone changes an answer; null: never; 0: not worked out yet.
-- `sequence`: place of the row's last change among all changes of all rows, from the same counter as the versions.
ALTER TABLE subscription ADD COLUMN judged_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE subscription ADD COLUMN turns_at INTEGER DEFAULT 0;
ALTER TABLE subscription ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
UPDATE subscription SET sequence = version;
CREATE INDEX subscription_turns ON subscription (turns_at) WHERE turns_at IS NOT NULL;

-- Messages to the seller's own systems, once for each receiver, in the transaction that changed the row. `body` is the
-- change. Of one user only the earliest waiting message has a `next_at`; the others wait behind it. A message that was
-- given up keeps its place with `dead_at`. `is_last`: the person is erased; this message goes with them.
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    receiver TEXT NOT NULL,
    user_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    body BLOB NOT NULL,
    is_last INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    failed_at INTEGER,
    next_at INTEGER,
    dead_at INTEGER,
    reason TEXT
) STRICT;
CREATE INDEX outbox_due ON outbox (receiver, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX outbox_of_user ON outbox (receiver, user_id, seq) WHERE dead_at IS NULL;
CREATE INDEX outbox_dead ON outbox (seq) WHERE dead_at IS NOT NULL;
CREATE INDEX outbox_message ON outbox (message_id);

-- Receivers that do not answer, and since when.
CREATE TABLE failing_receiver (
    receiver TEXT PRIMARY KEY,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
