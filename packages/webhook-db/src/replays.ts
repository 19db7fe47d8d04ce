/**
 * Replays: a hook's deliveries made once more, as many as were asked for. A replay walks through the log (or, for missed events, through the
 * events), first to count and then to hand over: it parks the next deliveries and notes its position in one transaction
 * (docs/decisions/0418-numbers-and-replays.md).
 */
import type { PoolClient } from 'pg';
import { payloadOfRow, type Row } from './parked.ts';
import type { Queryable } from './pool.ts';
import { ownSource } from './requested.ts';
import { isSwept } from './sweeps.ts';

/** `failure`: never delivered successfully; `missed`: matching events of the hook's place that made no delivery to it. */
export const replayStatuses = ['failure', 'all', 'missed'] as const;
export type ReplayStatus = (typeof replayStatuses)[number];

/** A replay that has not ended, with what it needs to know of its hook. */
export type Replay = {
  id: string;
  hook_id: number;
  account_id: number;
  /** null: an organization hook. */
  repository_id: number | null;
  /** What the hook subscribes to. */
  hook_events: string[];
  since: Date;
  until: Date;
  status: ReplayStatus;
  /** null: all. */
  events: string[] | null;
  state: 'counting' | 'running';
  /** Deliveries handed over that have no outcome yet. */
  waiting: number;
} & Cursor;

/** The last row examined: a delivery in the log, or an event. */
export type Cursor = { after_id: string; after_at: string; after_key: string };

/** A delivery to be made once more. */
export type Replayed = Cursor & {
  guid: string;
  event: string;
  action: string | null;
  event_key: string;
  event_on: string;
  repository_id: number | null;
  occurred_at: Date;
  /** A bigint; null: it has none yet. */
  sequence: string | null;
};

/** Unfinished replays after `afterId`, each with the number of its deliveries without an outcome. */
export async function listRunning(
  db: Queryable,
  afterId: string,
  most: number,
): Promise<{ id: string; waiting: number }[]> {
  const { rows } = await db.query<{ id: string; waiting: number }>({
    name: 'replays that run',
    text: `SELECT r.id, (SELECT count(*)::integer FROM parked p WHERE p.replay_id = r.id) AS waiting
             FROM replays r WHERE r.ended_at IS NULL AND r.id > $1 ORDER BY r.id LIMIT $2`,
    values: [afterId, most],
  });
  return rows;
}

/** Locks an unfinished replay until the transaction ends; undefined where another dispatcher has it. */
export async function lockReplay(client: PoolClient, id: string): Promise<Replay | undefined> {
  const { rows } = await client.query<Omit<Replay, 'waiting'>>({
    name: 'lock a replay',
    text: `SELECT r.id, r.hook_id, r.account_id, r.since, r.until, r.status, r.events, r.state, r.after_id, r.after_at::text, r.after_key,
                  h.repository_id, h.events AS hook_events
             FROM replays r JOIN hooks h ON h.id = r.hook_id
            WHERE r.id = $1 AND r.ended_at IS NULL FOR UPDATE OF r SKIP LOCKED`,
    values: [id],
  });
  const [replay] = rows;
  if (!replay) return undefined;
  // Not in the statement that locks: it would not count what another dispatcher handed over just before it let the row go.
  const { rows: counted } = await client.query<{ waiting: number }>({
    name: 'count what waits of a replay',
    text: 'SELECT count(*)::integer AS waiting FROM parked WHERE replay_id = $1',
    values: [id],
  });
  return { ...replay, waiting: counted[0]!.waiting };
}

/** How many rows one step examines, so that it takes some milliseconds whatever it looks for. */
const rowsMax = 2_000;

// An event made up for one hook reaches no other, and is signed under no later secret (decision 0313).
// In these texts `{name}` stands for the replay's value of that name.

/** SQL: a redirect does not count as success, since nobody follows it. */
const isSuccess = (row: string) => `${row}.status_code BETWEEN 200 AND 299`;

/** SQL: whether any delivery but the first attempt succeeded, using the index of such deliveries. */
const laterSuccess = (guid: string) => `
  SELECT FROM deliveries a
   WHERE a.guid = ${guid} AND (a.attempt > 1 OR a.redelivery) AND a.hook_id = {hook_id} AND ${isSuccess('a')}`;

const isInDays = (day: string) =>
  `${day} BETWEEN ({since}::timestamptz AT TIME ZONE 'UTC')::date AND ({until}::timestamptz AT TIME ZONE 'UTC')::date`;

/** One way to search: the next rows `d` in order, the condition for wanted ones, and the columns read from these. */
type SearchPlan = { part: string; order: string; last: string; cursor: string; condition: string; columns: string };

const searchLog = (also = ''): SearchPlan => ({
  part: `SELECT * FROM deliveries d
          WHERE d.hook_id = {hook_id} AND d.id > {after_id} AND ${isInDays('d.delivered_on')} ORDER BY d.id LIMIT ${rowsMax}`,
  order: 'd.id',
  last: 'd.id DESC',
  cursor: `d.id AS after_id, '-infinity' AS after_at, '00000000-0000-0000-0000-000000000000' AS after_key`,
  // A test of the latest push has that push's event, and a guid of its own.
  condition: `JOIN events e ON e.key = d.event_key AND e.received_on = d.event_on AND e.guid = d.guid
         WHERE d.attempt = 1 AND NOT d.redelivery AND d.event <> 'ping' AND e.source <> '${ownSource}' AND d.delivered_at BETWEEN {since} AND {until}
           AND ({events}::text[] IS NULL OR d.event = ANY ({events})) AND e.payload IS NOT NULL ${also}`,
  columns: 'd.guid, d.event, d.action, d.event_key, d.event_on::text, d.repository_id, e.occurred_at, d.sequence',
});

/** SQL, for an event `d`: the hook's place in its lists; null: it was not for this hook. */
const position = 'array_position(d.hook_ids, {hook_id}::integer)';

/** SQL: the hook was not active when the turn of the event `d` came, and nobody will deliver it. */
const wasCancelled = `${isSwept('d')}
  AND NOT EXISTS (SELECT FROM deliveries l WHERE l.id = d.delivery_ids[${position}] AND l.delivered_on >= d.received_on - 1)
  AND NOT EXISTS (SELECT FROM parked p WHERE p.delivery_id = d.delivery_ids[${position}])`;

const searchPlans: Record<ReplayStatus, SearchPlan> = {
  all: searchLog(),
  failure: searchLog(`AND NOT ${isSuccess('d')} AND NOT EXISTS (${laterSuccess('d.guid')})`),
  missed: {
    part: `SELECT * FROM events d
            WHERE d.account_id = {account_id} AND (d.received_at, d.key) > ({after_at}::timestamptz, {after_key}::uuid)
              AND d.received_at BETWEEN {since} AND {until} AND ${isInDays('d.received_on')}
            ORDER BY d.received_at, d.key LIMIT ${rowsMax}`,
    order: 'd.received_at, d.key',
    last: 'd.received_at DESC, d.key DESC',
    cursor: '0 AS after_id, d.received_at::text AS after_at, d.key AS after_key',
    condition: `WHERE ({repository_id}::integer IS NULL OR d.repository_id = {repository_id}) AND ({events}::text[] IS NULL OR d.type = ANY ({events}))
              AND ('*' = ANY ({hook_events}::text[]) OR d.type = ANY ({hook_events})) AND d.type <> 'ping' AND d.source <> '${ownSource}'
              AND (d.unmatched IS NULL OR d.unmatched = 'no_hook') AND d.payload IS NOT NULL
              AND (${position} IS NULL OR (${wasCancelled})) AND NOT EXISTS (${laterSuccess('d.guid')})`,
    // A number given with the event, or by an earlier replay, is kept.
    columns: `d.guid, d.type AS event, d.action, d.key AS event_key, d.received_on::text AS event_on, d.repository_id, d.occurred_at,
              coalesce(d.sequences[${position}], (SELECT a.sequence FROM deliveries a
                WHERE a.guid = d.guid AND (a.attempt > 1 OR a.redelivery) AND a.hook_id = {hook_id} AND a.sequence IS NOT NULL LIMIT 1)) AS sequence`,
  },
};

/** Counts the wanted rows among the next ones. `to`: how far it has looked; `isEnd`: there are no more. */
export async function countNext(
  client: PoolClient,
  replay: Replay,
): Promise<{ count: number; to: Cursor; isEnd: boolean }> {
  const { part, condition } = searchPlans[replay.status];
  const { rows } = await ask<{ count: number }>(
    client,
    `count ${replay.status}`,
    `SELECT count(*)::integer AS count FROM (${part}) d ${condition}`,
    replay,
  );
  return { count: rows[0]!.count, ...(await findPosition(client, replay)) };
}

/** Up to `most` of the wanted rows among the next ones, in order. */
export async function findNext(
  client: PoolClient,
  replay: Replay,
  most: number,
): Promise<{ found: Replayed[]; to: Cursor; isEnd: boolean }> {
  const { part, condition, order, cursor, columns } = searchPlans[replay.status];
  const { rows: found } = await ask<Replayed>(
    client,
    `find ${replay.status}`,
    `SELECT ${cursor}, ${columns} FROM (${part}) d ${condition} ORDER BY ${order} LIMIT {most}`,
    { ...replay, most },
  );
  if (found.length === most) return { found, to: found.at(-1)!, isEnd: false };
  return { found, ...(await findPosition(client, replay)) };
}

/** How far one step looks, and whether that was the end. */
async function findPosition(client: PoolClient, replay: Replay): Promise<{ to: Cursor; isEnd: boolean }> {
  const { part, cursor, last } = searchPlans[replay.status];
  const { rows } = await ask<Cursor & { looked: number }>(
    client,
    `look over ${replay.status}`,
    `SELECT ${cursor}, (count(*) OVER ())::integer AS looked FROM (${part}) d ORDER BY ${last} LIMIT 1`,
    replay,
  );
  const [row] = rows;
  return row ? { to: row, isEnd: row.looked < rowsMax } : { to: replay, isEnd: true };
}

function ask<Row extends object>(client: PoolClient, what: string, text: string, from: Record<string, unknown>) {
  const names: string[] = [];
  const numbered = text.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return client.query<Row>({ name: `replay: ${what}`, text: numbered, values: names.map((name) => from[name]) });
}

/** Saves the position of the count; at its end the handover begins, from the start. */
export async function noteCounted(
  client: PoolClient,
  { id }: Replay,
  { count, to, isEnd }: { count: number; to: Cursor; isEnd: boolean },
): Promise<void> {
  await client.query(
    isEnd
      ? {
          name: 'note that a replay has counted all',
          text: `UPDATE replays SET counted = counted + $2, state = 'running', started_at = now(),
                        after_id = DEFAULT, after_at = DEFAULT, after_key = DEFAULT WHERE id = $1`,
          values: [id, count],
        }
      : {
          name: 'note what a replay has counted',
          text: 'UPDATE replays SET counted = counted + $2, after_id = $3, after_at = $4, after_key = $5 WHERE id = $1',
          values: [id, count, to.after_id, to.after_at, to.after_key],
        },
  );
}

/** Reserves numbers for events that the hook missed: they are promised to it now. @returns the first of them. */
export async function nextNumbers(client: PoolClient, hookId: number, count: number): Promise<number> {
  const { rows } = await client.query<{ last: string }>({
    name: 'next numbers of a hook',
    text: `INSERT INTO hook_sequences AS s (hook_id, last) VALUES ($1, $2)
           ON CONFLICT (hook_id) DO UPDATE SET last = s.last + excluded.last RETURNING last`,
    values: [hookId, count],
  });
  return Number(rows[0]!.last) - count + 1;
}

export type ReplayJob = { eventKey: string; eventOn: string };

/**
 * Parks deliveries of a replay, under ids from the database, and saves its position. Their reason is `again`, which goes after everything else
 * of the account (waiting.ts), and they count as published.
 */
export async function handOverNext(
  client: PoolClient,
  replay: Replay,
  jobs: readonly ReplayJob[],
  to: Cursor,
  payloadMaxBytes: number,
): Promise<Row[]> {
  const parked = jobs.map((job) => ({ event_key: job.eventKey, event_on: job.eventOn, job: JSON.stringify(job) }));
  const { after_id, after_at, after_key } = to;
  const values = [replay.id, replay.account_id, jobs.length, after_id, after_at, after_key, JSON.stringify(parked)];
  const { rows } = await client.query<Row>({
    name: 'hand over deliveries of a replay',
    text: `WITH moved AS (
             UPDATE replays SET handed = handed + $3, after_id = $4, after_at = $5, after_key = $6 WHERE id = $1),
           p AS (
             INSERT INTO parked (delivery_id, account_id, reason, due_at, published_at, event_key, event_on, job, replay_id)
             SELECT nextval('delivery_ids'), $2, 'again', 'infinity', now(), event_key, event_on, job, $1
               FROM json_to_recordset($7) AS r (event_key uuid, event_on date, job text) RETURNING *)
           SELECT delivery_id::bigint, account_id, reason, job, ${payloadOfRow('$8')} FROM p ORDER BY delivery_id`,
    values: [...values, payloadMaxBytes],
  });
  return rows;
}

/** Ends a replay. `done`: everything is handed over and has its outcome; the count drops rows that were counted but no longer match. */
export async function endReplay(
  client: Queryable,
  { id }: { id: string },
  how: 'done' | 'asked' | 'hook_inactive',
): Promise<void> {
  if (how === 'done')
    await client.query(
      `WITH ended AS (UPDATE replays SET state = 'done', counted = handed, ended_at = now()
                       WHERE id = $1 AND ended_at IS NULL RETURNING id, handed)
       UPDATE replay_outcomes o SET done = e.handed FROM ended e WHERE o.replay_id = e.id`,
      [id],
    );
  else
    await client.query(
      `UPDATE replays SET state = 'stopped', stopped_because = $2, ended_at = now() WHERE id = $1 AND ended_at IS NULL`,
      [id, how],
    );
}

/**
 * Deletes deliveries that stopped replays handed over and nobody has started; except missed events, without which the hook's new numbers
 * would have gaps.
 */
export async function forgetStopped(db: Queryable): Promise<void> {
  await db.query({
    name: 'forget what stopped replays have handed over',
    text: `DELETE FROM parked WHERE delivery_id IN (
             SELECT p.delivery_id FROM parked p JOIN replays r ON r.id = p.replay_id
              WHERE p.replay_id IS NOT NULL AND r.ended_at IS NOT NULL AND r.status <> 'missed' AND (p.published_at IS NULL OR p.published_at = 'infinity')
                FOR UPDATE OF p SKIP LOCKED)`,
  });
}
