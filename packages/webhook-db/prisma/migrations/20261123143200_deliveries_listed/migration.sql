-- A hook's deliveries, the latest first, from a time and an id on back to `since`: at most `most` of the first `looked_at`. PostgreSQL believes that a hook has few, and so would rather
-- read all of its deliveries and sort them: with half a million that took two seconds instead of some milliseconds. Here it does not sort.
CREATE FUNCTION deliveries_by_time(of_hook integer, upto timestamptz, upto_id bigint, since timestamptz, outcome text, of_event text, of_action text, is_throttled boolean,
                                   looked_at integer, most integer)
  RETURNS TABLE (id bigint, delivered_on date, delivered_at timestamptz)
  LANGUAGE plpgsql STABLE ROWS 100 SET enable_sort = off SET search_path FROM CURRENT AS $$
#variable_conflict use_column
BEGIN
  IF outcome = 'failure' THEN
    RETURN QUERY
      SELECT d.id, d.delivered_on, d.delivered_at FROM (
        SELECT d.id, d.delivered_on, d.delivered_at, d.status_code, d.event, d.action, d.throttled_at FROM deliveries d
         WHERE d.hook_id = of_hook AND d.status_code >= 400 AND (d.delivered_at, d.id) <= (upto, upto_id) AND d.delivered_at >= since
           AND d.delivered_on BETWEEN (since AT TIME ZONE 'UTC')::date AND (upto AT TIME ZONE 'UTC')::date
         ORDER BY d.delivered_at DESC, d.id DESC LIMIT looked_at) d
       WHERE (of_event IS NULL OR d.event = of_event) AND (of_action IS NULL OR d.action = of_action)
         AND (is_throttled IS NULL OR is_throttled = (d.throttled_at IS NOT NULL))
       ORDER BY d.delivered_at DESC, d.id DESC LIMIT most;
  ELSE
    RETURN QUERY
      SELECT d.id, d.delivered_on, d.delivered_at FROM (
        SELECT d.id, d.delivered_on, d.delivered_at, d.status_code, d.event, d.action, d.throttled_at FROM deliveries d
         WHERE d.hook_id = of_hook AND (d.delivered_at, d.id) <= (upto, upto_id) AND d.delivered_at >= since
           AND d.delivered_on BETWEEN (since AT TIME ZONE 'UTC')::date AND (upto AT TIME ZONE 'UTC')::date
         ORDER BY d.delivered_at DESC, d.id DESC LIMIT looked_at) d
       WHERE (outcome IS NULL OR d.status_code < 400) AND (of_event IS NULL OR d.event = of_event) AND (of_action IS NULL OR d.action = of_action)
         AND (is_throttled IS NULL OR is_throttled = (d.throttled_at IS NOT NULL))
       ORDER BY d.delivered_at DESC, d.id DESC LIMIT most;
  END IF;
END $$;
