/** Whether deliveries of an account wait for its limit, so that new ones must wait behind them. */
import type { Pool } from './pool.ts';

/** SQL, worded like the two indexes: a row waits for its account's limit, or for its time. */
export const waits = "published_at IS NULL AND due_at = 'infinity'";
export const hasDueTime = "published_at IS NULL AND due_at < 'infinity'";

/**
 * SQL: whether first deliveries of the account `id` wait, which new ones must not overtake. Not written as EXISTS, which PostgreSQL may answer
 * for many accounts at once by reading everything that waits.
 */
export const hasBacklogSql = (id: string): string =>
  `coalesce((SELECT true FROM parked WHERE account_id = ${id} AND reason = 'throttle' AND ${waits} LIMIT 1), false)`;

/** `isParked`: the delivery has a row in `parked`. */
export async function lookForBacklog(
  pool: Pool,
  accountId: number,
  deliveryId: number,
): Promise<{ hasBacklog: boolean; isParked: boolean }> {
  const { rows } = await pool.query<{ has_backlog: boolean; is_parked: boolean }>(
    `SELECT ${hasBacklogSql('$1')} AS has_backlog, EXISTS (SELECT FROM parked WHERE delivery_id = $2) AS is_parked`,
    [accountId, deliveryId],
  );
  const { has_backlog, is_parked } = rows[0]!;
  return { hasBacklog: has_backlog, isParked: is_parked };
}
