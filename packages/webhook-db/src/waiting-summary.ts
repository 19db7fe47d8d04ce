/**
 * How much waits, why and since when: counted by one dispatcher for all, from indexes alone. With a million rows that takes some tenths of a
 * second; however long it takes, it uses at most a fiftieth of the time.
 */
import { hasDueTime, waits } from './backlog.ts';
import type { Pool, Queryable } from './pool.ts';
import { noteWaiting } from './stats.ts';

const waitingReasons = ['throttled', 'retry', 'receiver_busy', 'paused'] as const;
export type WaitingReason = (typeof waitingReasons)[number];

export type WaitingSummary = {
  /** RFC 3339. */
  countedAt: string;
  /** `throttled`: waits for its account's limit, retries too; `paused`: until it is resumed; the others: for their time. `since`: of the oldest. */
  reasons: Record<WaitingReason, { deliveries: number; since: string | null }>;
  /** The accounts with the most deliveries waiting for their limit, at most 20. */
  accounts: { id: number; login: string | null; deliveries: number; since: string }[];
};

const accountsMax = 20;
const everySeconds = 5;
const share = 50;
/** A dispatcher that dies while counting keeps the others from it for this long. */
const patienceSeconds = 60;

// Ids are assigned in order, so the lowest one has waited longest, or nearly so.
const countText = `
  WITH waiting AS MATERIALIZED (
    SELECT account_id, count(*) AS n, min(delivery_id) AS first FROM parked WHERE ${waits} GROUP BY account_id
  ), noted AS (${noteWaiting('waiting')}
  ), timed AS MATERIALIZED (
    SELECT reason, count(*) AS n, min(delivery_id) AS first FROM parked WHERE ${hasDueTime} GROUP BY reason
  ), reasons AS (
    SELECT 'throttled' AS reason, coalesce(sum(n), 0) AS n, min(first) AS first FROM waiting
    UNION ALL
    SELECT CASE WHEN reason IN ('busy', 'again') THEN 'receiver_busy' ELSE 'retry' END, sum(n), min(first) FROM timed GROUP BY 1
    UNION ALL
    SELECT 'paused', count(*), min(delivery_id) FROM parked WHERE published_at = 'infinity'
  ), most AS (
    SELECT * FROM waiting ORDER BY n DESC, account_id LIMIT ${accountsMax}
  )
  SELECT jsonb_build_object(
    'countedAt', now(),
    'reasons', (SELECT jsonb_object_agg(reason, jsonb_build_object('deliveries', n, 'since',
                       (SELECT parked_at FROM parked WHERE delivery_id = first))) FROM reasons),
    'accounts', coalesce((SELECT jsonb_agg(jsonb_build_object('id', account_id, 'deliveries', n,
                       'login', (SELECT login FROM accounts WHERE id = account_id),
                       'since', (SELECT parked_at FROM parked WHERE delivery_id = first)) ORDER BY n DESC, account_id) FROM most), '[]')
  ) AS summary`;

/** The latest count of what waits; counts first if that is due and nobody else is counting. */
export async function summarizeWaiting(pool: Pool): Promise<WaitingSummary | undefined> {
  const { rowCount: isMine } = await pool.query(
    `INSERT INTO waiting_summary (id, next_at) VALUES (1, now() + interval '${patienceSeconds} s')
     ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at WHERE waiting_summary.next_at <= now()`,
  );
  if (isMine) {
    const begunAt = performance.now();
    const { rows } = await pool.query<{ summary: unknown }>({ name: 'count waiting', text: countText });
    const seconds = Math.max(everySeconds, ((performance.now() - begunAt) / 1000) * share);
    await pool.query("UPDATE waiting_summary SET summary = $1, next_at = now() + $2 * interval '1 s'", [
      JSON.stringify(rows[0]!.summary),
      seconds,
    ]);
  }
  return readWaiting(pool);
}

/** The latest count; undefined if there never was one. */
export async function readWaiting(pool: Queryable): Promise<WaitingSummary | undefined> {
  const { rows } = await pool.query<{ summary: WaitingSummary | null }>('SELECT summary FROM waiting_summary');
  const summary = rows[0]?.summary;
  if (!summary) return undefined;
  const none = { deliveries: 0, since: null };
  const reasons = Object.fromEntries(waitingReasons.map((reason) => [reason, summary.reasons[reason] ?? none]));
  return { ...summary, reasons: reasons as WaitingSummary['reasons'] };
}
