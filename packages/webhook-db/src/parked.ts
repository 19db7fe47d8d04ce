/** Writes to `parked`, where promised deliveries stay until their outcome is recorded. */
import type { PoolClient } from 'pg';
import { hasDueTime } from './backlog.ts';
import type { Pool, Queryable } from './pool.ts';
import { countOutcomes } from './replay-outcomes.ts';
import { lostEvents, markRouted, restoreEvents, type TakenEvent, takenValues } from './routed-events.ts';

/** SQL, worded like the index by event: all rows except first attempts waiting for their limit, whose ids are in the event's row. */
export const isFollowUp = `(reason <> 'throttle' OR job LIKE '%"redelivery":true%')`;

/** A row to be parked. */
export type ParkedRow = {
  delivery_id: number;
  account_id: number;
  /** `again`: part of a replay (replays.ts). */
  reason: 'throttle' | 'retry' | 'busy' | 'again';
  due_at: Date | 'infinity';
  /** `infinity`: its account or hook is paused (paused.ts). */
  published_at: 'infinity' | null;
  event_key: string;
  event_on: string;
  /** JSON. */
  job: string;
};

/** A row taken out again, with its event's payload if that is no larger than requested. */
export type Row = { delivery_id: string; account_id: number; reason: string; job: string; payload: Buffer | null };
/** SQL, for a row `p`. */
export const payloadOfRow = (maxBytes: string): string => `(SELECT e.payload FROM events e
  WHERE e.key = p.event_key AND e.received_on = p.event_on AND octet_length(e.payload) <= ${maxBytes}) AS payload`;

/** The columns of a parked row as `json_to_recordset` reads them. */
export const parkedRecord = `(delivery_id bigint, account_id integer, reason text, due_at timestamptz,
  published_at timestamptz, event_key uuid, event_on date, job text)`;

const columns = 'delivery_id, account_id, reason, due_at, published_at, event_key, event_on, job';

// In id order, so that two dispatchers parking the same deliveries do not deadlock.
const whereItWaits = `
  ORDER BY delivery_id
  ON CONFLICT (delivery_id) DO UPDATE
     SET due_at = excluded.due_at, reason = excluded.reason, job = excluded.job, published_at = excluded.published_at
   WHERE parked.published_at IS NOT NULL`;

const parkText = `
  INSERT INTO parked (${columns}) SELECT ${columns} FROM json_to_recordset($1) AS r ${parkedRecord} ${whereItWaits}`;

/** Parks deliveries, each once; one that was parked here and published before waits again, until its new time. */
export async function park(db: Queryable, rows: readonly ParkedRow[]): Promise<void> {
  if (rows.length > 0) await db.query({ name: 'park', text: parkText, values: [JSON.stringify(rows)] });
}

const parkAgainText = `
  WITH routed AS (${markRouted('$2', '$3', '$4')} RETURNING key), lost AS MATERIALIZED (${lostEvents('$2', '$3', '$4')}),
       asked AS MATERIALIZED (SELECT * FROM json_to_recordset($1) AS r ${parkedRecord}
                               WHERE (delivery_id, event_key) NOT IN (SELECT id, key FROM lost)),
       over AS MATERIALIZED (SELECT delivery_id FROM asked WHERE EXISTS (SELECT FROM deliveries d WHERE d.id = asked.delivery_id)),
       forgotten AS (DELETE FROM parked WHERE delivery_id IN (SELECT delivery_id FROM over)),
       waiting AS (
    INSERT INTO parked (${columns}) SELECT ${columns} FROM asked WHERE delivery_id NOT IN (SELECT delivery_id FROM over)
    ${whereItWaits})
  SELECT key FROM lost`;

/** The same, except that a delivery with an outcome is dropped instead. The events `routed` are marked as routed along with it. */
export async function parkAgain(db: Pool, rows: readonly ParkedRow[], routed: readonly TakenEvent[]): Promise<void> {
  const values = [JSON.stringify(rows), ...takenValues(routed)];
  const { rows: lost } = await db.query<{ key: string }>({ name: 'park again', text: parkAgainText, values });
  await restoreEvents(db, routed, lost, (client, { event }, id) =>
    park(
      client,
      rows.filter((row) => row.event_key === event.key).map((row) => ({ ...row, delivery_id: id })),
    ),
  );
}

/** Deletes parked deliveries that will not be made. */
export async function unpark(db: Queryable, deliveryIds: readonly (number | string)[]): Promise<void> {
  await db.query(
    `WITH gone AS (DELETE FROM parked WHERE delivery_id = ANY ($1) RETURNING replay_id)
     ${countOutcomes('SELECT replay_id, NULL::integer AS status_code FROM gone')}`,
    [deliveryIds],
  );
}

/** Deletes what waits of a deleted account, `most` at most, and answers how many. Its replays are gone. */
export async function unparkOf(db: Queryable, accountId: number, most: number): Promise<number> {
  const { rowCount } = await db.query(
    'DELETE FROM parked WHERE delivery_id IN (SELECT delivery_id FROM parked WHERE account_id = $1 LIMIT $2)',
    [accountId, most],
  );
  return rowCount ?? 0;
}

const claimDueText = `
  WITH due AS MATERIALIZED (
    SELECT delivery_id FROM parked WHERE ${hasDueTime} AND due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )
  UPDATE parked p SET published_at = now() FROM due WHERE p.delivery_id = due.delivery_id
  RETURNING p.delivery_id, p.account_id, p.reason, p.job, ${payloadOfRow('$2')},
            (SELECT throttle_rate FROM accounts a WHERE a.id = p.account_id) AS rate,
            (SELECT throttle_burst FROM accounts a WHERE a.id = p.account_id) AS burst`;

export type DueRow = Row & { rate: number | null; burst: number | null };

/** Takes out due rows in order, with their accounts' limits. */
export async function claimDue(client: PoolClient, most: number, payloadMaxBytes: number): Promise<DueRow[]> {
  const values = [most, payloadMaxBytes];
  const { rows } = await client.query<DueRow>({ name: 'claim due', text: claimDueText, values });
  return rows.sort((a, b) => Number(a.delivery_id) - Number(b.delivery_id));
}

// The job's text is not parsed here: an invalid one would block all others.
const mayRepeat = ',"mayRepeat":true}';
const jobThatMayRepeat = `CASE WHEN right(job, length('${mayRepeat}')) = '${mayRepeat}' THEN job
                               ELSE regexp_replace(job, '}$', '${mayRepeat}') END`;

/** Undoes the claim of rows whose jobs RabbitMQ has not confirmed: they wait as before. It may have the jobs all the same. */
export async function unclaim(db: Queryable, deliveryIds: readonly (number | string)[]): Promise<void> {
  const text = `UPDATE parked SET published_at = NULL, job = ${jobThatMayRepeat} WHERE delivery_id = ANY ($1::bigint[])`;
  await db.query({ name: 'unclaim', text, values: [deliveryIds] });
}

/** Takes rows published that long ago without an outcome for lost: they wait again, due at once. Answers them, `most` at most. */
export async function parkUnsettled(
  client: PoolClient,
  afterMs: number,
  most: number,
): Promise<{ delivery_id: string; job: string }[]> {
  const { rows } = await client.query<{ delivery_id: string; job: string }>(
    `UPDATE parked SET published_at = NULL, due_at = now(), job = ${jobThatMayRepeat}
      WHERE delivery_id IN (SELECT delivery_id FROM parked WHERE published_at < now() - $1 * interval '1 ms'
                             ORDER BY published_at LIMIT $2 FOR UPDATE SKIP LOCKED)
      RETURNING delivery_id, job`,
    [afterMs, most],
  );
  return rows;
}
