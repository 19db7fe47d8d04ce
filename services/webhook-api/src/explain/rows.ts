/** What is stored of an event: its row, and the attempts to deliver it. Rows are named by index, however many there are. */
import type { Pool } from '@gatepost/webhook-db/pool';

type Queryable = Pick<Pool, 'query'>;

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
  /** As they are called today; null: none, or gone. */
  login: string | null;
  repository: string | null;
  visibility: string | null;
  /** What was asked for, of an event that went to no hook. */
  subject: string | null;
  occurred_at: Date;
  received_at: Date;
  routed_at: Date | null;
  taken_by: number | null;
  unmatched: string | null;
  hook_ids: number[];
  /** `hook_ids[i]` gets `delivery_ids[i]`. */
  delivery_ids: string[];
};

/** By a guid, or by the key and day that a delivery names; of one account, if it is given, and those of its name before there was one. */
export type EventsAsked = ({ guid: string } | { key: string; receivedOn: string }) & {
  account?: { id: number; login: string };
};

const columns = `e.key, e.received_on::text, e.guid, e.source, e.event_id, e.type, e.action, e.account_id, e.repository_id, a.login,
  r.name AS repository, r.visibility, e.subject, e.occurred_at, e.received_at, e.routed_at, e.taken_by, e.unmatched, e.hook_ids, e.delivery_ids`;

const ofAccount = `($1::integer IS NULL OR e.account_id = $1 OR
  (e.account_id IS NULL AND split_part(e.subject, '/', 1) = lower($2::text)))`;

/** Up to `most` of them, the earliest first. */
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
  /** A bigint below 2^53, as the driver gives it. */
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

/** What names attempts: ids, and the guid of those that followed the first. None was made before the day `eventOn`; null: the day is not known. */
export type AttemptsAsked = {
  guid: string;
  ids: readonly (string | number)[];
  eventOn: string | null;
  hookIds?: readonly number[];
};

/** The `most` newest of them, the earliest first. */
export async function findAttempts(
  db: Queryable,
  { guid, ids, eventOn, hookIds }: AttemptsAsked,
  most: number,
): Promise<AttemptRow[]> {
  // The clock that told the day of the attempt may be a little behind the one that told the event's.
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

/** The first day on which anything can have been done for these events. */
export const firstDay = (events: readonly EventRow[]): string | null =>
  events.map(({ received_on }) => received_on).sort()[0] ?? null;
