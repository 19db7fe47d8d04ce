/** Writes the delivery log. */

import { parkedRecord } from './parked.ts';
import type { Pool, Queryable } from './pool.ts';
import { countOutcomes } from './replay-outcomes.ts';
import { lostEvents, markRouted, restoreEvents, type TakenEvent, takenValues } from './routed-events.ts';
import { countAttempts, countedOfAttempts } from './stats.ts';

/** As `json_to_recordset` reads it: one key per column. */
type Row = Record<string, unknown>;

const insertText = (where = '') => `
  INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, repository_id, guid, event_key, event_on, event,
                          action, attempt, sequence, redelivery, throttled_at, status, status_code, error, duration_ms, timings, url,
                          request_headers, response_headers, response_body)
  SELECT id, (delivered_at AT TIME ZONE 'UTC')::date, delivered_at, hook_id, account_id, repository_id, guid, event_key,
         event_on, event, action, attempt, sequence, redelivery, throttled_at, status, status_code, error, duration_ms, timings, url,
         request_headers, response_headers, decode(response_body, 'base64')
    FROM json_to_recordset($1) AS r (
      id bigint, delivered_at timestamptz, hook_id integer, account_id integer, repository_id integer, guid uuid,
      event_key uuid, event_on date, event text, action text, attempt smallint, sequence bigint, redelivery boolean, throttled_at timestamptz,
      status text, status_code integer, error text, duration_ms integer, timings jsonb, url text, request_headers jsonb,
      response_headers jsonb, response_body text)
   ${where}
  ON CONFLICT DO NOTHING RETURNING id, event_key, ${countedOfAttempts}`;

// Existing rows are not counted again.
const insertAndCountText = `
  WITH recorded AS (${insertText()})
  ${countAttempts('recorded')}`;

/** The outcome of a lost event's delivery is written when the event is restored. */
const insertKeptText = insertText('WHERE (id, event_key) NOT IN (SELECT id, key FROM lost)');

const insertAndRouteText = `
  WITH routed AS (${markRouted('$2', '$3', '$4')} RETURNING key), lost AS MATERIALIZED (${lostEvents('$2', '$3', '$4')}),
       recorded AS (${insertKeptText}), counted AS (${countAttempts('recorded')})
  SELECT key FROM lost`;

// The statement that records an attempt parks the next one, so that an attempt made twice is not retried twice. Made on two days, before and after
// midnight UTC, it has two rows, and only the first is followed by a retry. Parked rows now have their outcome.
const insertAndParkText = `
  WITH routed AS (${markRouted('$4', '$5', '$6')} RETURNING key), lost AS MATERIALIZED (${lostEvents('$4', '$5', '$6')}),
       recorded AS (${insertKeptText}), counted AS (${countAttempts('recorded')}),
       settled AS (DELETE FROM parked WHERE delivery_id = ANY ($2::bigint[]) RETURNING delivery_id, replay_id),
       replayed AS (${countOutcomes('SELECT s.replay_id, r.status_code FROM settled s JOIN recorded r ON r.id = s.delivery_id WHERE s.replay_id IS NOT NULL')}),
       following AS (
    INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
    SELECT nextval('delivery_ids'), account_id, reason, due_at, event_key, event_on, job
      FROM json_to_recordset($3) AS r ${parkedRecord}
     WHERE (delivery_id, event_key) IN (SELECT id, event_key FROM recorded)
       AND NOT EXISTS (SELECT FROM deliveries d WHERE d.id = r.delivery_id AND d.event_key = r.event_key
                                                  AND d.delivered_on >= (now() AT TIME ZONE 'UTC')::date - 1))
  SELECT key FROM lost`;

/**
 * Writes a row per finished attempt; existing rows stay as they are. The same statement deletes the parked rows of the deliveries `parked`,
 * marks the events `routed` as routed, and parks each of `next` (under the id of the previous attempt) whose previous attempt was written now.
 */
export async function recordDeliveries(
  pool: Pool,
  ended: readonly Row[],
  also: {
    parked: readonly number[];
    routed: readonly TakenEvent[];
    next: readonly Row[];
  },
): Promise<void> {
  const { routed } = also;
  const { rows: lost } = await insertRows(pool, ended, also);
  await restoreEvents(pool, routed, lost, async (client, { event }, id) => {
    const own = ended.filter((row) => row.event_key === event.key).map((row) => ({ ...row, id }));
    const next = also.next.filter((row) => row.event_key === event.key).map((row) => ({ ...row, delivery_id: id }));
    await insertRows(client, own, { parked: [], routed: [], next });
  });
}

function insertRows(
  db: Queryable,
  ended: readonly Row[],
  { parked, routed, next }: Parameters<typeof recordDeliveries>[2],
): Promise<{ rows: { key: string }[] }> {
  const values = takenValues(routed);
  if (parked.length > 0 || next.length > 0)
    return db.query<{ key: string }>({
      name: 'insert deliveries and park',
      text: insertAndParkText,
      values: [toJson(ended), parked, JSON.stringify(next), ...values],
    });
  if (routed.length > 0)
    return db.query<{ key: string }>({
      name: 'insert deliveries of events',
      text: insertAndRouteText,
      values: [toJson(ended), ...values],
    });
  return db.query<{ key: string }>({ name: 'insert deliveries', text: insertAndCountText, values: [toJson(ended)] });
}

/** JSON that PostgreSQL accepts: without NUL, which receivers' header values and error texts might contain. */
function toJson(rows: readonly Row[]): string {
  const json = JSON.stringify(rows);
  return json.includes('\\u0000') ? json.replaceAll(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\\ufffd') : json;
}
