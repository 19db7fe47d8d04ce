/** One delivery of the log in PostgreSQL, which the dispatcher writes. */
import type { Pool } from '@gatepost/webhook-db/pool';
import { placeSql, placeValues } from '../access/place.ts';
import { visibleIn } from '../hooks/rows.ts';
import { notFound } from '../http/errors.ts';
import { deliveryJson } from './present.ts';
import { checkSeen, type EnteredRow, entryColumns, type LogOf } from './seen.ts';

export type DeliveryDetailRow = {
  id: string;
  /** The delivery as JSON text (`deliveryJson`). */
  json: string;
  guid: string;
  event: string;
  action: string | null;
  account_id: number;
  repository_id: number | null;
  /** A bigint, as returned by the driver. */
  sequence: string | null;
  /** JSON text. */
  request_headers: string;
  /** JSON text. */
  response_headers: string | null;
  response_body: Buffer | null;
  event_key: string;
  /** `YYYY-MM-DD` */
  event_on: string;
  /** null when the event is no longer stored. */
  occurred_at: Date | null;
};

/**
 * One delivery of a hook, with its request and its response.
 * @throws ApiError 404 or 403 when the caller may not enter or see the hook, or when the delivery does not exist.
 */
export async function loadRow(pool: Pool, { token, wanted, hookId }: LogOf, id: number): Promise<DeliveryDetailRow> {
  const seen = visibleIn(wanted);
  const { rows } = await pool.query<EnteredRow & (DeliveryDetailRow | { id: null })>({
    name: `delivery ${seen.kind}`,
    text: `WITH p AS (${placeSql})
           SELECT ${entryColumns}, d.id, ${deliveryJson} AS json, d.guid, d.event, d.action, d.account_id, d.repository_id, d.sequence,
                  d.request_headers::text, d.response_headers::text, d.response_body, d.event_key, d.event_on::text, e.occurred_at
             FROM p LEFT JOIN hooks h ON ${seen.condition} AND h.id = $5
             LEFT JOIN deliveries d ON d.hook_id = h.id AND d.id = $6
             LEFT JOIN events e ON e.key = d.event_key AND e.received_on = d.event_on`,
    values: [...placeValues(token, wanted), hookId, id],
  });
  const row = rows[0];
  checkSeen(row, wanted);
  if (row.id === null) throw notFound();
  return row;
}
