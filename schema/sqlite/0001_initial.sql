-- Everything the gateway keeps, for SQLite. Numbered files are never edited after a release: a change is a new file.
-- Moments are milliseconds since 1970-01-01T00:00:00Z. Environment: 0 production, 1 sandbox.

-- Small values of the store itself: the version counter, the fingerprint of the configuration the rows were made with.
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a user and environment: what the gate reads. `body` holds the winner of each entitlement.
CREATE TABLE subscription (
    user_id TEXT NOT NULL,
    environment INTEGER NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (user_id, environment)
) STRICT, WITHOUT ROWID;

-- Every event taken in, in order of arrival; (provider, event_id) is seen once. `payload` is kept, without personal data,
-- only where the event may have to be read again.
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    event_id TEXT NOT NULL,
    type TEXT NOT NULL,
    outcome INTEGER NOT NULL,
    environment INTEGER,
    user_id TEXT,
    occurred_at INTEGER,
    received_at INTEGER NOT NULL,
    reason TEXT,
    payload BLOB
) STRICT;
CREATE UNIQUE INDEX event_seen ON event (provider, event_id);
CREATE INDEX event_of_user ON event (user_id, seq) WHERE user_id IS NOT NULL;
-- The outcomes someone has to look at: parked, unmapped, quarantined.
CREATE INDEX event_to_look_at ON event (outcome, seq) WHERE outcome >= 5;

-- A purchase and what its facts come to.
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY,
    environment INTEGER NOT NULL,
    provider TEXT NOT NULL,
    purchase_id TEXT NOT NULL,
    owner TEXT,
    outcome BLOB
) STRICT;
CREATE INDEX purchase_of_owner ON purchase (owner, environment) WHERE owner IS NOT NULL;

-- The ids a purchase is known by; two purchases that share one are joined.
CREATE TABLE external_id (
    environment INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    value TEXT NOT NULL,
    purchase INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    PRIMARY KEY (environment, namespace, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX external_id_of_purchase ON external_id (purchase);
CREATE INDEX external_id_by_value ON external_id (value);

-- What events said of a purchase. Facts keep product ids, not conclusions.
CREATE TABLE fact (
    purchase INTEGER NOT NULL,
    event INTEGER NOT NULL,
    place INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (purchase, event, place)
) STRICT, WITHOUT ROWID;

-- Statements that a customer of a provider, or an anonymous id, is a user: of each user the newest.
CREATE TABLE link (
    provider TEXT NOT NULL,
    customer TEXT NOT NULL,
    user_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (provider, customer, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_of_user ON link (user_id);

-- Statements by an administrator or an app that whatever carries this id is a user's.
CREATE TABLE claim (
    provider TEXT NOT NULL,
    external_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (provider, external_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_of_user ON claim (user_id);

-- Transfers between people, once under each id they take from.
CREATE TABLE transfer (
    from_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    environment INTEGER,
    body BLOB NOT NULL,
    PRIMARY KEY (from_id, at, event_id)
) STRICT, WITHOUT ROWID;

-- Which ids the owner of a purchase was worked out from: when one of them learns something, it is worked out again.
CREATE TABLE dependency (
    node TEXT NOT NULL,
    purchase INTEGER NOT NULL,
    PRIMARY KEY (node, purchase)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependency_of_purchase ON dependency (purchase);

-- User ids that are one person; a user without an entry is a person alone.
CREATE TABLE person (
    user_id TEXT PRIMARY KEY,
    person TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX person_members ON person (person);

-- What manual grants were asked for, to know the same request again.
CREATE TABLE manual_grant (
    user_id TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    until INTEGER,
    reason TEXT NOT NULL,
    entitlement TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (user_id, grant_id)
) STRICT, WITHOUT ROWID;

-- Erased users by a digest of their id: their version goes on growing although nothing else is known of them.
CREATE TABLE erased (
    digest BLOB NOT NULL,
    environment INTEGER NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (digest, environment)
) STRICT, WITHOUT ROWID;

-- Changes made with a key: who did what to whom.
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    action TEXT NOT NULL,
    user_id TEXT,
    detail TEXT NOT NULL
) STRICT;

-- Keys of callers, by digest: a key itself is shown once and never kept. Scope: 0 read, 1 admin.
CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    scope INTEGER NOT NULL,
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
