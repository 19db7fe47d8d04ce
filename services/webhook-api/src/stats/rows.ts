/** The statistics in PostgreSQL, read only: the dispatcher writes them (packages/webhook-db/src/stats.ts). */
import type { Pool } from '@gatepost/webhook-db/pool';
import { bucketColumns } from '@gatepost/webhook-db/stats';
import type { Range } from './range.ts';

type Queryable = Pick<Pool, 'query'>;

/** A hook, an account (hook 0), or all (both 0). */
export type Subject = { accountId: number; hookId: number };

export const everything: Subject = { accountId: 0, hookId: 0 };

/** What was counted in one step. */
export type Counts = {
  delivered: number;
  failed: number;
  throttled: number;
  retried: number;
  redelivered: number;
  cameIn: number;
  /** The most that waited for the limit; null: nobody counted. */
  waiting: number | null;
  /** How many attempts fell into each bucket of durations. */
  buckets: number[];
};

type Row = Omit<Counts, 'cameIn'> & { at: number; came_in: number };

const sum = (column: string) => `sum(${column})::float8`;

/** By when a step begins, in milliseconds; steps in which nothing happened are not there. */
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

/** Of which steps it was counted what waits. Of an account that has none, nothing is written. */
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

/** How many deliveries a second events have brought to an account in the last minutes. */
export async function loadIncomingRate(db: Queryable, accountId: number): Promise<number> {
  const { rows } = await db.query<{ rate: number }>({
    name: 'stats incoming',
    text: `SELECT coalesce(sum(came_in), 0)::float8 / extract(epoch FROM now() - (date_trunc('minute', now()) - interval '${rateMinutes} minutes'))::float8 AS rate
             FROM delivery_stats WHERE account_id = $1 AND hook_id = 0 AND minute >= date_trunc('minute', now()) - interval '${rateMinutes} minutes'`,
    values: [accountId],
  });
  return rows[0]!.rate;
}
