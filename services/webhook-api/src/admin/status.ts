/** `/admin/status`: what waits, where, why, and since when. Everything is read from where it waits, RabbitMQ's queues and the table `parked`. */
import { setTimeout as wait } from 'node:timers/promises';
import { findShards } from '@gatepost/amqp/find-shards';
import { type Shards, topologyOf } from '@gatepost/contracts/shards';
import { topology } from '@gatepost/contracts/topology';
import { hasDueTime, waits } from '@gatepost/webhook-db/backlog';
import { isPaused } from '@gatepost/webhook-db/paused';
import type { Pool } from '@gatepost/webhook-db/pool';
import { z } from 'zod';
import { tokenOperation } from '../http/operation.ts';
import { seconds } from '../objects/time.ts';
import type { Parts } from '../parts.ts';
import { type Counted, readSince } from '../waiting/count.ts';
import { reasonSchema } from '../waiting/present.ts';
import { isHandedOver, reasons } from '../waiting/rows.ts';

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
    SELECT account_id, 'paused', count(*)::integer, min(delivery_id), NULL FROM parked WHERE ${isPaused} GROUP BY 1
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
