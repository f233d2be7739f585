-- What events said of purchases: each set of ids once, and which facts came with it. From these sets it follows which
-- facts are one purchase, in whatever order they arrived. `body` is, for each id, its rank, and its namespace and value
-- each after their length in bytes and a colon.
CREATE TABLE mention (
    id INTEGER PRIMARY KEY,
    purchase INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- What is known of a purchase from before is taken as one mention.
INSERT INTO mention (purchase, body)
SELECT purchase, CAST(group_concat(
    rank || length(CAST(namespace AS BLOB)) || ':' || namespace || length(CAST(value AS BLOB)) || ':' || value, ''
) AS BLOB) FROM external_id GROUP BY purchase;
CREATE INDEX mention_of_purchase ON mention (purchase);

ALTER TABLE fact ADD COLUMN mention INTEGER NOT NULL DEFAULT 0;
UPDATE fact SET mention = (SELECT id FROM mention WHERE mention.purchase = fact.purchase);

-- Purchases that share ids and are not one. Of most purchases there is nothing here.
CREATE TABLE contested (
    purchase INTEGER PRIMARY KEY,
    cluster INTEGER NOT NULL
) STRICT;
CREATE INDEX contested_by_cluster ON contested (cluster);
