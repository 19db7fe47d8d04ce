-- What has become of attempts, by the minute in which they began: of a hook, of its account (hook 0) and of all (account 0, hook 0). Who
-- records attempts adds to it in the same statement (packages/webhook-db/src/stats.ts).
CREATE TABLE delivery_stats (
  account_id  integer NOT NULL,
  hook_id     integer NOT NULL,
  minute      timestamptz(0) NOT NULL,
  -- Rows of a minute that differ in this alone are added up: dispatchers do not wait for each other's.
  part        smallint NOT NULL,
  delivered   integer NOT NULL DEFAULT 0,
  failed      integer NOT NULL DEFAULT 0,
  -- Of these: slowed by their account's limit; automatic attempts after the first; redeliveries.
  throttled   integer NOT NULL DEFAULT 0,
  retried     integer NOT NULL DEFAULT 0,
  redelivered integer NOT NULL DEFAULT 0,
  -- First deliveries that events brought.
  came_in     integer NOT NULL DEFAULT 0,
  -- The most that was counted to wait for the limit; null: it was not counted here.
  waiting     integer,
  -- Attempts that took so many milliseconds at most, and more than those of the column before.
  ms_1        integer NOT NULL DEFAULT 0,
  ms_2        integer NOT NULL DEFAULT 0,
  ms_5        integer NOT NULL DEFAULT 0,
  ms_10       integer NOT NULL DEFAULT 0,
  ms_20       integer NOT NULL DEFAULT 0,
  ms_50       integer NOT NULL DEFAULT 0,
  ms_100      integer NOT NULL DEFAULT 0,
  ms_200      integer NOT NULL DEFAULT 0,
  ms_500      integer NOT NULL DEFAULT 0,
  ms_1000     integer NOT NULL DEFAULT 0,
  ms_2000     integer NOT NULL DEFAULT 0,
  ms_5000     integer NOT NULL DEFAULT 0,
  ms_10000    integer NOT NULL DEFAULT 0,
  ms_more     integer NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, hook_id, minute, part)
) PARTITION BY RANGE (minute);

-- As before, and the weeks of the statistics: kept for long, they would be too many days. A row is written again and again while its minute
-- lasts, in place where its page has room.
CREATE OR REPLACE FUNCTION ensure_partitions(days_ahead integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  day date;
  monday date;
  child text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('gatepost partitions', 0));
  FOR i IN -1..days_ahead LOOP
    day := (now() AT TIME ZONE 'UTC')::date + i;
    FOREACH parent IN ARRAY ARRAY['events', 'deliveries'] LOOP
      child := parent || '_' || to_char(day, 'YYYYMMDD');
      IF to_regclass(child) IS NULL THEN
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, day, day + 1);
      END IF;
    END LOOP;
    monday := date_trunc('week', day::timestamp)::date;
    child := 'delivery_stats_' || to_char(monday, 'YYYYMMDD');
    IF to_regclass(child) IS NULL THEN
      EXECUTE format('CREATE TABLE %I (LIKE delivery_stats INCLUDING ALL) WITH (fillfactor = 50)', child);
      EXECUTE format('ALTER TABLE delivery_stats ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', child,
                     monday || ' 00:00:00+00', monday + 7 || ' 00:00:00+00');
    END IF;
  END LOOP;
END $$;

-- Drops the weeks that ended before the last `days_kept` days.
CREATE FUNCTION drop_old_stats(days_kept integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  child record;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('gatepost partitions', 0));
  SET LOCAL lock_timeout = '2s';
  FOR child IN
    SELECT c.oid::regclass AS name
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'delivery_stats'::regclass
       AND to_date(right(c.relname, 8), 'YYYYMMDD') + 7 <= (now() AT TIME ZONE 'UTC')::date - days_kept
     ORDER BY 1
  LOOP
    EXECUTE format('DROP TABLE %s', child.name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;

SELECT ensure_partitions(3);
