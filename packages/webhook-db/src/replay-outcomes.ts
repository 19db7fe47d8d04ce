/** SQL: counts outcomes for their replays, from rows `(replay_id, status_code)`; null means no outcome and counts as failed. */
export const countOutcomes = (rows: string): string => `
  UPDATE replay_outcomes o SET done = o.done + n.done, failed = o.failed + n.failed
    FROM (SELECT replay_id, count(*) AS done, count(*) FILTER (WHERE (status_code BETWEEN 200 AND 299) IS NOT TRUE) AS failed
            FROM (${rows}) r WHERE replay_id IS NOT NULL GROUP BY replay_id ORDER BY replay_id) n
   WHERE o.replay_id = n.replay_id`;
