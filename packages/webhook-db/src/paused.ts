/**
 * Deliveries whose account or hook is paused: parked rows whose `published_at` is infinity, so that nobody takes them for waiting
 * or lost. When resumed, they wait for their account's limit, in the order of their events.
 */
import { waits } from './backlog.ts';
import type { Queryable } from './pool.ts';

export const isPaused = "published_at = 'infinity'";

/** SQL: the hook of a parked row `p`. A job's text is our own JSON, in which nothing else can look like this. */
export const hookOfJob = `substring(p.job from '"hookId":(\\d{1,9})[,}]')::integer`;

/** Pauses up to `most` deliveries of the account, or of one of its hooks, that wait for the limit. @returns how many */
export async function pauseDeliveries(
  db: Queryable,
  { accountId, hookId = null }: { accountId: number; hookId?: number | null },
  most: number,
): Promise<number> {
  const { rowCount } = await db.query(
    `UPDATE parked SET published_at = 'infinity' WHERE delivery_id IN (
       SELECT delivery_id FROM parked p WHERE account_id = $1 AND ${waits} AND ($2::integer IS NULL OR ${hookOfJob} = $2)
        LIMIT $3 FOR UPDATE SKIP LOCKED)`,
    [accountId, hookId, most],
  );
  return rowCount ?? 0;
}

/** Resumes up to `most` deliveries whose account and hook are no longer paused, earliest first; they wait for the limit. @returns how many */
export async function resumeDeliveries(db: Queryable, accountId: number, most: number): Promise<number> {
  const { rowCount: pausedHooks } = await db.query(
    'SELECT FROM hooks WHERE account_id = $1 AND paused_at IS NOT NULL LIMIT 1',
    [accountId],
  );
  const { rowCount } = await db.query(
    `WITH RECURSIVE ${pausedHooks ? ofSomeHooks : ofAllHooks}
     UPDATE parked SET published_at = NULL, due_at = 'infinity' WHERE delivery_id IN (
       SELECT delivery_id FROM parked
        WHERE ${isPaused} AND delivery_id IN (SELECT delivery_id FROM free)
          AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = $1 AND a.paused_at IS NOT NULL)
          FOR UPDATE SKIP LOCKED)`,
    [accountId, most],
  );
  return rowCount ?? 0;
}

const ofAllHooks = `
  free AS (SELECT delivery_id FROM parked WHERE ${isPaused} AND account_id = $1 ORDER BY delivery_id LIMIT $2)`;

/** SQL, worded like its index. Damaged rows count as hook 0. */
const pausedHook = `coalesce(${hookOfJob}, 0)`;

// One index lookup per hook with paused rows, then one per hook that is not paused: the paused rows of the others are not read.
const ofSomeHooks = `
  resting AS (
    (SELECT ${pausedHook} AS hook FROM parked p WHERE ${isPaused} AND account_id = $1 ORDER BY 1 LIMIT 1)
    UNION ALL
    SELECT (SELECT ${pausedHook} FROM parked p WHERE ${isPaused} AND account_id = $1 AND ${pausedHook} > r.hook ORDER BY 1 LIMIT 1)
      FROM resting r WHERE r.hook IS NOT NULL
  ), free AS (
    SELECT first.delivery_id FROM resting r CROSS JOIN LATERAL (
      SELECT delivery_id FROM parked p WHERE ${isPaused} AND account_id = $1 AND ${pausedHook} = r.hook ORDER BY delivery_id LIMIT $2) first
     WHERE r.hook IS NOT NULL AND NOT EXISTS (SELECT FROM hooks h WHERE h.id = r.hook AND h.paused_at IS NOT NULL)
     ORDER BY 1 LIMIT $2
  )`;

/** Accounts that are not paused but have paused rows, because a hook is paused or by mistake. One index lookup per account. */
export async function findAccountsWithPaused(db: Queryable): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(`
    WITH RECURSIVE paused AS (
      (SELECT account_id FROM parked WHERE ${isPaused} ORDER BY account_id LIMIT 1)
      UNION ALL
      SELECT (SELECT account_id FROM parked WHERE ${isPaused} AND account_id > h.account_id ORDER BY account_id LIMIT 1)
        FROM paused h WHERE h.account_id IS NOT NULL
    )
    SELECT account_id AS id FROM paused h
     WHERE account_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = h.account_id AND a.paused_at IS NOT NULL)`);
  return rows.map(({ id }) => id);
}
