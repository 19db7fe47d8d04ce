/**
 * Marks stored events as routed, once their deliveries are handed over or made, and restores those that PostgreSQL lost when it crashed
 * (docs/decisions/0004-an-event-and-its-row.md).
 */
import { inTransaction } from '@gatepost/runtime/transaction';
import type { PoolClient } from 'pg';
import type { NewEvent, StoredEvent } from './events.ts';
import type { Pool } from './pool.ts';
import { isDeadTaker } from './takers.ts';

/** An event that this dispatcher has taken, with its only delivery. */
export type TakenEvent = { event: NewEvent; receivedOn: string; deliveryId: number; sequence: number | null };

type EventOf = Pick<StoredEvent, 'key' | 'receivedOn'>;

/**
 * Marks as routed those events that are not routed and that nobody else is routing, in the transaction that hands over their deliveries. Until
 * it ends, others skip them. Answers their keys. `taker`: the calling dispatcher, and the events whose delivery it is making. (Each event is
 * looked up separately, as when storing: a join would scan the day's events for each batch.)
 */
export async function claimUnrouted(
  client: PoolClient,
  events: readonly EventOf[],
  taker: { id: number; inHand: Pick<ReadonlySet<string>, 'has'> },
): Promise<Set<string>> {
  const { rows } = await client.query<{ key: string }>({
    name: 'claim unrouted events',
    text: `WITH unrouted AS MATERIALIZED (
             SELECT e.key, e.received_on
               FROM unnest($1::uuid[], $2::date[]) AS r (key, received_on)
              CROSS JOIN LATERAL (SELECT key, received_on FROM events WHERE key = r.key AND received_on = r.received_on
                                     AND routed_at IS NULL
                                     AND CASE WHEN taken_by IS NULL THEN true
                                              WHEN taken_by = $3 THEN key <> ALL ($4::uuid[])
                                              ELSE ${isDeadTaker('taken_by')} END
                                     FOR UPDATE SKIP LOCKED) e)
           UPDATE events e SET routed_at = now() FROM unrouted u
            WHERE e.key = u.key AND e.received_on = u.received_on RETURNING e.key`,
    values: [
      events.map(({ key }) => key),
      events.map(({ receivedOn }) => receivedOn),
      taker.id,
      events.filter(({ key }) => taker.inHand.has(key)).map(({ key }) => key),
    ],
  });
  return new Set(rows.map(({ key }) => key));
}

/**
 * SQL that marks taken events as routed, by three parameters: their keys, days and deliveries. Not written as a join with these: planned while
 * today's partition is still empty, it would scan the partition each time, ever after.
 */
export const markRouted = (keys: string, days: string, ids: string): string => `
  UPDATE events SET routed_at = now()
   WHERE key = ANY (${keys}::uuid[]) AND received_on = ANY (${days}::date[]) AND routed_at IS NULL
     AND delivery_ids && ${ids}::bigint[]`;

/**
 * SQL, with the same parameters: the events and deliveries that are neither in `routed`, which marked them, nor stored with that delivery:
 * PostgreSQL crashed before they were on disk. The delivery id may be in use elsewhere by then, since the sequence went back too.
 */
export const lostEvents = (keys: string, days: string, ids: string): string => `
  SELECT r.key, r.id FROM unnest(${keys}::uuid[], ${days}::date[], ${ids}::bigint[]) AS r (key, day, id)
   WHERE CASE WHEN r.key IN (SELECT key FROM routed) THEN false
              ELSE NOT EXISTS (SELECT FROM events e WHERE e.key = r.key AND e.received_on = r.day AND r.id = ANY (e.delivery_ids)) END`;

/** Marks events as routed. */
export async function setRouted(pool: Pool, taken: readonly TakenEvent[]): Promise<void> {
  const { rows } = await pool.query<{ key: string }>({
    name: 'mark events as routed',
    text: `WITH routed AS (${markRouted('$1', '$2', '$3')} RETURNING key) ${lostEvents('$1', '$2', '$3')}`,
    values: takenValues(taken),
  });
  await restoreEvents(pool, taken, rows, async () => {});
}

export const takenValues = (taken: readonly TakenEvent[]): [keys: string[], days: string[], ids: number[]] => [
  taken.map(({ event }) => event.key),
  taken.map(({ receivedOn }) => receivedOn),
  taken.map(({ deliveryId }) => deliveryId),
];

/**
 * Restores events, as routed, that were not on disk when PostgreSQL crashed: their payloads will be asked for. `lost` tells which of those
 * taken. In the same transaction `end` writes the outcome of each delivery, under its new id.
 */
export async function restoreEvents(
  pool: Pool,
  taken: readonly TakenEvent[],
  lost: readonly { key: string }[],
  end: (client: PoolClient, taken: TakenEvent, deliveryId: number) => Promise<void>,
): Promise<void> {
  const keys = new Set(lost.map(({ key }) => key));
  for (const one of taken)
    if (keys.has(one.event.key))
      await inTransaction(pool, async (client) => end(client, one, await restoreEvent(client, one)));
}

/** Answers the id of its only delivery. */
async function restoreEvent(client: PoolClient, { event, receivedOn, sequence }: TakenEvent): Promise<number> {
  // The receiver knows this event by its number, which must not be given to another.
  if (sequence !== null)
    await client.query(
      `INSERT INTO hook_sequences AS s (hook_id, last) VALUES ($1, $2)
       ON CONFLICT (hook_id) DO UPDATE SET last = greatest(s.last, excluded.last)`,
      [event.hookIds[0], sequence],
    );
  await client.query(
    `INSERT INTO events (key, received_on, guid, source, event_id, type, action, account_id, repository_id, occurred_at, payload,
                         hook_ids, delivery_ids, sequences, traceparent, routed_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ARRAY[nextval('delivery_ids')], $13, $14, now()) ON CONFLICT DO NOTHING`,
    [
      event.key,
      receivedOn,
      event.guid,
      event.source,
      event.id,
      event.type,
      event.action,
      event.accountId,
      event.repositoryId,
      event.occurredAt,
      event.payload,
      event.hookIds,
      sequence === null ? null : [sequence],
      event.traceparent,
    ],
  );
  // Somebody may have stored it again: the delivery is then the same, unless the hooks have changed.
  const { rows } = await client.query<{ id: string }>(
    `UPDATE events SET routed_at = coalesce(routed_at, now()) WHERE key = $1 AND received_on = $2 AND hook_ids = $3
     RETURNING delivery_ids[1] AS id`,
    [event.key, receivedOn, event.hookIds],
  );
  if (rows[0]) return Number(rows[0].id);
  const { rows: next } = await client.query<{ id: string }>("SELECT nextval('delivery_ids') AS id");
  return Number(next[0]!.id);
}

/** Releases an event taken by this dispatcher, leaving it to others. */
export async function releaseTaken(pool: Pool, { key, receivedOn }: EventOf): Promise<void> {
  const text = 'UPDATE events SET taken_by = NULL WHERE key = $1 AND received_on = $2 AND routed_at IS NULL';
  await pool.query(text, [key, receivedOn]);
}
