-- Licences for apps that cannot sign a person in. What a licence is good for is its user's row: there is no second truth
-- here. Of a key only its SHA-256 is kept, and its last characters. Source: 0 admin, 1 imported, 2 purchase, 3 account.
CREATE TABLE license (
    id TEXT PRIMARY KEY,
    digest BLOB,
    hint TEXT,
    user_id TEXT NOT NULL,
    entitlement TEXT NOT NULL,
    max_devices INTEGER,
    source INTEGER NOT NULL,
    purchase INTEGER,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX license_by_key ON license (digest) WHERE digest IS NOT NULL;
CREATE INDEX license_of_user ON license (user_id);
CREATE INDEX license_of_purchase ON license (purchase) WHERE purchase IS NOT NULL;

-- Devices that hold a licence's seats.
CREATE TABLE seat (
    license TEXT NOT NULL,
    device_id TEXT NOT NULL,
    device_name TEXT,
    activated_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    PRIMARY KEY (license, device_id)
) STRICT, WITHOUT ROWID;

-- When seats were given back: so many in a month, and no more.
CREATE TABLE seat_freed (
    id INTEGER PRIMARY KEY,
    license TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX seat_freed_of_license ON seat_freed (license, at);
