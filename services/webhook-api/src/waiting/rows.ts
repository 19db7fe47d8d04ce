/** The deliveries that wait, and why: rows of the table `parked`. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { hasDueTime, waits } from '@gatepost/webhook-db/backlog';
import { isFollowUp } from '@gatepost/webhook-db/parked';
import { isPaused } from '@gatepost/webhook-db/paused';
import type { Pool, Queryable } from '@gatepost/webhook-db/pool';

export const reasons = ['limit', 'retry', 'busy', 'paused', 'handed_over'] as const;
export type Reason = (typeof reasons)[number];

/** SQL, for a row `p`. */
const reasonOf = `CASE WHEN ${isPaused} THEN 'paused' WHEN published_at IS NOT NULL THEN 'handed_over'
                       WHEN due_at = 'infinity' THEN 'limit' WHEN reason = 'again' THEN 'busy' ELSE reason END`;

export const isHandedOver = "published_at < 'infinity'";

export type WaitingRow = {
  delivery_id: string;
  reason: Reason;
  /** As stored in its row. */
  parked_as: string;
  due_at: Date | number;
  published_at: Date | number | null;
  parked_at: Date;
  job: string;
};

const waitingColumns = `delivery_id, ${reasonOf} AS reason, p.reason AS parked_as, due_at, published_at, parked_at, job`;

/** A page of an account's, in the order of their ids, and one more row if there is one. */
export async function findPage(pool: Pool, accountId: number, from: string, most: number): Promise<WaitingRow[]> {
  const { rows } = await pool.query<WaitingRow>(pageText, [accountId, from, most]);
  return rows;
}

/** SQL: an account's first rows that meet the condition, worded like an index that has them in this order. */
const firstOf = (condition: string) =>
  `(SELECT delivery_id FROM parked WHERE ${condition} AND account_id = $1 AND delivery_id >= $2 ORDER BY delivery_id LIMIT $3::integer + 1)`;

const pageText = `
  SELECT ${waitingColumns} FROM parked p WHERE delivery_id IN (
    ${['throttle', 'retry', 'busy', 'again'].map((reason) => firstOf(`${waits} AND reason = '${reason}'`)).join(' UNION ALL ')}
    UNION ALL ${firstOf(hasDueTime)} UNION ALL ${firstOf(isPaused)}
    UNION ALL (SELECT delivery_id FROM parked WHERE ${isHandedOver} AND account_id = $1 AND delivery_id >= $2))
   ORDER BY delivery_id LIMIT $3::integer + 1`;

/** Up to `most` waiting deliveries: first attempts by the ids that their events name, later ones (`isFollowUp`) by the event keys. */
export async function findWaiting(
  db: Queryable,
  ids: readonly (string | number)[],
  eventKeys: readonly string[],
  most: number,
): Promise<WaitingRow[]> {
  const { rows } = await db.query<WaitingRow>({
    name: 'waiting of events',
    text: `SELECT ${waitingColumns} FROM parked p WHERE delivery_id = ANY ($1::bigint[])
            UNION
           SELECT ${waitingColumns} FROM parked p WHERE event_key = ANY ($2::uuid[]) AND ${isFollowUp}
            ORDER BY delivery_id LIMIT $3`,
    values: [ids, eventKeys, most],
  });
  return rows;
}

/** A damaged row is shown all the same. */
export function readJob(text: string): Partial<DeliveryJob> {
  try {
    return JSON.parse(text) as Partial<DeliveryJob>;
  } catch {
    return {};
  }
}
