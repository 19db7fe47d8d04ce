-- Since when the deliveries of an account, or of a hook, rest; null: they do not. What rests is parked with `published_at` at infinity.
ALTER TABLE accounts ADD COLUMN paused_at timestamptz(3);
ALTER TABLE hooks
  ADD COLUMN paused_at             timestamptz(3),
  -- The secret before the present one, sealed likewise, which signs beside it until that time.
  ADD COLUMN previous_secret       bytea,
  ADD COLUMN previous_secret_until timestamptz(3);

-- Accounts that were deleted, whose events and deliveries the dispatchers are still to delete.
CREATE TABLE erasures (
  account_id integer PRIMARY KEY,
  asked_at   timestamptz(3) NOT NULL DEFAULT now()
);

-- As before, but a day's events stay while one of their deliveries rests.
CREATE OR REPLACE FUNCTION drop_old_partitions(days_kept integer) RETURNS integer LANGUAGE plpgsql AS $$
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
       AND NOT (i.inhparent = 'events'::regclass AND EXISTS (
             SELECT FROM parked p WHERE p.published_at = 'infinity' AND to_char(p.event_on, 'YYYYMMDD') = right(c.relname, 8)))
     ORDER BY 1
  LOOP
    EXECUTE format('DROP TABLE %s', child.name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;
