/** Stores events, one statement per batch; the primary key and a look at the previous day de-duplicate over 24 hours. */
import { sqlStateOf } from '@gatepost/runtime/store-errors';
import { hasBacklogSql } from './backlog.ts';
import type { Pool } from './pool.ts';
import { countIncoming } from './stats.ts';

export type NewEvent = {
  key: string;
  /** The key as made by versions that left the subject out. */
  keyBefore: () => string;
  guid: string;
  source: string;
  /** Given by the producer. */
  id: string;
  type: string;
  action: string | null;
  accountId: number | null;
  repositoryId: number | null;
  occurredAt: Date;
  hookIds: number[];
  /** Why it goes to no hook, and the subject it named; null when it goes to one. */
  unmatched: { reason: string; subject: string } | null;
  /** null: nobody will ask for it. */
  payload: Buffer | null;
  /**
   * The job (JSON) that its deliveries are parked with at once when all of them have to wait for their account's limit; null otherwise.
   * `deliveryId`, `hookId` and `eventOn` are added here.
   */
  waitingJob: string | null;
  /** Which dispatcher makes its only delivery, if this call stores it (takers.ts); null: none yet. */
  takenBy: number | null;
  /** Set when tracing is on. */
  traceparent?: string | undefined;
};

export type StoredEvent = {
  key: string;
  guid: string;
  /** The day it was received, `YYYY-MM-DD` in UTC. */
  receivedOn: string;
  /** hookIds[i] gets deliveryIds[i], as decided when the event was first stored. */
  hookIds: number[];
  deliveryIds: number[];
  /** The event's number in each hook's sequence (docs/decisions/0418-numbers-and-replays.md); null: an earlier version stored it. */
  sequences: number[] | null;
  /** Stored by this call, not before. */
  isNew: boolean;
  /** Its deliveries have been handed over, to RabbitMQ or to the parking. */
  isRouted: boolean;
};

/** What a caller remembers of an account: events that depend on it are stored only if it still is so, and nothing of the account waits. */
export type RememberedAccount = { login: string; accountId: number; version: number };

type Row = {
  /** The requested key. */
  asked: string;
  key: string;
  guid: string;
  received_on: string;
  hook_ids: number[];
  delivery_ids: number[];
  sequences: number[] | null;
  is_new: boolean;
  is_routed: boolean;
};

// Deliveries that wait for their account's limit are parked along with their event, which counts as routed: nothing is left to hand over. (Their
// jobs are looked up by key, since a join without an index would compare every pair of the batch's events.)
// OFFSET 0 forces an index lookup per incoming event: a join planned while today's partition is still empty would scan the partition for each
// batch, ever after. The hooks' counters are raised before anything is inserted, in hook order: other writers of the same hooks' events wait
// there until the commit. Numbers are looked up in JSON by key rather than joined. Payloads travel as one binary parameter that the database
// cuts up, which avoids escaping and encoding; arrays come back as JSON, since its parser is faster than pg's of arrays.
const insert = (earlierKeys: string) => `
  WITH changed AS MATERIALIZED (
    SELECT FROM json_to_recordset($5) AS m (login text, "accountId" integer, version bigint)
     WHERE NOT EXISTS (SELECT FROM accounts a JOIN account_versions v ON v.account_id = a.id
                        WHERE lower(a.login) = m.login AND a.id = m."accountId" AND v.version = m.version)
        OR ${hasBacklogSql('m."accountId"')}
  ), incoming AS MATERIALIZED (
    SELECT r.* FROM set_config('synchronous_commit', coalesce($4, current_setting('synchronous_commit')), true), json_to_recordset($1) AS r (
      place integer, key uuid, key_before uuid, guid uuid, source text, event_id text, type text, action text, account_id integer, repository_id integer,
      occurred_at timestamptz, hook_ids integer[], unmatched text, subject text, taken_by integer, traceparent text, start integer, length integer, waits boolean)
     WHERE NOT EXISTS (SELECT FROM changed)
  ), earlier AS MATERIALIZED (
    SELECT i.key AS asked, e.* FROM incoming i CROSS JOIN LATERAL (
      SELECT key, guid, received_on, hook_ids, delivery_ids, sequences, routed_at FROM events
       WHERE ${earlierKeys}
         AND received_on >= (now() AT TIME ZONE 'UTC')::date - 1 AND received_at > now() - interval '24 hours'
      OFFSET 0) e
  ), fresh AS MATERIALIZED (
    SELECT * FROM incoming i WHERE NOT EXISTS (SELECT FROM earlier WHERE earlier.asked = i.key)
  ), promised AS MATERIALIZED (
    SELECT f.place, h.hook_id, h.nth,
           row_number() OVER (PARTITION BY h.hook_id ORDER BY f.place) - count(*) OVER (PARTITION BY h.hook_id) AS before_last
      FROM fresh f CROSS JOIN LATERAL unnest(f.hook_ids) WITH ORDINALITY AS h (hook_id, nth)
  ), counted AS (
    INSERT INTO hook_sequences AS s (hook_id, last)
    SELECT hook_id, count(*) FROM promised GROUP BY hook_id ORDER BY hook_id
    ON CONFLICT (hook_id) DO UPDATE SET last = s.last + excluded.last
    RETURNING hook_id, last
  ), lasts AS MATERIALIZED (
    SELECT jsonb_object_agg(hook_id, last) AS by_hook FROM counted
  ), numbers AS MATERIALIZED (
    SELECT jsonb_object_agg(place, numbers) AS by_place FROM (
      SELECT p.place, array_agg((l.by_hook ->> p.hook_id::text)::bigint + p.before_last ORDER BY p.nth)::text AS numbers
        FROM promised p CROSS JOIN lasts l GROUP BY p.place) n
  ), inserted AS (
    INSERT INTO events (key, guid, source, event_id, type, action, account_id, repository_id, occurred_at, payload,
                        hook_ids, delivery_ids, sequences, routed_at, unmatched, subject, taken_by, traceparent)
    SELECT key, guid, source, event_id, type, action, account_id, repository_id, occurred_at,
           substring($2::bytea FROM start + 1 FOR length), hook_ids,
           ARRAY(SELECT nextval('delivery_ids') FROM generate_series(1, cardinality(f.hook_ids))),
           (n.by_place ->> f.place::text)::bigint[],
           CASE WHEN cardinality(hook_ids) = 0 OR waits THEN now() END, unmatched, subject, taken_by, traceparent
      FROM fresh f CROSS JOIN numbers n
    RETURNING key, guid, account_id, received_on, hook_ids, delivery_ids, sequences, routed_at
  ), came_in AS (${countIncoming('inserted')}
  ), waiting AS (
    INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
    SELECT d.id, e.account_id, 'throttle', 'infinity', e.key, e.received_on,
           format('{"deliveryId":%s,"hookId":%s,"sequence":%s,"eventOn":"%s",%s', d.id, d.hook_id, d.sequence, e.received_on, substr($3::jsonb ->> e.key::text, 2))
      FROM inserted e CROSS JOIN LATERAL unnest(e.delivery_ids, e.hook_ids, e.sequences) AS d (id, hook_id, sequence)
     WHERE $3::jsonb ? e.key::text
  )
  SELECT asked, key, guid, received_on::text, to_json(hook_ids) AS hook_ids, to_json(delivery_ids) AS delivery_ids, to_json(sequences) AS sequences,
         routed_at IS NOT NULL AS is_routed, is_new
    FROM (SELECT key AS asked, key, guid, received_on, hook_ids, delivery_ids, sequences, routed_at, true AS is_new FROM inserted
          UNION ALL
          SELECT asked, key, guid, received_on, hook_ids, delivery_ids, sequences, routed_at, false FROM earlier) stored`;

// Rows of earlier versions have the key without the subject, and match an event if account and repository are the same. That costs some 25 µs
// per event, so they are looked for only while there can be any.
const statements = {
  ever: { name: 'store events', text: insert('key = i.key') },
  afterUpgrade: {
    name: 'store events after an upgrade',
    text: insert(`key = ANY (ARRAY[i.key, i.key_before]) AND (key = i.key OR
              (account_id IS NOT DISTINCT FROM i.account_id AND repository_id IS NOT DISTINCT FROM i.repository_id))`),
  },
};

/**
 * Stores events that are not there yet, with a delivery id per hook, and answers what is stored for each, in order. Two equal events in one
 * call get the same answer.
 */
export type StoreEvents = (events: NewEvent[]) => Promise<StoredEvent[]>;
/** The same, unless one of the accounts has changed or has deliveries that wait: then it stores nothing, and answers undefined. */
export type StoreRemembered = (
  events: NewEvent[],
  accounts: readonly RememberedAccount[],
) => Promise<StoredEvent[] | undefined>;

/** TODO: remove the handling of old keys when upgrades from versions without the subject in the key are no longer supported. */
export async function makeStoreEvents(pool: Pool): Promise<StoreEvents & { remembered: StoreRemembered }> {
  const { rows } = await pool.query<{ until: number }>(
    "SELECT extract(epoch FROM with_subject_since + interval '2 days')::float8 * 1000 AS until FROM event_keys",
  );
  const until = rows[0]?.until ?? 0;
  const remembered: StoreRemembered = async (events, accounts) => {
    for (let tries = 1; ; tries += 1)
      try {
        return await storeEvents(pool, events, accounts, Date.now() < until);
      } catch (error) {
        if (!isStoredMeanwhile(error) || tries === triesMax) throw error;
      }
  };
  return Object.assign(async (events: NewEvent[]) => (await remembered(events, []))!, { remembered });
}

// When a crowd of dispatchers stores the same events, one of them succeeds each time.
const triesMax = 10;

/**
 * Another dispatcher stored one of the events while our statement ran, so that we did not see it. Our statement then stores nothing: skipping
 * the event would leave a gap in the numbers of its hooks.
 */
const isStoredMeanwhile = (error: unknown): boolean => sqlStateOf(error) === uniqueViolation;
const uniqueViolation = '23505';

async function storeEvents(
  pool: Pool,
  incoming: NewEvent[],
  accounts: readonly RememberedAccount[],
  isAfterUpgrade: boolean,
): Promise<StoredEvent[] | undefined> {
  // Keeps the first of two equal events.
  const events = [...new Map(incoming.toReversed().map((event) => [event.key, event])).values()].toReversed();
  const payloads: Buffer[] = [];
  let start = 0;
  const rows = events.map((event, place) => {
    const { payload } = event;
    // A null length makes substring() null.
    const row = { place, ...rowOf(event, isAfterUpgrade), start, length: payload?.length ?? null };
    if (payload) {
      payloads.push(payload);
      start += payload.length;
    }
    return row;
  });
  const waiting = events.flatMap(({ key, waitingJob }) => (waitingJob === null ? [] : [[key, waitingJob]]));
  const { rows: found } = await pool.query<Row>({
    ...(isAfterUpgrade ? statements.afterUpgrade : statements.ever),
    values: [
      JSON.stringify(rows),
      // A large event comes alone, and copying 24 MB takes some 13 ms.
      payloads.length === 1 ? payloads[0] : Buffer.concat(payloads),
      JSON.stringify(Object.fromEntries(waiting)),
      // Nothing is acked or published before the outcomes are committed, and their commit also flushes everything committed earlier to disk.
      events.every(({ takenBy }) => takenBy !== null) ? 'off' : null,
      accounts.length > 0 ? JSON.stringify(accounts) : null,
    ],
  });
  if (accounts.length > 0 && found.length === 0) return undefined;
  const byKey = new Map(found.map((row) => [row.asked, row]));
  return incoming.map(({ key }) => {
    const row = byKey.get(key);
    if (!row) throw new Error('an event is neither stored nor found; it is tried again');
    return {
      key: row.key,
      guid: row.guid,
      receivedOn: row.received_on,
      hookIds: row.hook_ids,
      deliveryIds: row.delivery_ids,
      sequences: row.sequences,
      isNew: row.is_new,
      isRouted: row.is_routed,
    };
  });
}

function rowOf(event: NewEvent, isAfterUpgrade: boolean) {
  return {
    key: event.key,
    key_before: isAfterUpgrade ? event.keyBefore() : undefined,
    guid: event.guid,
    source: event.source,
    event_id: event.id,
    type: event.type,
    action: event.action,
    account_id: event.accountId,
    repository_id: event.repositoryId,
    occurred_at: event.occurredAt,
    hook_ids: event.hookIds,
    unmatched: event.unmatched?.reason,
    subject: event.unmatched?.subject,
    waits: event.waitingJob !== null,
    taken_by: event.takenBy,
    traceparent: event.traceparent,
  };
}
