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

export async function hasBacklog(pool: Pool, accountId: number): Promise<boolean> {
  const { rows } = await pool.query<{ has: boolean }>(`SELECT ${hasBacklogSql('$1')} AS has`, [accountId]);
  return rows[0]!.has;
}
