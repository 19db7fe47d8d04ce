-- By itself: while it is built, nobody waits for hooks. The events of an account in the order in which they came.
CREATE INDEX events_account_idx ON events (account_id, received_at, key) WHERE account_id IS NOT NULL;
