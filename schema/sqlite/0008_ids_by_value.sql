-- The ids of purchases by their value first: one tree finds an id in whatever role, where two were kept. A delivery changes two
-- pages less.
CREATE TABLE id_of_purchase (
    environment INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    value TEXT NOT NULL,
    purchase INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    PRIMARY KEY (value, namespace, environment)
) STRICT, WITHOUT ROWID;
INSERT INTO id_of_purchase (environment, namespace, value, purchase, rank)
SELECT environment, namespace, value, purchase, rank FROM external_id ORDER BY value, namespace, environment;
DROP TABLE external_id;
ALTER TABLE id_of_purchase RENAME TO external_id;
CREATE INDEX external_id_of_purchase ON external_id (purchase);
