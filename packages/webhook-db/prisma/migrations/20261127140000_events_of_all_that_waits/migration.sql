-- As before, but a day's events stay while any of their deliveries waits: also for the account's limit, or for its next attempt. Those days are looked up
-- once, not by each partition.
CREATE OR REPLACE FUNCTION drop_old_partitions(days_kept integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  first_kept text := to_char((now() AT TIME ZONE 'UTC')::date - days_kept, 'YYYYMMDD');
  needed text[];
  child record;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('gatepost partitions', 0));
  SET LOCAL lock_timeout = '2s';
  needed := ARRAY(SELECT DISTINCT to_char(event_on, 'YYYYMMDD') FROM parked WHERE event_on < first_kept::date);
  FOR child IN
    SELECT c.oid::regclass AS name
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent IN ('events'::regclass, 'deliveries'::regclass)
       AND right(c.relname, 8) < first_kept
       AND NOT (i.inhparent = 'events'::regclass AND right(c.relname, 8) = ANY (needed))
     ORDER BY 1
  LOOP
    EXECUTE format('DROP TABLE %s', child.name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;
