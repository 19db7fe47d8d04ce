/** Brings requests to a standstill at a row or table, so that something else happens in between. */
import { until } from '@gatepost/testkit/until';
import type pg from 'pg';

export type RowLock = AsyncDisposable & {
  query(text: string, values?: unknown[]): Promise<pg.QueryResult>;
  /** Resolves once that many statements wait for it, directly or behind one another; to their backends. */
  waiting(count?: number): Promise<number[]>;
  /** Commits, and lets them go on. */
  release(): Promise<void>;
};

/** A transaction of its own that has run this statement, which locks a row at least, or a table. */
export async function lockRow(db: pg.Pool, text: string, values?: unknown[]): Promise<RowLock> {
  const holder = await db.connect();
  let isOpen = true;
  const end = async (how: string) => {
    if (!isOpen) return;
    isOpen = false;
    await holder.query(how);
    holder.release();
  };
  await holder.query('BEGIN');
  const { rowCount } = await holder.query(text, values);
  if (rowCount === 0) throw new Error(`locks nothing: ${text}`);
  const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return {
    query: (more, given) => holder.query(more, given),
    waiting: (count = 1) =>
      until('statements to wait for the row', async () => {
        const found = await db.query<{ pid: number }>(
          `WITH RECURSIVE waiting AS (
             SELECT pid FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))
             UNION SELECT next.pid FROM pg_stat_activity next JOIN waiting ON waiting.pid = ANY (pg_blocking_pids(next.pid)))
           SELECT pid FROM waiting`,
          [rows[0]!.pid],
        );
        return found.rows.length >= count && found.rows.map(({ pid }) => pid);
      }),
    release: () => end('COMMIT'),
    [Symbol.asyncDispose]: () => end('ROLLBACK'),
  };
}

/** Two requests in a chosen order: the first is stopped by the lock until the second has been answered. */
export async function whileHeld<T>(
  db: pg.Pool,
  lock: string,
  first: () => Promise<T>,
  second: () => Promise<unknown>,
): Promise<T> {
  await using held = await lockRow(db, lock);
  const waiting = first();
  await held.waiting();
  await second();
  await held.release();
  return waiting;
}
