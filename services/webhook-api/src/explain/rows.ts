/** What is stored about an event: its row and its delivery attempts. Rows are found by index, however many there are. */
import { inTransaction, oneSnapshot } from '@gatepost/runtime/transaction';
import type { Pool, Queryable } from '@gatepost/webhook-db/pool';
import { isSwept } from '@gatepost/webhook-db/sweeps';
import { firstAttemptOf } from '../deliveries/latest.ts';
import { findWaiting } from '../waiting/rows.ts';

export type EventRow = {
  key: string;
  /** `YYYY-MM-DD` */
  received_on: string;
  guid: string;
  source: string;
  event_id: string;
  type: string;
  action: string | null;
  account_id: number | null;
  repository_id: number | null;
  /** By their current names; null: none, or gone. */
  login: string | null;
  repository: string | null;
  visibility: string | null;
  /** For an event that went to no hook: the subject it named. */
  subject: string | null;
  occurred_at: Date;
  received_at: Date;
  routed_at: Date | null;
  taken_by: number | null;
  unmatched: string | null;
  hook_ids: number[];
  /** `hook_ids[i]` gets `delivery_ids[i]`. */
  delivery_ids: string[];
  /** Deliveries of it that are neither in the log nor waiting will not be made. */
  is_swept: boolean | null;
};

/** By guid, or by the key and day that a delivery names; for an account, also events of its name from before it existed. */
export type EventsAsked = ({ guid: string } | { key: string; receivedOn: string }) & {
  account?: { id: number; login: string };
};

const columns = `e.key, e.received_on::text, e.guid, e.source, e.event_id, e.type, e.action, e.account_id, e.repository_id, a.login,
  r.name AS repository, r.visibility, e.subject, e.occurred_at, e.received_at, e.routed_at, e.taken_by, e.unmatched, e.hook_ids, e.delivery_ids,
  ${isSwept('e')} AS is_swept`;

const ofAccount = `($1::integer IS NULL OR e.account_id = $1 OR
  (e.account_id IS NULL AND split_part(e.subject, '/', 1) = lower($2::text)))`;

/** Up to `most` events, earliest first. */
export async function findEvents(db: Queryable, asked: EventsAsked, most: number): Promise<EventRow[]> {
  const { account } = asked;
  const [kind, condition, values] =
    'guid' in asked
      ? ['guid', 'e.guid = $4::uuid', [asked.guid]]
      : ['key', 'e.key = $4::uuid AND e.received_on = $5::date', [asked.key, asked.receivedOn]];
  const { rows } = await db.query<EventRow>({
    name: `events by ${kind}`,
    text: `SELECT ${columns} FROM events e LEFT JOIN accounts a ON a.id = e.account_id LEFT JOIN repositories r ON r.id = e.repository_id
            WHERE ${condition} AND ${ofAccount} ORDER BY e.received_at LIMIT $3`,
    values: [account?.id ?? null, account?.login ?? null, most, ...values],
  });
  return rows;
}

export type AttemptRow = {
  /** A bigint below 2^53, as returned by the driver. */
  id: string;
  hook_id: number;
  attempt: number;
  redelivery: boolean;
  event: string;
  action: string | null;
  delivered_at: Date;
  duration_ms: number;
  status: string;
  status_code: number;
  error: string | null;
  throttled_at: Date | null;
};

const attemptColumns = `id, hook_id, attempt, redelivery, event, action, delivered_at, duration_ms, status, status_code, error, throttled_at`;

/** Identifies attempts: ids, and the guid of those after the first. None was made before the day `eventOn`; null: the day is unknown. */
type AttemptsAsked = {
  guid: string;
  ids: readonly (string | number)[];
  eventOn: string | null;
  hookIds?: readonly number[];
};

/** The `most` newest attempts, earliest first. */
async function findAttempts(
  db: Queryable,
  { guid, ids, eventOn, hookIds }: AttemptsAsked,
  most: number,
): Promise<AttemptRow[]> {
  // The clock that sets the day of the attempt may be slightly behind the one that set the event's.
  const kept = `delivered_on >= coalesce($4::date - 1, '-infinity') AND ($5::integer[] IS NULL OR hook_id = ANY ($5))`;
  const { rows } = await db.query<AttemptRow>({
    name: 'attempts of events',
    text: `SELECT ${attemptColumns} FROM deliveries WHERE id = ANY ($1::bigint[]) AND ${kept}
            UNION
           SELECT ${attemptColumns} FROM deliveries WHERE guid = $2 AND (attempt > 1 OR redelivery) AND ${kept}
            ORDER BY id DESC LIMIT $3`,
    values: [ids, guid, most, eventOn, hookIds ?? null],
  });
  return rows.reverse();
}

/** The first attempt at a hook of a guid that names no event, as a test's, if the hook has made it lately. */
export async function findTest(
  db: Queryable,
  hookId: number,
  guid: string,
): Promise<{ id: string; event_key: string; event_on: string } | undefined> {
  const { rows } = await db.query<{ id: string; event_key: string; event_on: string }>({
    name: 'test to explain',
    text: `SELECT id, event_key, event_on::text FROM (${firstAttemptOf('$2::uuid', '$1::integer')}) d LIMIT 1`,
    values: [hookId, guid],
  });
  return rows[0];
}

/** The newest attempts, and what waits for its next one. */
export async function findDeliveries(
  db: Queryable,
  asked: AttemptsAsked,
  eventKeys: readonly string[],
  most: { attempts: number; waiting: number },
) {
  return {
    attempts: await findAttempts(db, asked, most.attempts),
    waiting: await findWaiting(db, asked.ids, eventKeys, most.waiting),
  };
}

/**
 * Reads rows of one moment. A dispatcher writes an attempt, the wait for the next one and the event's `routed_at` together: otherwise one
 * could be seen without the others.
 */
export const readTogether = <T>(pool: Pool, read: (db: Queryable) => Promise<T>): Promise<T> =>
  inTransaction(pool, read, oneSnapshot);

/** The first day on which anything can have happened to these events. */
export const firstDay = (events: readonly EventRow[]): string | null =>
  events.map(({ received_on }) => received_on).sort()[0] ?? null;
