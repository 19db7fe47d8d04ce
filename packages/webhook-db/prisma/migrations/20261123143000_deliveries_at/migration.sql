-- By itself: while it is built, nobody waits for hooks. A hook's deliveries in the order in which they were attempted, with all that a list of them is filtered by.
CREATE INDEX deliveries_at_idx ON deliveries (hook_id, delivered_at, id) INCLUDE (delivered_on, status_code, event, action, throttled_at);
