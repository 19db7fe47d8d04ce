/** The delivery log in PostgreSQL, read only: the dispatcher writes it. */
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Reads } from '@gatepost/webhook-db/reads';
import pg from 'pg';
import { checkEntry, type EntryRow, placeSql, placeValues, type Role, type Wanted } from '../access/place.ts';
import type { Token } from '../access/token.ts';
import { visibleIn } from '../hooks/rows.ts';
import { notFound } from '../http/errors.ts';

/** A delivery as PostgreSQL writes its values: a list of them is most of this service's work, and they go out as text again. */
export type DeliveryRow = {
  /** Below 2^53. */
  id: string;
  guid: string;
  delivered_at: string;
  redelivery: string;
  attempt: string;
  duration_ms: string;
  status: string;
  status_code: string;
  error: string | null;
  /** JSON. */
  timings: string;
  event: string;
  action: string | null;
  repository_id: string | null;
  throttled_at: string | null;
  url: string;
};

export type DeliveryDetailRow = DeliveryRow & {
  /** JSON. */
  request_headers: string;
  /** JSON. */
  response_headers: string | null;
  response_body: Buffer | null;
  event_key: string;
  /** `YYYY-MM-DD` */
  event_on: string;
  /** null when the event is kept no longer. */
  occurred_at: string | null;
  account_id: string;
};

/** `success` is a status code below 400, `failure` any other (GH section A.6). */
export type Outcome = 'success' | 'failure' | undefined;

const columns = `d.id, d.guid, d.delivered_at, d.redelivery, d.attempt, d.duration_ms, d.status, d.status_code, d.error,
  d.timings, d.event, d.action, d.repository_id, d.throttled_at, d.url`;
const detailColumns = `${columns}, d.request_headers, d.response_headers, d.response_body, d.event_key, d.event_on,
  d.account_id, e.occurred_at`;

// What `checkEntry` looks at, by names that no delivery has.
const entryColumns = 'p.login, p.role, p.app_restricted, p.repository_id AS place_repository_id, h.id AS seen_hook_id';

type EnteredRow = {
  login: string;
  role: Role;
  app_restricted: string;
  place_repository_id: string | null;
  seen_hook_id: string | null;
};

const bytea = pg.types.getTypeParser(pg.types.builtins.BYTEA, 'text') as (text: string) => Buffer;
const verbatim = (text: string) => text;
/** Values as PostgreSQL writes them; bytes alone are read. */
const asTexts = {
  types: { getTypeParser: (type: number) => (type === pg.types.builtins.BYTEA ? bytea : verbatim) as never },
};

// Written out, so that each is the condition of an index.
const outcomes = { success: 'AND d.status_code < 400', failure: 'AND d.status_code >= 400', any: '' };

/** A hook's log as its caller asks for it. */
export type LogOf = { token: Token; wanted: Wanted; hookId: number };

/**
 * At most `limit` deliveries of a hook with ids up to `fromId`, newest first.
 * @throws ApiError 404 or 403 when the caller may not enter, or may not see the hook.
 */
export async function listRows(
  reads: Reads,
  { token, wanted, hookId }: LogOf,
  outcome: Outcome,
  fromId: number,
  limit: number,
): Promise<DeliveryRow[]> {
  const kind = outcome ?? 'any';
  const seen = visibleIn(wanted);
  const { rows } = await reads.query<EnteredRow & (DeliveryRow | { id: null })>({
    ...asTexts,
    name: `deliveries ${kind} ${seen.kind}`,
    text: `WITH p AS (${placeSql})
           SELECT ${entryColumns}, ${columns}
             FROM p LEFT JOIN hooks h ON ${seen.condition} AND h.id = $5
             LEFT JOIN LATERAL (
               SELECT * FROM deliveries d
                WHERE d.hook_id = h.id ${outcomes[kind]} AND d.id <= $6
                ORDER BY d.id DESC LIMIT $7) d ON true
            ORDER BY d.id DESC`,
    values: [...placeValues(token, wanted), hookId, fromId, limit],
  });
  checkSeen(rows[0], wanted);
  return rows.filter((row) => row.id !== null);
}

/** The id that begins the page before the one that begins at `fromId`, if there is one. */
export async function findPreviousId(
  reads: Reads,
  hookId: number,
  outcome: Outcome,
  fromId: number,
  limit: number,
): Promise<string | undefined> {
  const kind = outcome ?? 'any';
  const { rows } = await reads.query<{ id: string | null }>({
    name: `deliveries before ${kind}`,
    text: `SELECT max(id) AS id FROM (
             SELECT d.id FROM deliveries d WHERE d.hook_id = $1 ${outcomes[kind]} AND d.id > $2
              ORDER BY d.id LIMIT $3) page`,
    values: [hookId, fromId, limit],
  });
  return rows[0]?.id ?? undefined;
}

/**
 * One delivery of a hook, with what was sent and what came back.
 * @throws ApiError 404 or 403 when the caller may not enter or see the hook, or when there is no such delivery.
 */
export async function loadRow(pool: Pool, { token, wanted, hookId }: LogOf, id: number): Promise<DeliveryDetailRow> {
  const seen = visibleIn(wanted);
  const { rows } = await pool.query<EnteredRow & (DeliveryDetailRow | { id: null })>({
    ...asTexts,
    name: `delivery ${seen.kind}`,
    text: `WITH p AS (${placeSql})
           SELECT ${entryColumns}, ${detailColumns}
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

function checkSeen<R extends EnteredRow>(row: R | undefined, wanted: Wanted): asserts row is R {
  const entry: EntryRow | undefined = row && {
    login: row.login,
    role: row.role,
    app_restricted: row.app_restricted === 't',
    repository_id: row.place_repository_id,
  };
  checkEntry(entry, wanted);
  if (row!.seen_hook_id === null) throw notFound();
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
