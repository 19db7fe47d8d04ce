-- What there was among the attempts of a hook's minute, as bits: a look through its log for an event that is rare, or that there never was, passes over the minutes
-- that have none. Null: written by a version that did not note it, so all may be there.
ALTER TABLE delivery_stats ADD COLUMN kinds bit(256);

-- The bits of an attempt, and of what is looked for; what is null sets none. Bits 0 to 3 say what became of it, the others are shared by all events and actions
-- whose hash is the same: a bit that is not set is sure, one that is set is not.
CREATE FUNCTION delivery_kinds(event text, action text, is_failure boolean, is_throttled boolean) RETURNS bit(256) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN is_failure IS NULL THEN 0::bit(256) ELSE set_bit(0::bit(256), CASE WHEN is_failure THEN 1 ELSE 0 END, 1) END
       | CASE WHEN is_throttled IS NULL THEN 0::bit(256) ELSE set_bit(0::bit(256), CASE WHEN is_throttled THEN 3 ELSE 2 END, 1) END
       | CASE WHEN event IS NULL THEN 0::bit(256) ELSE set_bit(0::bit(256), 4 + ((hashtextextended(event, 0) & 2147483647) % 124)::integer, 1) END
       | CASE WHEN action IS NULL THEN 0::bit(256) ELSE set_bit(0::bit(256), 128 + (hashtextextended(action, 0) & 127)::integer, 1) END
$$;

-- From when on each minute with attempts has its row, so that one without a row has none: a day after this migration, when no dispatcher of before is left, and as
-- long as the statistics are kept.
CREATE TABLE delivery_kinds_known (
  id    integer PRIMARY KEY CHECK (id = 1),
  since timestamptz(3) NOT NULL
);
INSERT INTO delivery_kinds_known VALUES (1, date_trunc('minute', now()) + interval '1 day');

-- As before, and notes that nothing is known of the weeks that are gone.
CREATE OR REPLACE FUNCTION drop_old_stats(days_kept integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  child record;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('gatepost partitions', 0));
  SET LOCAL lock_timeout = '2s';
  FOR child IN
    SELECT c.oid::regclass AS name, (to_date(right(c.relname, 8), 'YYYYMMDD') + 7)::timestamp AT TIME ZONE 'UTC' AS ended
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'delivery_stats'::regclass
       AND to_date(right(c.relname, 8), 'YYYYMMDD') + 7 <= (now() AT TIME ZONE 'UTC')::date - days_kept
     ORDER BY 1
  LOOP
    UPDATE delivery_kinds_known SET since = child.ended WHERE since < child.ended;
    EXECUTE format('DROP TABLE %s', child.name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;

-- A hook's deliveries that are like that, the latest first, from a time and an id on back to `since`: at most `most` of the first `looked_at` in minutes that may
-- have some. Where it has looked at so many and found less, a last row that is not `is_found` says which it looked at last.
CREATE FUNCTION deliveries_found(of_account integer, of_hook integer, upto timestamptz, upto_id bigint, since timestamptz, outcome text, of_event text, of_action text,
                                 is_throttled boolean, looked_at integer, most integer)
  RETURNS TABLE (id bigint, delivered_on date, delivered_at timestamptz, is_found boolean)
  LANGUAGE plpgsql STABLE ROWS 100 SET enable_sort = off SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  known timestamptz := coalesce((SELECT k.since FROM delivery_kinds_known k), 'infinity');
  asked bit(256) := delivery_kinds(of_event, of_action, outcome = 'failure', is_throttled);
  minutes CURSOR FOR
    SELECT DISTINCT s.minute FROM delivery_stats s
     WHERE s.account_id = of_account AND s.hook_id = of_hook AND s.minute >= greatest(known, date_trunc('minute', since)) AND s.minute <= upto
       AND (s.kinds IS NULL OR s.kinds & asked = asked)
     ORDER BY s.minute DESC;
  is_last boolean := false;
  begins timestamptz;
  ends timestamptz;
  one record;
  looked integer := 0;
  matched integer := 0;
BEGIN
  OPEN minutes;
  WHILE NOT is_last LOOP
    FETCH minutes INTO begins;
    is_last := NOT FOUND;
    -- What was before anything was known is looked at as a whole.
    ends := CASE WHEN is_last THEN known ELSE begins + interval '1 minute' END;
    begins := CASE WHEN is_last THEN since ELSE greatest(begins, since) END;
    FOR one IN
      SELECT d.id, d.delivered_on, d.delivered_at,
             (outcome IS NULL OR (d.status_code >= 400) = (outcome = 'failure')) AND (of_event IS NULL OR d.event = of_event)
             AND (of_action IS NULL OR d.action IS NOT DISTINCT FROM of_action) AND (is_throttled IS NULL OR is_throttled = (d.throttled_at IS NOT NULL)) AS is_found
        FROM deliveries d
       WHERE d.hook_id = of_hook AND (d.delivered_at, d.id) <= (upto, upto_id) AND d.delivered_at >= begins AND d.delivered_at < ends
         AND d.delivered_on BETWEEN (begins AT TIME ZONE 'UTC')::date AND (least(ends, upto) AT TIME ZONE 'UTC')::date
       ORDER BY d.delivered_at DESC, d.id DESC LIMIT looked_at - looked
    LOOP
      looked := looked + 1;
      id := one.id;
      delivered_on := one.delivered_on;
      delivered_at := one.delivered_at;
      is_found := one.is_found;
      IF is_found THEN
        matched := matched + 1;
        RETURN NEXT;
        IF matched = most THEN RETURN; END IF;
      END IF;
      IF looked = looked_at THEN
        is_found := false;
        RETURN NEXT;
        RETURN;
      END IF;
    END LOOP;
  END LOOP;
END $$;
