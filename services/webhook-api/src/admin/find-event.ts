/** `/admin/events/{guid}`: where an event is: in the queue, stored, waiting, delivered or failed, or among the dead letters. */
import type { Pool } from '@gatepost/webhook-db/pool';
import { z } from 'zod';
import { notFound } from '../http/errors.ts';
import { tokenOperation } from '../http/operation.ts';
import { seconds } from '../objects/time.ts';
import { deadLetterSchema, findDeadLetters } from './dead-letters.ts';
import { findQueued, queuedSchema } from './queued.ts';
import { findWaiting, waitingSchema } from './waiting.ts';

const time = z.iso.datetime();

const foundSchema = z
  .object({
    guid: z.string(),
    queued: z.array(queuedSchema).meta({
      description:
        'Messages that wait to be routed, of an event that is not stored yet; the first 2,000 of each shard are looked at, and what a dispatcher has in hand is not seen',
    }),
    events: z.array(
      z.object({
        organization: z.string().nullable(),
        repository: z.string().nullable(),
        source: z.string(),
        id: z.string(),
        event: z.string(),
        action: z.string().nullable(),
        occurred_at: time,
        received_at: time,
        routed_at: time.nullable().meta({ description: 'null: its deliveries are not all handed over yet' }),
        unmatched: z.string().nullable().meta({ description: 'Why it went to no hook' }),
        hooks: z.array(z.int()),
      }),
    ),
    deliveries: z.array(
      z.object({
        id: z.int(),
        hook_id: z.int(),
        attempt: z.int(),
        redelivery: z.boolean(),
        delivered_at: time,
        status: z.string(),
        status_code: z.int(),
        error: z.string().nullable(),
        throttled_at: time.nullable(),
      }),
    ),
    waiting: z.array(waitingSchema),
    dead_letters: z.array(deadLetterSchema),
  })
  .meta({ id: 'FoundEvent' });

const shownMax = 100;
const guidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const findEvent = tokenOperation({
  id: 'find-event',
  summary: 'Find an event by its guid, wherever it is',
  answers: { 200: { description: 'What there is of it', schema: foundSchema } },
  async run({ parts, params }) {
    const guid = (params.guid ?? '').toLowerCase();
    if (!guidForm.test(guid)) throw notFound();
    const events = await loadEvents(parts.pool, guid);
    const deliveries = await loadDeliveries(
      parts.pool,
      guid,
      events.flatMap(({ delivery_ids }) => delivery_ids),
    );
    const waiting = await findWaiting(parts.pool, events, shownMax);
    const letters = await findDeadLetters(parts, guid);
    const queued = events.length === 0 ? await findQueued(parts, guid) : [];
    if (queued.length + events.length + deliveries.length + letters.length === 0) throw notFound();
    return {
      status: 200,
      body: {
        guid,
        queued,
        events: events.map(({ key: _key, delivery_ids: _ids, ...event }) => withSeconds(event)),
        deliveries: deliveries.map((row) => withSeconds({ ...row, id: Number(row.id) })),
        waiting,
        dead_letters: letters,
      },
    };
  },
});

type EventRow = { key: string; delivery_ids: string[]; hooks: number[] };

async function loadEvents(pool: Pool, guid: string): Promise<EventRow[]> {
  const { rows } = await pool.query<EventRow>(
    `SELECT e.key, e.delivery_ids, a.login AS organization, r.name AS repository, e.source, e.event_id AS id, e.type AS event, e.action,
            e.occurred_at, e.received_at, e.routed_at, e.unmatched, e.hook_ids AS hooks
       FROM events e LEFT JOIN accounts a ON a.id = e.account_id LEFT JOIN repositories r ON r.id = e.repository_id
      WHERE e.guid = $1 ORDER BY e.received_at LIMIT ${shownMax}`,
    [guid],
  );
  return rows;
}

async function loadDeliveries(pool: Pool, guid: string, ids: string[]): Promise<{ id: string }[]> {
  const columns = `id, hook_id, attempt, redelivery, delivered_at, status, status_code, error, throttled_at`;
  const { rows } = await pool.query<{ id: string }>(
    `SELECT ${columns} FROM deliveries WHERE id = ANY ($1::bigint[])
      UNION SELECT ${columns} FROM deliveries WHERE guid = $2 AND (attempt > 1 OR redelivery) ORDER BY id LIMIT ${shownMax}`,
    [ids, guid],
  );
  return rows;
}

const withSeconds = (row: object) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value instanceof Date ? seconds(value) : value]),
  );
