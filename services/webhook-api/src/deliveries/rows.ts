/** The delivery log in PostgreSQL, read only: the dispatcher writes it. */
import type { DeliveryTimings } from '@gatepost/contracts/delivery';
import type { Pool } from '@gatepost/webhook-db/pool';

export type DeliveryRow = {
  /** A bigint below 2^53, as the driver gives it. */
  id: string;
  guid: string;
  delivered_at: Date;
  redelivery: boolean;
  attempt: number;
  duration_ms: number;
  status: string;
  status_code: number;
  error: string | null;
  timings: DeliveryTimings;
  event: string;
  action: string | null;
  repository_id: number | null;
  throttled_at: Date | null;
  url: string;
};

export type DeliveryDetailRow = DeliveryRow & {
  request_headers: Record<string, string>;
  response_headers: Record<string, string> | null;
  response_body: Buffer | null;
  event_key: string;
  /** `YYYY-MM-DD` */
  event_on: string;
  /** null when the event is kept no longer. */
  occurred_at: Date | null;
  account_id: number;
};

/** `success` is a status code below 400, `failure` any other (GH section A.6). */
export type Outcome = 'success' | 'failure' | undefined;

const columns = `d.id, d.guid, d.delivered_at, d.redelivery, d.attempt, d.duration_ms, d.status, d.status_code, d.error,
  d.timings, d.event, d.action, d.repository_id, d.throttled_at, d.url`;

// Written out, so that each is the condition of an index.
const outcomes = { success: 'AND d.status_code < 400', failure: 'AND d.status_code >= 400', any: '' };

/** At most `limit` deliveries of a hook with ids up to `fromId`, newest first. */
export async function listRows(
  pool: Pool,
  hookId: number,
  outcome: Outcome,
  fromId: number,
  limit: number,
): Promise<DeliveryRow[]> {
  const kind = outcome ?? 'any';
  const { rows } = await pool.query<DeliveryRow>({
    name: `deliveries ${kind}`,
    text: `SELECT ${columns} FROM deliveries d WHERE d.hook_id = $1 ${outcomes[kind]} AND d.id <= $2
            ORDER BY d.id DESC LIMIT $3`,
    values: [hookId, fromId, limit],
  });
  return rows;
}

/** The id that begins the page before the one that begins at `fromId`, if there is one. */
export async function findPreviousId(
  pool: Pool,
  hookId: number,
  outcome: Outcome,
  fromId: number,
  limit: number,
): Promise<string | undefined> {
  const kind = outcome ?? 'any';
  const { rows } = await pool.query<{ id: string | null }>({
    name: `deliveries before ${kind}`,
    text: `SELECT max(id) AS id FROM (
             SELECT d.id FROM deliveries d WHERE d.hook_id = $1 ${outcomes[kind]} AND d.id > $2 ORDER BY d.id LIMIT $3) page`,
    values: [hookId, fromId, limit],
  });
  return rows[0]?.id ?? undefined;
}

/** One delivery of a hook, with what was sent and what came back. */
export async function findRow(pool: Pool, hookId: number, id: number): Promise<DeliveryDetailRow | undefined> {
  const { rows } = await pool.query<DeliveryDetailRow>({
    name: 'delivery',
    text: `SELECT ${columns}, d.request_headers, d.response_headers, d.response_body, d.event_key, d.event_on::text,
                  d.account_id, e.occurred_at
             FROM deliveries d LEFT JOIN events e ON e.key = d.event_key AND e.received_on = d.event_on
            WHERE d.id = $2 AND d.hook_id = $1`,
    values: [hookId, id],
  });
  return rows[0];
}

/** The event's JSON, byte for byte; null when it is kept no longer. */
export async function findPayload(pool: Pool, row: DeliveryDetailRow): Promise<Buffer | null> {
  const query = {
    name: 'payload',
    text: 'SELECT payload FROM events WHERE key = $1 AND received_on = $2',
    values: [row.event_key, row.event_on],
    ...asBytes,
  };
  const { rows } = await pool.query<{ payload: Buffer | null }>(query);
  return rows[0]?.payload ?? null;
}

// As text, 25 MB would come as a string of 50 million hexadecimal digits. In binary the driver hands over the bytes themselves.
const asBytes = { binary: true, types: { getTypeParser: () => (bytes: Buffer) => bytes } };

/** The id of a delivery to come. */
export async function nextId(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ id: string }>("SELECT nextval('delivery_ids') AS id");
  return Number(rows[0]!.id);
}
