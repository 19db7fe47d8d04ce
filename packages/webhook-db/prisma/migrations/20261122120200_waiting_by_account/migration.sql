-- What waits for its account's limit has no time of its own any more: it is due at infinity, and the dispatchers take of each account as
-- many rows as its limit lets go, first deliveries before retries, in the order of their ids. All else is due at its time.
DROP INDEX parked_due_idx, parked_urgent_idx, parked_account_idx;
UPDATE parked SET due_at = 'infinity' WHERE published_at IS NULL AND reason = 'throttle';
CREATE INDEX parked_waiting_idx ON parked (account_id, reason DESC, delivery_id) WHERE published_at IS NULL AND due_at = 'infinity';
CREATE INDEX parked_timed_idx ON parked (due_at) WHERE published_at IS NULL AND due_at < 'infinity';
