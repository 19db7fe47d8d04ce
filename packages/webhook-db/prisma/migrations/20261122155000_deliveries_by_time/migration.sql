-- By itself: while it is built, nobody waits for hooks. A hook's deliveries in the order in which they were attempted, which is not that of their ids.
CREATE INDEX deliveries_time_idx ON deliveries (hook_id, delivered_at, id);
