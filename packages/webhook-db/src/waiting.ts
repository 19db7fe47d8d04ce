/**
 * Deliveries that wait for their account's limit: parked rows without a time of their own (`due_at` is infinity). Within an account, first
 * deliveries go before retries, these before deliveries that found their receiver busy, and replays go last; each group in id order, which is
 * the order of the events. When a delivery's turn comes follows from how many are before it and from the limit, and is not stored.
 */
import type { PoolClient } from 'pg';
import { waits } from './backlog.ts';
import { type ParkedRow, payloadOfRow, type Row } from './parked.ts';
import type { Queryable } from './pool.ts';

/** Whether anything of the account waits for its limit. */
export async function hasWaiting(db: Queryable, accountId: number): Promise<boolean> {
  const text = `SELECT coalesce((SELECT true FROM parked WHERE account_id = $1 AND ${waits} LIMIT 1), false) AS has`;
  const { rows } = await db.query<{ has: boolean }>({ name: 'has waiting', text, values: [accountId] });
  return rows[0]!.has;
}

export type WaitingAccount = {
  id: number;
  throttle: { rate: number | null; burst: number | null };
  /** The reason of the delivery that goes first. */
  first: ParkedRow['reason'];
  /** No other dispatcher is releasing its deliveries. */
  isMine: boolean;
};

type AccountRow = {
  id: number;
  rate: number | null;
  burst: number | null;
  first: ParkedRow['reason'];
  is_mine: boolean;
};

// One index lookup per account, however many rows wait. Several dispatchers claiming one account's rows and asking its limit at once would mix
// up their order: only the holder of the lock does so, and the others leave the account alone.
const lockText = `
  WITH RECURSIVE waiting AS (
    (SELECT account_id FROM parked WHERE ${waits} AND account_id > $1 ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM parked WHERE ${waits} AND account_id > w.account_id ORDER BY account_id LIMIT 1)
      FROM waiting w WHERE w.account_id IS NOT NULL
  ), some_waiting AS MATERIALIZED (
    SELECT account_id AS id FROM waiting WHERE account_id IS NOT NULL LIMIT $2
  )
  SELECT s.id, a.throttle_rate AS rate, a.throttle_burst AS burst,
         (SELECT reason FROM parked WHERE account_id = s.id AND ${waits} ORDER BY reason DESC LIMIT 1) AS first,
         pg_try_advisory_xact_lock(hashtextextended('gatepost limit', s.id)) AS is_mine
    FROM some_waiting s LEFT JOIN accounts a ON a.id = s.id`;

/** Up to `most` accounts after `afterId` with waiting rows, in order, with their current limits. Locks last until the transaction ends. */
export async function lockWaiting(client: PoolClient, afterId: number, most: number): Promise<WaitingAccount[]> {
  const { rows } = await client.query<AccountRow>({ name: 'lock waiting', text: lockText, values: [afterId, most] });
  return rows
    .map(({ id, rate, burst, first, is_mine }) => ({
      id,
      throttle: { rate, burst },
      first,
      isMine: is_mine,
    }))
    .sort((a, b) => a.id - b.id);
}

// 'throttle', 'retry', 'busy', 'again': reverse alphabetical order happens to be the right one.
const claimText = `
  WITH first_ones AS MATERIALIZED (
    SELECT f.delivery_id FROM unnest($1::integer[], $2::integer[]) AS r (account_id, most)
     CROSS JOIN LATERAL (SELECT delivery_id FROM parked WHERE account_id = r.account_id AND ${waits}
                          ORDER BY reason DESC, delivery_id LIMIT r.most FOR UPDATE SKIP LOCKED) f
  )
  UPDATE parked p SET published_at = now() FROM first_ones f WHERE p.delivery_id = f.delivery_id AND p.published_at IS NULL
  RETURNING p.delivery_id::bigint, p.account_id, p.reason, p.job, ${payloadOfRow('$3')}`;

/** The first unclaimed rows of each account, in order. */
export async function claimWaiting(
  client: PoolClient,
  counts: ReadonlyMap<number, number>,
  payloadMaxBytes: number,
): Promise<Map<number, Row[]>> {
  const values = [[...counts.keys()], [...counts.values()], payloadMaxBytes];
  const { rows } = await client.query<Row>({ name: 'claim waiting', text: claimText, values });
  rows.sort((a, b) =>
    a.reason === b.reason ? Number(a.delivery_id) - Number(b.delivery_id) : a.reason < b.reason ? 1 : -1,
  );
  return Map.groupBy(rows, (row) => row.account_id);
}

/** Makes claimed rows wait for their account's limit (again), with these jobs. */
export async function returnToWaiting(client: Queryable, rows: Row[]): Promise<void> {
  if (rows.length === 0) return;
  await client.query({
    name: 'let wait',
    text: `UPDATE parked p SET published_at = NULL, due_at = 'infinity', job = r.job
             FROM unnest($1::bigint[], $2::text[]) AS r (delivery_id, job) WHERE p.delivery_id = r.delivery_id`,
    values: [rows.map((row) => row.delivery_id), rows.map((row) => row.job)],
  });
}

/**
 * How many deliveries of the account go before one that waits for its limit: counted up to `most`; beyond that estimated from where its id lies
 * among the account's and from the latest count of waiting deliveries. `isCounted` says which.
 */
export async function findPlace(
  db: Queryable,
  { accountId, reason, deliveryId }: { accountId: number; reason: string; deliveryId: number },
  most: number,
): Promise<{ before: number; isCounted: boolean }> {
  const { rows } = await db.query<{ before: number }>({
    name: 'count before',
    // Must be worded exactly like the index: otherwise PostgreSQL reads through everything that waits.
    text: `SELECT count(*) FILTER (WHERE reason > $2 OR (reason = $2 AND delivery_id < $3))::integer AS before
             FROM (SELECT reason, delivery_id FROM parked WHERE account_id = $1 AND ${waits}
                    ORDER BY reason DESC, delivery_id LIMIT $4) first`,
    values: [accountId, reason, deliveryId, most],
  });
  const { before } = rows[0]!;
  if (before < most) return { before, isCounted: true };
  const { rows: found } = await db.query<{ share: number | null; deliveries: number | null }>({
    name: 'estimate before',
    // The row itself lies between the ends. They are queried in index order, so that other accounts' rows are not read through.
    text: `SELECT ($3 - min)::float8 / nullif(max - min, 0) AS share,
                  (SELECT (a ->> 'deliveries')::float8 FROM waiting_summary, jsonb_array_elements(summary -> 'accounts') a
                    WHERE (a ->> 'id')::integer = $1) AS deliveries
             FROM (SELECT delivery_id AS min FROM parked WHERE account_id = $1 AND ${waits} AND reason <= $2
                    ORDER BY reason DESC, delivery_id LIMIT 1) first,
                  (SELECT delivery_id AS max FROM parked WHERE account_id = $1 AND ${waits} AND reason >= $2
                    ORDER BY reason, delivery_id DESC LIMIT 1) last`,
    values: [accountId, reason, deliveryId],
  });
  const { share, deliveries } = found[0] ?? { share: null, deliveries: null }; // everything has been released meanwhile
  return { before: Math.max(before, Math.round((share ?? 1) * (deliveries ?? 0))), isCounted: false };
}
