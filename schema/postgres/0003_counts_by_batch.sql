-- New rows and last arrivals are counted by the writer, once a transaction, and not with every row.
DROP TRIGGER event_arrived ON event;
DROP FUNCTION event_arrived();
DROP TRIGGER subscription_counted ON subscription;
CREATE OR REPLACE FUNCTION subscription_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE row_count SET count = count - 1 WHERE environment = OLD.environment;
    RETURN NULL;
END $$;
CREATE TRIGGER subscription_counted AFTER DELETE ON subscription
    FOR EACH ROW EXECUTE FUNCTION subscription_counted();
