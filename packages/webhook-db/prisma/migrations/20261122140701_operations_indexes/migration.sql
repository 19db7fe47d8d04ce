-- By themselves: while they are built, nobody waits for accounts and hooks, which the migration before changed.
CREATE INDEX parked_paused_idx ON parked (account_id, delivery_id) WHERE published_at = 'infinity';

-- An event is found by its guid, and then its deliveries: the first ones by the ids that its row names, all others by the guid.
CREATE INDEX events_guid_idx ON events USING hash (guid);
CREATE INDEX deliveries_again_idx ON deliveries (guid) WHERE attempt > 1 OR redelivery;
