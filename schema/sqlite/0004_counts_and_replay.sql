-- A replayed event gives up its facts first: they must be found by their event.
CREATE INDEX fact_of_event ON fact (event);

-- Purchases that nobody is known to own yet. Everything but these is left out, so it stays small.
CREATE INDEX purchase_parked ON purchase (id) WHERE owner IS NULL;

-- How many rows each environment has, kept by the database itself: counting a million of them takes too long.
CREATE TABLE row_count (
    environment INTEGER PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT;
INSERT INTO row_count (environment, count) VALUES (0, 0), (1, 0);
UPDATE row_count SET count = (SELECT count(*) FROM subscription WHERE subscription.environment = row_count.environment);
CREATE TRIGGER subscription_made AFTER INSERT ON subscription BEGIN
    UPDATE row_count SET count = count + 1 WHERE environment = new.environment;
END;
CREATE TRIGGER subscription_gone AFTER DELETE ON subscription BEGIN
    UPDATE row_count SET count = count - 1 WHERE environment = old.environment;
END;

-- When each provider's newest event came. No conflict clause: in a trigger the one of the outer statement would count.
CREATE TABLE last_arrival (
    provider TEXT PRIMARY KEY,
    received_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO last_arrival (provider, received_at) SELECT provider, max(received_at) FROM event GROUP BY provider;
CREATE TRIGGER event_arrived AFTER INSERT ON event BEGIN
    UPDATE last_arrival SET received_at = max(received_at, new.received_at) WHERE provider = new.provider;
    INSERT INTO last_arrival (provider, received_at) SELECT new.provider, new.received_at
        WHERE NOT EXISTS (SELECT 1 FROM last_arrival WHERE provider = new.provider);
END;
