-- New rows and last arrivals are counted by the writer, once a transaction, and not with every row.
DROP TRIGGER subscription_made;
DROP TRIGGER event_arrived;
