/**
 * What waits, why, and since when: `/admin/status` overall, `/accounts/{login}/waiting` for one account's deliveries. Everything is read from
 * where it waits, RabbitMQ's queues and the table `parked`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { findShards } from '@gatepost/amqp/find-shards';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { type Shards, topologyOf } from '@gatepost/contracts/shards';
import { topology } from '@gatepost/contracts/topology';
import { hasDueTime, waits } from '@gatepost/webhook-db/backlog';
import { isFollowUp } from '@gatepost/webhook-db/parked';
import { isHeld } from '@gatepost/webhook-db/paused';
import type { Pool } from '@gatepost/webhook-db/pool';
import { z } from 'zod';
import { tokenOperation } from '../http/operation.ts';
import { linkHeader, perPage } from '../http/page.ts';
import { seconds } from '../objects/time.ts';
import type { Parts } from '../parts.ts';
import { loadAccount } from './organization.ts';

export const reasons = ['limit', 'retry', 'busy', 'paused', 'handed_over'] as const;

export const reasonSchema = z.enum(reasons).meta({
  description:
    "`limit`: it waits for its account's limit; `retry`: it waits for its next attempt; `busy`: the maximum number of attempts to its receiver is in flight; `paused`: its organization or hook is paused; `handed_over`: RabbitMQ or a dispatcher has it",
});

/** SQL, for a row `p`. */
const reasonOf = `CASE WHEN ${isHeld} THEN 'paused' WHEN published_at IS NOT NULL THEN 'handed_over'
                       WHEN due_at = 'infinity' THEN 'limit' WHEN reason = 'again' THEN 'busy' ELSE reason END`;

export const isHandedOver = "published_at < 'infinity'";

const time = z.iso.datetime();

const statusSchema = z
  .object({
    queues: z.array(
      z.object({ name: z.string(), messages: z.int().nullable().meta({ description: 'null: RabbitMQ is away' }) }),
    ),
    waiting: z.array(
      z.object({ reason: reasonSchema, deliveries: z.int(), since: time.nullable(), next_at: time.nullable() }),
    ),
    organizations: z
      .array(
        z.object({ login: z.string().nullable(), reason: reasonSchema, deliveries: z.int(), since: time.nullable() }),
      )
      .meta({ description: 'Those with the most waiting deliveries, up to 20' }),
    paused: z.object({
      organizations: z.array(z.object({ login: z.string(), since: time })),
      hooks: z.array(z.object({ id: z.int(), organization: z.string(), since: time })),
    }),
  })
  .meta({ id: 'AdminStatus' });

const topMax = 20;
const pausedMax = 100;

export const getStatus = tokenOperation({
  id: 'get-status',
  summary: 'Get what is waiting, where, why, and since when',
  answers: { 200: { description: 'The state of the deliveries', schema: statusSchema } },
  async run({ parts }) {
    const { pool } = parts;
    const queues = await Promise.race([
      countQueues(parts),
      wait(parts.storeTimeoutMs / 2, uncounted(topology.queues), { ref: false }), // RabbitMQ does not answer
    ]);
    const { rows } = await pool.query<Counted & { account_id: number | null; login: string | null }>(countText);
    const all = rows.filter(({ account_id }) => account_id === null);
    const top = rows.filter(({ account_id }) => account_id !== null);
    const sinceOf = await readSince(pool, [...all, ...top]);
    const shown = ({ reason, deliveries, first }: Counted) => ({ reason, deliveries, since: sinceOf(first) });
    return {
      status: 200,
      body: {
        queues,
        waiting: all
          .map((row) => ({ ...shown(row), next_at: row.next_at ? seconds(row.next_at) : null }))
          .sort((a, b) => reasons.indexOf(a.reason) - reasons.indexOf(b.reason)),
        organizations: top
          .map((row) => ({ login: row.login, ...shown(row) }))
          .sort((a, b) => b.deliveries - a.deliveries),
        paused: await listPaused(pool),
      },
    };
  },
});

/** By reason, and for the accounts with most waiting: from indexes, except the few deliveries that are handed over. */
const countText = `
  WITH groups AS MATERIALIZED (
    SELECT account_id, 'limit' AS reason, count(*)::integer AS deliveries, min(delivery_id) AS first, NULL::timestamptz AS next_at
      FROM parked WHERE ${waits} GROUP BY 1
    UNION ALL
    SELECT account_id, CASE reason WHEN 'again' THEN 'busy' ELSE reason END, count(*)::integer, min(delivery_id), min(due_at)
      FROM parked WHERE ${hasDueTime} GROUP BY 1, 2
    UNION ALL
    SELECT account_id, 'paused', count(*)::integer, min(delivery_id), NULL FROM parked WHERE ${isHeld} GROUP BY 1
    UNION ALL
    SELECT account_id, 'handed_over', count(*)::integer, min(delivery_id), NULL FROM parked WHERE ${isHandedOver} GROUP BY 1
  )
  SELECT counted.*, a.login FROM (
    SELECT NULL::integer AS account_id, reason, sum(deliveries)::integer AS deliveries, min(first) AS first, min(next_at) AS next_at
      FROM groups GROUP BY reason
    UNION ALL
    (SELECT * FROM groups ORDER BY deliveries DESC LIMIT ${topMax})
  ) counted LEFT JOIN accounts a ON a.id = counted.account_id`;

const uncounted = (queues: { name: string }[]) => queues.map(({ name }) => ({ name, messages: null }));

/** Covers all of RabbitMQ's shards, however many the dispatchers use; while it is away, the queues that always exist. */
async function countQueues({ publisher, amqpUrl }: Parts): Promise<{ name: string; messages: number | null }[]> {
  if (!publisher.isConnected()) return uncounted(topology.queues);
  const there = await findShards(amqpUrl, { events: 1, deliveries: 1 }).catch(() => undefined);
  if (!there) return uncounted(topology.queues);
  const used = ({ there }: Shards) => ({ used: there, there });
  const { queues } = topologyOf({ events: used(there.events), deliveries: used(there.deliveries) });
  return Promise.all(
    queues.map(async ({ name }) => ({ name, messages: await publisher.waiting(name).catch(() => null) })),
  );
}

export type Counted = { reason: (typeof reasons)[number]; deliveries: number; first: string; next_at?: Date | null };

/** For the first delivery of each group: since when its limit has held it back, or when its event occurred. */
export async function readSince(pool: Pool, groups: Counted[]): Promise<(first: string) => string | null> {
  const { rows } = await pool.query<{ delivery_id: string; job: string }>(
    'SELECT delivery_id, job FROM parked WHERE delivery_id = ANY ($1)',
    [groups.map(({ first }) => first)],
  );
  const since = new Map(rows.map((row) => [row.delivery_id, sinceOf(readJob(row.job))]));
  return (first) => since.get(first) ?? null;
}

async function listPaused(pool: Pool) {
  const { rows: organizations } = await pool.query<{ login: string; since: Date }>(
    `SELECT login, paused_at AS since FROM accounts WHERE paused_at IS NOT NULL ORDER BY 2 LIMIT ${pausedMax}`,
  );
  const { rows: hooks } = await pool.query<{ id: number; organization: string; since: Date }>(
    `SELECT h.id, a.login AS organization, h.paused_at AS since FROM hooks h JOIN accounts a ON a.id = h.account_id
      WHERE h.paused_at IS NOT NULL ORDER BY 3 LIMIT ${pausedMax}`,
  );
  const shown = <T extends { since: Date }>(row: T) => ({ ...row, since: seconds(row.since) });
  return { organizations: organizations.map(shown), hooks: hooks.map(shown) };
}

export const waitingSchema = z
  .object({
    id: z.int().meta({ description: "The delivery's id, which it will also have in the log" }),
    reason: reasonSchema,
    guid: z.string().nullable(),
    event: z.string().nullable(),
    action: z.string().nullable(),
    hook_id: z.int().nullable(),
    attempt: z.int().nullable(),
    redelivery: z.boolean(),
    occurred_at: time.nullable(),
    throttled_at: time.nullable(),
    due_at: time.nullable().meta({ description: 'When it continues by itself; null: when its turn comes' }),
  })
  .meta({ id: 'WaitingDelivery' });

export type WaitingRow = {
  delivery_id: string;
  reason: (typeof reasons)[number];
  /** As stored in its row. */
  parked_as: string;
  due_at: Date | number;
  published_at: Date | number | null;
  parked_at: Date;
  job: string;
};

const waitingColumns = `delivery_id, ${reasonOf} AS reason, p.reason AS parked_as, due_at, published_at, parked_at, job`;

const query = z.object({
  per_page: perPage,
  cursor: z
    .string()
    .regex(/^\d{1,16}$/)
    .optional()
    .meta({ description: 'Where a page begins: the cursor of the `Link` header' }),
});

export const listWaiting = tokenOperation({
  id: 'list-waiting',
  summary: "List an account's waiting deliveries",
  query,
  answers: { 200: { description: 'A page of them, in the order of their ids', schema: z.array(waitingSchema) } },
  async run({ parts: { pool }, params, query: { per_page: most, cursor }, url }) {
    const { id } = await loadAccount(pool, params.login);
    const { rows } = await pool.query<WaitingRow>(pageText, [id, cursor ?? '0', most]);
    const next = rows[most];
    const links: [string, string][] = next ? [['next', `${url}?per_page=${most}&cursor=${next.delivery_id}`]] : [];
    return { status: 200, body: rows.slice(0, most).map(presentWaiting), headers: linkHeader(links) };
  },
});

/** SQL: an account's first rows that meet the condition, worded like an index that has them in this order. */
const firstOf = (condition: string) =>
  `(SELECT delivery_id FROM parked WHERE ${condition} AND account_id = $1 AND delivery_id >= $2 ORDER BY delivery_id LIMIT $3::integer + 1)`;

const pageText = `
  SELECT ${waitingColumns} FROM parked p WHERE delivery_id IN (
    ${['throttle', 'retry', 'busy', 'again'].map((reason) => firstOf(`${waits} AND reason = '${reason}'`)).join(' UNION ALL ')}
    UNION ALL ${firstOf(hasDueTime)} UNION ALL ${firstOf(isHeld)}
    UNION ALL (SELECT delivery_id FROM parked WHERE ${isHandedOver} AND account_id = $1 AND delivery_id >= $2))
   ORDER BY delivery_id LIMIT $3::integer + 1`;

/** Up to `most` waiting deliveries: first attempts by the ids that their events name, later ones (`isFollowUp`) by the event keys. */
export async function findWaiting(
  db: Pick<Pool, 'query'>,
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

export function presentWaiting({ delivery_id, reason, due_at, published_at, job: text }: WaitingRow): object {
  const job = readJob(text);
  const isTimed = due_at instanceof Date && published_at === null;
  return {
    id: Number(delivery_id),
    reason,
    guid: job.guid ?? null,
    event: job.event ?? null,
    action: job.action ?? null,
    hook_id: job.hookId ?? null,
    attempt: job.attempt ?? null,
    redelivery: job.redelivery ?? false,
    occurred_at: shownTime(job.occurredAt),
    throttled_at: shownTime(job.throttledAt),
    due_at: isTimed ? seconds(due_at) : null,
  };
}

const sinceOf = (job: Partial<DeliveryJob>) => shownTime(job.throttledAt ?? job.occurredAt);

const shownTime = (text: string | null | undefined) =>
  text && !Number.isNaN(Date.parse(text)) ? seconds(new Date(text)) : null;

/** A damaged row is shown all the same. */
export function readJob(text: string): Partial<DeliveryJob> {
  try {
    return JSON.parse(text) as Partial<DeliveryJob>;
  } catch {
    return {};
  }
}
