/** Replays in PostgreSQL. The dispatchers carry them out. */
import { inTransaction } from '@gatepost/runtime/transaction';
import type { Pool, Queryable } from '@gatepost/webhook-db/pool';
import type { ReplayStatus } from '@gatepost/webhook-db/replays';

export type ReplayRow = {
  id: string;
  hook_id: number;
  state: 'counting' | 'running' | 'done' | 'stopped';
  stopped_because: 'asked' | 'hook_inactive' | null;
  since: Date;
  until: Date;
  status: ReplayStatus;
  events: string[] | null;
  counted: number;
  done: number;
  failed: number;
  created_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
};

const columns = `r.id, r.hook_id, r.state, r.stopped_because, r.since, r.until, r.status, r.events, r.counted, o.done, o.failed,
  r.created_at, r.started_at, r.ended_at`;
const tables = 'replays r JOIN replay_outcomes o ON o.replay_id = r.id';

/** A replay as requested. `until` undefined: until now. */
export type Asked = { since: Date; until: Date | undefined; status: ReplayStatus; events: string[] | null };

/** How many replays of an account may run at once. */
export const runningMax = 5;

export type Begun = { kind: 'begun' | 'runs'; row: ReplayRow } | { kind: 'another'; id: string } | { kind: 'too_many' };

/**
 * Begins a replay, unless the hook has a running one: `runs` is the same request, `another` a different one. `checkTime` is that of the request:
 * none begins after it was answered 503.
 */
export function beginReplay(
  pool: Pool,
  hook: { id: number; accountId: number; subject: string },
  asked: Asked,
  checkTime: () => void,
): Promise<Begun> {
  const { since, status, events } = asked;
  const request = JSON.stringify({ since, until: asked.until ?? null, status, events });
  return inTransaction(pool, async (client): Promise<Begun> => {
    // One at a time per account.
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('gatepost replays', $1))", [hook.accountId]);
    const { rows: running } = await client.query<ReplayRow & { is_same: boolean }>(
      `SELECT ${columns}, r.asked = $2::jsonb AS is_same FROM ${tables} WHERE r.hook_id = $1 AND r.ended_at IS NULL`,
      [hook.id, request],
    );
    if (running[0])
      return running[0].is_same ? { kind: 'runs', row: running[0] } : { kind: 'another', id: running[0].id };
    const { rows: counted } = await client.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM replays WHERE account_id = $1 AND ended_at IS NULL',
      [hook.accountId],
    );
    if (counted[0]!.count >= runningMax) return { kind: 'too_many' };
    const { rows } = await client.query<ReplayRow>(
      `WITH r AS (
         INSERT INTO replays (hook_id, account_id, asked, asked_by, since, until, status, events)
         VALUES ($1, $2, $3, $4, $5, least($6, now()), $7, $8) RETURNING *
       ), o AS (
         INSERT INTO replay_outcomes (replay_id) SELECT id FROM r RETURNING *
       ) SELECT ${columns} FROM r, o`,
      [hook.id, hook.accountId, request, hook.subject, since, asked.until, status, events],
    );
    checkTime(); // as late as possible: a commit cannot be taken back
    return { kind: 'begun', row: rows[0]! };
  });
}

export async function findReplay(pool: Queryable, hookId: number, id: number): Promise<ReplayRow | undefined> {
  const { rows } = await pool.query<ReplayRow>({
    name: 'replay',
    text: `SELECT ${columns} FROM ${tables} WHERE r.hook_id = $1 AND r.id = $2`,
    values: [hookId, id],
  });
  return rows[0];
}

/** A page of a hook's replays, newest first, and their total number. */
export async function listReplays(
  pool: Queryable,
  hookId: number,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: ReplayRow[]; total: number }> {
  const { rows } = await pool.query<ReplayRow>({
    name: 'replays',
    text: `SELECT ${columns} FROM ${tables} WHERE r.hook_id = $1 ORDER BY r.id DESC LIMIT $2 OFFSET $3`,
    values: [hookId, limit, offset],
  });
  const { rows: counted } = await pool.query<{ total: number }>({
    name: 'count replays',
    text: 'SELECT count(*)::integer AS total FROM replays WHERE hook_id = $1',
    values: [hookId],
  });
  return { rows, total: counted[0]!.total };
}
