/** How many of an account's deliveries wait, why and since when: from indexes that hold its rows together, however many there are. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { hasDueTime, waits } from '@gatepost/webhook-db/backlog';
import { isPaused } from '@gatepost/webhook-db/paused';
import type { Pool } from '@gatepost/webhook-db/pool';
import { z } from 'zod';
import { seconds } from '../objects/time.ts';
import { reasonSchema, shownTime } from './present.ts';
import { isHandedOver, type Reason, readJob, reasons } from './rows.ts';

const countedMax = 10_000;
const time = z.iso.datetime().nullable();

export const countedWaitingSchema = z.object({
  reason: reasonSchema,
  deliveries: z.int().meta({ description: `Up to ${countedMax.toLocaleString('en')} are counted` }),
  more: z.boolean().meta({ description: 'There are more' }),
  since: time.meta({ description: 'For the oldest: when the limit made it wait, or else when its event occurred' }),
  next_at: time.meta({ description: 'When the next is due; null: when its turn comes' }),
});

export type CountedWaiting = z.infer<typeof countedWaitingSchema>;

export type Counted = { reason: Reason; deliveries: number; first: string; next_at?: Date | null };

type Row = Counted & { more: boolean };

/**
 * Written as a range, plus the order of an index that begins with the account, so that no other index fits. With an equality PostgreSQL may
 * assume that everything waiting belongs to this account, and read through all of it.
 */
const ofAccount = 'account_id BETWEEN $1 AND $1';
const limitClause = `LIMIT ${countedMax} + 1`;

/** Few deliveries are handed over. For an account the indexes suffice; for one hook ($2) each row's job is examined. */
function countText(ofHook: boolean): string {
  const job = ofHook ? ', job' : '';
  // Matches the job's text, our own JSON, in which nothing else can look like this.
  const isOfHook = ofHook
    ? `job LIKE '%"hookId":' || $2::integer || ',%' OR job LIKE '%"hookId":' || $2::integer || '}%'`
    : 'true';
  return `
  SELECT reason, least(count(*) FILTER (WHERE is_meant), ${countedMax})::integer AS deliveries, count(*) > ${countedMax} AS more,
         min(delivery_id) FILTER (WHERE is_meant) AS first, min(due_at) FILTER (WHERE is_meant) AS next_at
    FROM (SELECT reason, delivery_id, due_at, ${isOfHook} AS is_meant FROM (
      (SELECT 'limit' AS reason, delivery_id, NULL::timestamptz AS due_at${job} FROM parked WHERE ${ofAccount} AND ${waits}
        ORDER BY account_id, parked.reason DESC, delivery_id ${limitClause})
      UNION ALL (SELECT CASE reason WHEN 'again' THEN 'busy' ELSE reason END, delivery_id, due_at${job} FROM parked WHERE ${ofAccount} AND ${hasDueTime}
                 ORDER BY account_id, delivery_id ${limitClause})
      UNION ALL (SELECT 'paused', delivery_id, NULL${job} FROM parked WHERE ${ofAccount} AND ${isPaused} ORDER BY account_id, delivery_id ${limitClause})
      UNION ALL (SELECT 'handed_over', delivery_id, NULL${job} FROM parked WHERE ${ofAccount} AND ${isHandedOver} ${limitClause})) p OFFSET 0) w
   GROUP BY reason HAVING count(*) FILTER (WHERE is_meant) > 0`;
}

/** With `hookId`, counts that hook's deliveries among the first of each reason. */
export async function countWaiting(pool: Pool, accountId: number, hookId?: number): Promise<CountedWaiting[]> {
  const asked =
    hookId === undefined
      ? { name: 'count of an account', text: countText(false), values: [accountId] }
      : { name: 'count of a hook', text: countText(true), values: [accountId, hookId] };
  const { rows } = await pool.query<Row>(asked);
  const sinceOf = await readSince(pool, rows);
  return rows
    .toSorted((a, b) => reasons.indexOf(a.reason) - reasons.indexOf(b.reason))
    .map(({ reason, deliveries, more, first, next_at }) => ({
      reason,
      deliveries,
      more,
      since: sinceOf(first),
      next_at: next_at ? seconds(next_at) : null,
    }));
}

/** For the first delivery of each group: since when its limit has held it back, or when its event occurred. */
export async function readSince(pool: Pool, groups: Counted[]): Promise<(first: string) => string | null> {
  const { rows } = await pool.query<{ delivery_id: string; job: string }>(
    'SELECT delivery_id, job FROM parked WHERE delivery_id = ANY ($1)',
    [groups.map(({ first }) => first)],
  );
  const since = new Map(rows.map((row) => [row.delivery_id, sinceOf(readJob(row.job))]));
  return (first) => since.get(first) ?? null;
}

const sinceOf = (job: Partial<DeliveryJob>) => shownTime(job.throttledAt ?? job.occurredAt);
