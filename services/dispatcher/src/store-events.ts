/** Writes events, a batch in one statement; the primary key and a look at yesterday are the de-duplication of 24 hours. */
import { type Event, eventGuid, eventKey } from '@gatepost/contracts/event';
import type { Pool } from '@gatepost/webhook-db/pool';

export type NewEvent = {
  event: Event;
  accountId: number | null;
  repositoryId: number | null;
  hookIds: number[];
  /** Whether anybody will ask for the payload. */
  keepPayload: boolean;
};

export type StoredEvent = {
  key: string;
  guid: string;
  /** The day it was received, `YYYY-MM-DD` in UTC. */
  receivedOn: string;
  /** hookIds[i] gets deliveryIds[i], as decided when the event was first stored. */
  hookIds: number[];
  deliveryIds: number[];
  /** Stored by this call, not before. */
  isNew: boolean;
  /** Its jobs are all in RabbitMQ's hands. */
  isRouted: boolean;
};

type Row = {
  key: string;
  guid: string;
  received_on: string;
  hook_ids: number[];
  delivery_ids: string[];
  is_new: boolean;
  is_routed: boolean;
};

// OFFSET 0 keeps the look-up one by index for each incoming event: planned while today's partition is still empty, a join would read
// the partition through for each batch, ever after. Payloads travel as one binary parameter, cut up by the database: nothing is escaped or encoded on the way.
const insert = `
  WITH incoming AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1) AS r (
      key uuid, guid uuid, source text, event_id text, type text, action text, account_id integer, repository_id integer,
      occurred_at timestamptz, hook_ids integer[], start integer, length integer)
  ), earlier AS MATERIALIZED (
    SELECT e.* FROM incoming i CROSS JOIN LATERAL (
      SELECT key, guid, received_on, hook_ids, delivery_ids, routed_at FROM events
       WHERE key = i.key AND received_on >= (now() AT TIME ZONE 'UTC')::date - 1 AND received_at > now() - interval '24 hours'
      OFFSET 0) e
  ), inserted AS (
    INSERT INTO events (key, guid, source, event_id, type, action, account_id, repository_id, occurred_at, payload,
                        hook_ids, delivery_ids, routed_at)
    SELECT key, guid, source, event_id, type, action, account_id, repository_id, occurred_at,
           substring($2::bytea FROM start + 1 FOR length), hook_ids,
           ARRAY(SELECT nextval('delivery_ids') FROM generate_series(1, cardinality(i.hook_ids))),
           CASE WHEN cardinality(hook_ids) = 0 THEN now() END
      FROM incoming i WHERE NOT EXISTS (SELECT FROM earlier WHERE earlier.key = i.key)
    ON CONFLICT DO NOTHING
    RETURNING key, guid, received_on, hook_ids, delivery_ids, routed_at
  )
  SELECT key, guid, received_on::text, hook_ids, delivery_ids::text[], routed_at IS NOT NULL AS is_routed, true AS is_new
    FROM inserted
  UNION ALL
  SELECT key, guid, received_on::text, hook_ids, delivery_ids::text[], routed_at IS NOT NULL, false FROM earlier`;

// Another dispatcher stored the same event while our statement ran, which therefore saw neither the row nor room for it.
const select = `
  SELECT key, guid, received_on::text, hook_ids, delivery_ids::text[], routed_at IS NOT NULL AS is_routed, false AS is_new
    FROM events
   WHERE key = ANY ($1) AND received_on >= (now() AT TIME ZONE 'UTC')::date - 1`;

/**
 * Stores events that are not there yet, with a delivery id per hook, and answers for each (in order) what is stored. Of two
 * equal events in one call both get the same answer.
 */
export async function storeEvents(pool: Pool, events: NewEvent[]): Promise<StoredEvent[]> {
  const keys = events.map(({ event }) => eventKey(event));
  const payloads: Buffer[] = [];
  let start = 0;
  const rows = events.map(({ event, accountId, repositoryId, hookIds, keepPayload }, index) => {
    const row = {
      key: keys[index],
      guid: eventGuid(event),
      source: event.source,
      event_id: event.id,
      type: event.type,
      action: event.action,
      account_id: accountId,
      repository_id: repositoryId,
      occurred_at: event.time,
      hook_ids: hookIds,
      // A length of null makes substring() null.
      start,
      length: keepPayload ? event.payload.length : null,
    };
    if (keepPayload) {
      payloads.push(event.payload);
      start += event.payload.length;
    }
    return row;
  });
  const { rows: found } = await pool.query<Row>({
    name: 'store events',
    text: insert,
    values: [JSON.stringify(rows), Buffer.concat(payloads)],
  });
  const byKey = new Map(found.map((row) => [row.key, row]));
  const missing = keys.filter((key) => !byKey.has(key));
  if (missing.length > 0) {
    const { rows: others } = await pool.query<Row>(select, [missing]);
    for (const row of others) byKey.set(row.key, row);
  }
  return keys.map((key) => {
    const row = byKey.get(key);
    if (!row) throw new Error('an event is neither stored nor found; it is tried again');
    return {
      key,
      guid: row.guid,
      receivedOn: row.received_on,
      hookIds: row.hook_ids,
      deliveryIds: row.delivery_ids.map(Number),
      isNew: row.is_new,
      isRouted: row.is_routed,
    };
  });
}

/** Notes that all jobs of these events are in RabbitMQ's hands. */
export async function markRouted(pool: Pool, events: Pick<StoredEvent, 'key' | 'receivedOn'>[]): Promise<void> {
  await pool.query({
    name: 'mark events routed',
    text: `UPDATE events e SET routed_at = now() FROM unnest($1::uuid[], $2::date[]) AS r (key, received_on)
            WHERE e.key = r.key AND e.received_on = r.received_on AND e.routed_at IS NULL`,
    values: [events.map(({ key }) => key), events.map(({ receivedOn }) => receivedOn)],
  });
}

/** The payload of a stored event; undefined when its partition is gone or the event was stored without. */
export async function loadPayload(pool: Pool, eventKey: string, eventOn: string): Promise<Buffer | undefined> {
  const { rows } = await pool.query<{ payload: Buffer | null }>(
    'SELECT payload FROM events WHERE key = $1 AND received_on = $2',
    [eventKey, eventOn],
  );
  return rows[0]?.payload ?? undefined;
}
