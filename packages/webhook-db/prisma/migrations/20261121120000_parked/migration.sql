-- Deliveries that wait: for their account's limit, for a retry, or because their receiver has enough attempts in flight. A row
-- stays until the outcome of its delivery is recorded, so that a broker that lost the published job loses nothing.
CREATE TABLE parked (
  delivery_id  bigint PRIMARY KEY,
  account_id   integer NOT NULL,
  reason       text NOT NULL CHECK (reason IN ('throttle', 'retry', 'busy')),
  due_at       timestamptz(3) NOT NULL,
  -- When its job was put into RabbitMQ's hands; null: it still waits.
  published_at timestamptz(3),
  -- Where the payload is.
  event_key    uuid NOT NULL,
  event_on     date NOT NULL,
  -- The job (packages/contracts/src/delivery-job.ts) as JSON.
  job          text NOT NULL
);
-- The pump takes what is due; retries only while there is little else to do.
CREATE INDEX parked_due_idx ON parked (due_at) WHERE published_at IS NULL;
CREATE INDEX parked_urgent_idx ON parked (due_at) WHERE published_at IS NULL AND reason = 'throttle';
-- A changed limit paces an account's rows anew, in their order.
CREATE INDEX parked_account_idx ON parked (account_id, due_at) WHERE published_at IS NULL AND reason = 'throttle';
CREATE INDEX parked_published_idx ON parked (published_at) WHERE published_at IS NOT NULL;

-- How far the sweeper has looked through events for deliveries without an outcome. One row.
CREATE TABLE sweeps (
  id          integer PRIMARY KEY CHECK (id = 1),
  swept_until timestamptz(3) NOT NULL
);

-- Drops the partitions of days before the last `days_kept` ones. One lock at a time, each waited for briefly: a read that
-- holds a partition must not make all others queue behind us.
CREATE FUNCTION drop_old_partitions(days_kept integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  child record;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('gatepost partitions', 0));
  SET LOCAL lock_timeout = '2s';
  FOR child IN
    SELECT c.oid::regclass AS name
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent IN ('events'::regclass, 'deliveries'::regclass)
       AND right(c.relname, 8) < to_char((now() AT TIME ZONE 'UTC')::date - days_kept, 'YYYYMMDD')
     ORDER BY 1
  LOOP
    EXECUTE format('DROP TABLE %s', child.name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;
