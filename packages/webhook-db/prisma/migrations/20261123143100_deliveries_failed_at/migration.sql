-- By itself: while it is built, nobody waits for hooks. The same of those that failed alone: with millions that did not, none of these is looked at.
CREATE INDEX deliveries_failed_at_idx ON deliveries (hook_id, delivered_at, id) INCLUDE (delivered_on, status_code, event, action, throttled_at) WHERE status_code >= 400;
