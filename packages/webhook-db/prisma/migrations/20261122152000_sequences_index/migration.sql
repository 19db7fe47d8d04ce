-- By itself: while it is built, nobody waits for hooks. What comes after a number, in order.
CREATE INDEX deliveries_sequence_idx ON deliveries (hook_id, sequence, id) WHERE sequence IS NOT NULL;
