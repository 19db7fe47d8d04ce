/** Listeners in PostgreSQL: a row per command-line hook, deleted with the hook. */

import type { Queryable } from '@gatepost/webhook-db/pool';

/** How long a hook waits for a listener if its socket has not been opened yet, or was closed by its server. */
const firstConnectTime = "interval '2 minutes'";
const reconnectTime = "interval '30 seconds'";
/** How long a process may be silent before its sockets count as gone. */
const lease = "interval '20 seconds'";

/** Added along with a new hook. `url`: where its socket is. */
export async function addListener(db: Queryable, hookId: number, url: string, activates: boolean): Promise<void> {
  await db.query('UPDATE hooks SET url = $2 WHERE id = $1', [hookId, url]);
  await db.query(`INSERT INTO listeners (hook_id, until, activates) VALUES ($1, now() + ${firstConnectTime}, $2)`, [
    hookId,
    activates,
  ]);
}

/** @returns whether the hook exists. */
export async function openSession(db: Queryable, hookId: number, session: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE listeners SET session = $2, until = now() + ${lease} WHERE hook_id = $1`,
    [hookId, session],
  );
  return rowCount === 1;
}

/** Activates the hook once, if that was requested at its creation. */
export async function activateFirst(db: Queryable, hookId: number): Promise<void> {
  await db.query(
    `WITH first AS (UPDATE listeners SET activates = false WHERE hook_id = $1 AND activates RETURNING hook_id)
     UPDATE hooks SET active = true, updated_at = now() WHERE id IN (SELECT hook_id FROM first)`,
    [hookId],
  );
}

/** The current names of a hook's place. */
export async function findPlaceNames(
  db: Queryable,
  hookId: number,
): Promise<{ login: string; repository: string | undefined } | undefined> {
  const { rows } = await db.query<{ login: string; repository: string | null }>({
    name: 'names of a place of a hook',
    text: `SELECT a.login, r.name AS repository FROM hooks h JOIN accounts a ON a.id = h.account_id
             LEFT JOIN repositories r ON r.id = h.repository_id WHERE h.id = $1`,
    values: [hookId],
  });
  return rows[0] && { login: rows[0].login, repository: rows[0].repository ?? undefined };
}

/** Whether somebody listens to the hook now. */
export async function hasListener(db: Queryable, hookId: number): Promise<boolean> {
  const { rowCount } = await db.query(
    'SELECT FROM listeners WHERE hook_id = $1 AND session IS NOT NULL AND until > now()',
    [hookId],
  );
  return rowCount === 1;
}

/** Reports that these sockets are open. */
export async function renewSessions(db: Queryable, open: { hookIds: number[]; sessions: string[] }): Promise<void> {
  await db.query(`UPDATE listeners SET until = now() + ${lease} WHERE hook_id = ANY ($1) AND session = ANY ($2)`, [
    open.hookIds,
    open.sessions,
  ]);
}

/** These sockets are closed; their hooks stay for a while, in case the listeners come back. */
export async function releaseSessions(db: Queryable, closed: { hookIds: number[]; sessions: string[] }): Promise<void> {
  await db.query(
    `UPDATE listeners SET session = NULL, until = now() + ${reconnectTime} WHERE hook_id = ANY ($1) AND session = ANY ($2)`,
    [closed.hookIds, closed.sessions],
  );
}

/** A hook ends with its socket, unless another socket has taken over. */
export async function endSession(db: Queryable, hookId: number, session: string): Promise<void> {
  await db.query(
    'DELETE FROM hooks WHERE id IN (SELECT hook_id FROM listeners WHERE hook_id = $1 AND session = $2 FOR UPDATE)',
    [hookId, session],
  );
}

/** Deletes hooks without a listener: their process died, or nobody came. */
export async function deleteAbandoned(db: Queryable): Promise<number> {
  const { rowCount } = await db.query({
    name: 'hooks without a listener',
    text: `DELETE FROM hooks WHERE id IN (
             SELECT hook_id FROM listeners WHERE until < now() ORDER BY until LIMIT 100 FOR UPDATE SKIP LOCKED)`,
  });
  return rowCount ?? 0;
}
