/**
 * Jobs without an authentication code, left in the queue by versions that made none: nothing in them is trusted. Every delivery waiting in
 * RabbitMQ is also in PostgreSQL, in its event's row or in `parked`, and that copy is what gets delivered.
 * TODO: bury them like any other when upgrades from such versions are no longer supported.
 */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Pool } from '@gatepost/webhook-db/pool';

/** The delivery as stored in PostgreSQL. A missing payload is read later, as with every job. */
export type Found = { job: DeliveryJob; payload: Buffer };

type EventRow = {
  guid: string;
  type: string;
  action: string | null;
  account_id: number | null;
  repository_id: number | null;
  occurred_at: Date;
  hook_ids: number[];
  delivery_ids: string[];
  payload: Buffer | null;
};

type ParkedRow = { job: string; waits: boolean };

/**
 * Finds the delivery that an unsigned job names; undefined if none matches it, payload included. `waits`: its row in `parked` will
 * bring it back when it is due.
 */
export async function findUnsigned(
  pool: Pool,
  claimed: DeliveryJob,
  body: Buffer,
): Promise<Found | 'waits' | undefined> {
  if (!isPlausible(claimed)) return undefined;
  const { rows } = await pool.query<EventRow>(
    `SELECT guid, type, action, account_id, repository_id, occurred_at, hook_ids, delivery_ids::text[],
            CASE WHEN $3 THEN payload END AS payload
       FROM events WHERE key = $1 AND received_on = $2`,
    [claimed.eventKey, claimed.eventOn, body.length > 0],
  );
  const event = rows[0];
  if (!event || (body.length > 0 && !event.payload?.equals(body))) return undefined;
  const parked = await findParked(pool, claimed.deliveryId);
  const job = parked?.job ?? fromEvent(event, claimed);
  if (!job || !isSame(job, claimed)) return undefined;
  if (parked?.waits) return 'waits';
  return { job: { ...job, mayRepeat: true }, payload: event.payload ?? Buffer.alloc(0) };
}

async function findParked(pool: Pool, deliveryId: number): Promise<{ job: DeliveryJob; waits: boolean } | undefined> {
  const { rows } = await pool.query<ParkedRow>(
    // A row published by a pump that has not committed yet still looks due.
    "SELECT job, published_at IS NULL AND due_at > now() + interval '1 s' AS waits FROM parked WHERE delivery_id = $1",
    [deliveryId],
  );
  const row = rows[0];
  return row && { job: { ...(JSON.parse(row.job) as DeliveryJob), deliveryId, parked: true }, waits: row.waits };
}

function fromEvent(event: EventRow, { deliveryId, eventKey, eventOn }: DeliveryJob): DeliveryJob | undefined {
  const hookId = event.hook_ids[event.delivery_ids.indexOf(String(deliveryId))];
  if (hookId === undefined || event.account_id === null) return undefined;
  return {
    deliveryId,
    guid: event.guid,
    hookId,
    event: event.type,
    action: event.action,
    eventKey,
    eventOn,
    accountId: event.account_id,
    repositoryId: event.repository_id,
    occurredAt: event.occurred_at.toISOString(),
    attempt: 1,
    redelivery: false,
    throttledAt: null,
    retries: true,
  };
}

function isSame(stored: DeliveryJob, claimed: DeliveryJob): boolean {
  const fields = ['guid', 'hookId', 'accountId', 'eventKey', 'eventOn'] as const;
  return fields.every((field) => stored[field] === claimed[field]);
}

/** Whether PostgreSQL would accept these values: anybody may have written them. */
function isPlausible({ deliveryId, eventKey, eventOn }: DeliveryJob): boolean {
  const time = /^20\d\d-\d\d-\d\d$/.test(eventOn) ? Date.parse(eventOn) : Number.NaN;
  // 30 February parses as a day in March.
  const isDate = !Number.isNaN(time) && new Date(time).toISOString().startsWith(eventOn);
  return deliveryId > 0 && isDate && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(eventKey);
}
