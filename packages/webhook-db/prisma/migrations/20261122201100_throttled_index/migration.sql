-- By itself: while it is built, nobody waits for hooks. A hook's deliveries that their account's limit had made wait; all others are not in it.
CREATE INDEX deliveries_throttled_idx ON deliveries (hook_id, id DESC) WHERE throttled_at IS NOT NULL;
