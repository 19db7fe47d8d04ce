/** Two requests in a chosen order: the first is stopped by a lock in the database until the second has been answered. */
import { until } from '@gatepost/testkit/until';
import type pg from 'pg';

/** @param lock the statement that stops the first */
export async function whileHeld<T>(
  db: pg.Pool,
  lock: string,
  first: () => Promise<T>,
  second: () => Promise<unknown>,
): Promise<T> {
  const holder = (await db.connect()) as pg.PoolClient & { processID: number };
  let waiting: Promise<T>;
  try {
    await holder.query(`BEGIN; ${lock}`);
    waiting = first();
    await until('the first to wait', async () => {
      const blocked = 'SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))';
      return ((await db.query(blocked, [holder.processID])).rowCount ?? 0) > 0;
    });
    await second();
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
  return waiting;
}
