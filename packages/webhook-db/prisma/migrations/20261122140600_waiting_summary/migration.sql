-- Since when a delivery waits; of those that are parked already, since this migration. (A default that is no volatile function rewrites nothing.)
ALTER TABLE parked ADD COLUMN parked_at timestamptz(3) NOT NULL DEFAULT now();
-- The index holds all that is counted, so that counting reads no rows.
CREATE INDEX parked_due_idx ON parked (due_at) INCLUDE (reason, delivery_id) WHERE published_at IS NULL AND due_at < 'infinity';
DROP INDEX parked_timed_idx;

-- What waits, counted by one dispatcher for all of them. One row, once it was counted.
CREATE TABLE waiting_summary (
  id         integer PRIMARY KEY CHECK (id = 1),
  -- Not counted again before.
  next_at    timestamptz(3) NOT NULL,
  -- As packages/webhook-db/src/waiting-summary.ts says; null: never counted.
  summary    jsonb
);
