-- The ids of purchases by their value first: one index finds an id in whatever role, where two were kept.
DROP INDEX external_id_by_value;
ALTER TABLE external_id DROP CONSTRAINT external_id_pkey, ADD PRIMARY KEY (value, namespace, environment);
