/** What the API writes for requested deliveries: the event of a ping or a test, and a parked row per delivery. */
import type { Queryable } from './pool.ts';

/** The source of events that the API made for one hook; no other hook gets them. */
export const ownSource = 'urn:gatepost:webhook-api';

export type RequestedEvent = {
  key: string;
  guid: string;
  source: string;
  type: string;
  action: string | null;
  accountId: number;
  repositoryId: number | null;
  payload: Buffer;
  hookId: number;
};

/** Stores an event that has just occurred and goes to one hook. It counts as routed, since the caller publishes its delivery. */
export async function storeRouted(
  db: Queryable,
  { key, guid, source, type, action, accountId, repositoryId, payload, hookId }: RequestedEvent,
): Promise<{ receivedOn: string; deliveryId: number; occurredAt: Date }> {
  const { rows } = await db.query<{ received_on: string; delivery_id: string; occurred_at: Date }>(
    `INSERT INTO events (key, guid, source, event_id, type, account_id, repository_id, occurred_at, payload, hook_ids,
                         delivery_ids, routed_at, action)
     VALUES ($1, $2, $3, $4, $5, $6, $7, now(), $8, ARRAY[$9::integer], ARRAY[nextval('delivery_ids')], now(), $10)
     RETURNING received_on::text, delivery_ids[1] AS delivery_id, occurred_at`,
    [key, guid, source, guid, type, accountId, repositoryId, payload, hookId, action],
  );
  const { received_on, delivery_id, occurred_at } = rows[0]!;
  return { receivedOn: received_on, deliveryId: Number(delivery_id), occurredAt: occurred_at };
}

export type RequestedDelivery = { deliveryId?: number; accountId: number; eventKey: string; eventOn: string };

/** Parks a delivery as already published to RabbitMQ; without an id it gets the next one. @returns its id */
export async function parkPublished(db: Queryable, job: RequestedDelivery): Promise<number> {
  const { rows } = await db.query<{ delivery_id: string }>({
    name: 'park a delivery',
    text: `INSERT INTO parked (delivery_id, account_id, reason, due_at, published_at, event_key, event_on, job)
           VALUES (coalesce($1, nextval('delivery_ids')), $2, 'retry', now(), now(), $3, $4, $5) RETURNING delivery_id`,
    values: [job.deliveryId ?? null, job.accountId, job.eventKey, job.eventOn, JSON.stringify(job)],
  });
  return Number(rows[0]!.delivery_id);
}
