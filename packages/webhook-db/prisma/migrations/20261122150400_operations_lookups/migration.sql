-- What an operator asks of millions of rows that wait. What waits for its account's limit for the first time, most of them, is in none of
-- these: its first attempt is found by the ids that its event names.
CREATE INDEX parked_event_idx ON parked USING hash (event_key) WHERE reason <> 'throttle' OR job LIKE '%"redelivery":true%';
CREATE INDEX parked_timed_idx ON parked (account_id, delivery_id) INCLUDE (reason, due_at) WHERE published_at IS NULL AND due_at < 'infinity';
-- One hook is resumed among many that rest.
CREATE INDEX parked_resting_idx ON parked (account_id, (coalesce(substring(job from '"hookId":(\d{1,9})[,}]')::integer, 0)), delivery_id)
 WHERE published_at = 'infinity';
