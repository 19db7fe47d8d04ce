/** What is written to `parked`, where promised deliveries stand until their outcome is recorded. */
import type { PoolClient } from 'pg';

/** The columns of a parked row as `json_to_recordset` reads them. */
export const parkedRecord = `(delivery_id bigint, account_id integer, reason text, due_at timestamptz, event_key uuid,
  event_on date, job text)`;

/** Takes rows that were published so long ago, and have no outcome, for lost: they wait again, due at once. Answers how many, `most` at most. */
export async function parkUnsettled(client: PoolClient, afterMs: number, most: number): Promise<number> {
  // The job's text is not read here: one that is none would stop all others.
  const { rowCount } = await client.query(
    `UPDATE parked SET published_at = NULL, due_at = now(), job = CASE
            WHEN right(job, length($3)) = $3 THEN job ELSE regexp_replace(job, '}$', $3) END
      WHERE delivery_id IN (SELECT delivery_id FROM parked WHERE published_at < now() - $1 * interval '1 ms'
                             ORDER BY published_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    [afterMs, most, ',"mayRepeat":true}'],
  );
  return rowCount ?? 0;
}
