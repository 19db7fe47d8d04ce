-- Listing a hook's failures among a million successes, or the other way round, must not read them all. Each row stands in one
-- of the two, beside the index of all.
CREATE INDEX deliveries_success_idx ON deliveries (hook_id, id DESC) WHERE status_code < 400;
CREATE INDEX deliveries_failure_idx ON deliveries (hook_id, id DESC) WHERE status_code >= 400;
