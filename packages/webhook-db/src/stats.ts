/**
 * Outcomes of attempts by minute: `delivery_stats` has a row per hook, one for its account (hook 0) and one for all (account 0, hook 0). The
 * statement that writes the log also updates it, so that it counts what the log contains
 * (docs/decisions/0318-read-from-the-log.md).
 */
import { randomInt } from 'node:crypto';

/** Upper bounds of the duration buckets, in milliseconds; anything longer has a bucket of its own. */
export const bucketsMs = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000] as const;

/** The bucket columns, in order. */
export const bucketColumns: readonly string[] = [...bucketsMs.map((ms) => `ms_${ms}`), 'ms_more'];

/**
 * Rows that differ only in their part are added up. Each recording process has a part (nearly) to itself, so that it does not wait for others
 * to commit. Storing events runs several times in parallel, each on another connection.
 */
const parts = 16;
const ownPart = randomInt(parts);
const storingPart = `${parts} + pg_backend_pid() % ${parts}`;
const waitingPart = 2 * parts;

/** SQL: adds to existing rows. Rows come in one order, so that two writers of the same rows do not deadlock. */
const adding = (columns: readonly string[]): string =>
  `ON CONFLICT (account_id, hook_id, minute, part) DO UPDATE SET ${columns.map((name) => `${name} = s.${name} + excluded.${name}`).join(', ')}`;

/** The counters for attempts, each with its condition. (A bucket's number is that of the first bound that is not below the duration.) */
const counts: readonly [column: string, condition: string][] = [
  ['delivered', 'status_code BETWEEN 200 AND 299'],
  ['failed', 'status_code NOT BETWEEN 200 AND 299'],
  ['throttled', 'throttled_at IS NOT NULL'],
  ['retried', 'attempt > 1'],
  ['redelivered', 'redelivery AND attempt = 1'],
  ...bucketColumns.map((column, index): [string, string] => [column, `bucket = ${index}`]),
];
const counted = counts.map(([column]) => column);

/** What `recorded` must return for `countAttempts`. */
export const countedOfAttempts =
  'account_id, hook_id, delivered_at, event, action, status_code, throttled_at, attempt, redelivery, duration_ms';

/** SQL: which `kinds` of its hook's minute a delivery `d` sets; lists use them to skip minutes without what they look for. */
export const kindsOf = (d: string): string =>
  `delivery_kinds(${d}.event, ${d}.action, ${d}.status_code >= 400, ${d}.throttled_at IS NOT NULL)`;

/** SQL: counts the attempts just written by the statement, rows of `recorded` with `countedOfAttempts`. */
export const countAttempts = (recorded: string): string => `
  INSERT INTO delivery_stats AS s (account_id, hook_id, minute, part, ${counted.join(', ')}, kinds)
  SELECT coalesce(account_id, 0), coalesce(hook_id, 0), minute, ${ownPart}, ${counts.map(([, condition]) => `count(*) FILTER (WHERE ${condition})`).join(', ')},
         CASE WHEN grouping(hook_id) = 0 THEN bit_or(${kindsOf('r')}) END
    FROM (SELECT *, date_trunc('minute', delivered_at) AS minute,
                 width_bucket(duration_ms - 1, '{${bucketsMs.join(',')}}'::integer[]) AS bucket FROM ${recorded}) r
   GROUP BY GROUPING SETS ((account_id, hook_id, minute), (account_id, minute), (minute))
   ORDER BY 1, 2, 3
  ${adding(counted)}, kinds = s.kinds | excluded.kinds`;

/** SQL: counts the deliveries of the events just stored by the statement, rows of `inserted`. */
export const countIncoming = (inserted: string): string => `
  INSERT INTO delivery_stats AS s (account_id, hook_id, minute, part, came_in)
  SELECT coalesce(account_id, 0), 0, date_trunc('minute', now()), ${storingPart}, sum(cardinality(hook_ids))
    FROM ${inserted} WHERE hook_ids <> '{}' GROUP BY GROUPING SETS ((account_id), ()) HAVING count(*) > 0 ORDER BY 1
  ${adding(['came_in'])}`;

/** SQL: records how many deliveries of accounts wait for their limit, from rows `(account_id, n)`. Keeps the largest number of each minute. */
export const noteWaiting = (waiting: string): string => `
  INSERT INTO delivery_stats AS s (account_id, hook_id, minute, part, waiting)
  SELECT account_id, 0, date_trunc('minute', now()), ${waitingPart}, n
    FROM (SELECT account_id, n FROM ${waiting} UNION ALL SELECT 0, coalesce(sum(n), 0) FROM ${waiting}) w ORDER BY 1
  ON CONFLICT (account_id, hook_id, minute, part) DO UPDATE SET waiting = greatest(s.waiting, excluded.waiting)`;
