/** The statistics in PostgreSQL, read-only: the dispatcher writes them (packages/webhook-db/src/stats.ts). */
import type { Queryable } from '@gatepost/webhook-db/pool';
import { bucketColumns } from '@gatepost/webhook-db/stats';
import type { Range } from './range.ts';

/** A hook, an account (hook 0), or all (both 0). */
export type Subject = { accountId: number; hookId: number };

export const everything: Subject = { accountId: 0, hookId: 0 };

/** The counts of one step. */
export type Counts = {
  delivered: number;
  failed: number;
  throttled: number;
  retried: number;
  redelivered: number;
  cameIn: number;
  /** The most deliveries that waited for the limit; null: not counted. */
  waiting: number | null;
  /** How many attempts fell into each duration bucket. */
  buckets: number[];
};

type Row = Omit<Counts, 'cameIn'> & { at: number; came_in: number };

const sum = (column: string) => `sum(${column})::float8`;

/** By the start of each step, in milliseconds; steps without activity are missing. */
export async function loadCounts(
  db: Queryable,
  { accountId, hookId }: Subject,
  { since, until, resolution }: Range,
): Promise<Map<number, Counts>> {
  const { rows } = await db.query<Row>({
    name: 'stats',
    text: `SELECT (extract(epoch FROM date_trunc($5, minute)) * 1000)::float8 AS at,
                  ${['delivered', 'failed', 'throttled', 'retried', 'redelivered', 'came_in'].map((name) => `${sum(name)} AS ${name}`).join(', ')},
                  max(waiting) AS waiting, ARRAY[${bucketColumns.map(sum).join(', ')}] AS buckets
             FROM delivery_stats WHERE account_id = $1 AND hook_id = $2 AND minute >= $3 AND minute < $4 GROUP BY 1`,
    values: [accountId, hookId, since, until, resolution],
  });
  return new Map(rows.map(({ at, came_in: cameIn, ...counts }) => [at, { ...counts, cameIn }]));
}

/** Steps in which waiting deliveries were counted. Nothing is written for an account without any. */
export async function loadCounted(db: Queryable, { since, until, resolution }: Range): Promise<Set<number>> {
  const { rows } = await db.query<{ at: number }>({
    name: 'stats counted',
    text: `SELECT DISTINCT (extract(epoch FROM date_trunc($3, minute)) * 1000)::float8 AS at
             FROM delivery_stats WHERE account_id = 0 AND hook_id = 0 AND minute >= $1 AND minute < $2 AND waiting IS NOT NULL`,
    values: [since, until, resolution],
  });
  return new Set(rows.map(({ at }) => at));
}

const rateMinutes = 5;

/** Incoming deliveries per second of an account over the last minutes. */
export async function loadIncomingRate(db: Queryable, accountId: number): Promise<number> {
  const { rows } = await db.query<{ rate: number }>({
    name: 'stats incoming',
    text: `SELECT coalesce(sum(came_in), 0)::float8 / extract(epoch FROM now() - (date_trunc('minute', now()) - interval '${rateMinutes} minutes'))::float8 AS rate
             FROM delivery_stats WHERE account_id = $1 AND hook_id = 0 AND minute >= date_trunc('minute', now()) - interval '${rateMinutes} minutes'`,
    values: [accountId],
  });
  return rows[0]!.rate;
}
