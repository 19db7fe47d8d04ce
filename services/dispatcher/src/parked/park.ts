/** The one parking place, PostgreSQL's table `parked`: jobs that wait for their account's limit, for a retry or for their receiver. */
import { type DeliveryJob, jobBodyMaxBytes } from '@gatepost/contracts/delivery-job';
import { Gauge, type Registry } from '@gatepost/runtime/metrics';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { PoolClient } from 'pg';

export type ParkReason = 'throttle' | 'retry' | 'busy';
/** `dueMs`: when it may go on; `untilReleased`: when its account's limit lets it go (waiting.ts). */
export type Parking = { job: DeliveryJob; reason: ParkReason; dueMs: number };
export const untilReleased = Number.POSITIVE_INFINITY;

/** SQL, in the words of the two indexes: a row waits for its account's limit, or for its time. */
export const waits = "published_at IS NULL AND due_at = 'infinity'";
export const isTimed = "published_at IS NULL AND due_at < 'infinity'";

/** A row that is taken out again. */
export type Row = { delivery_id: string; account_id: number; reason: string; job: string; payload: Buffer | null };
/** Of a row `p`, if it is to travel with the job. */
export const payloadOfRow = `(SELECT e.payload FROM events e
  WHERE e.key = p.event_key AND e.received_on = p.event_on AND octet_length(e.payload) <= ${jobBodyMaxBytes}) AS payload`;

/** The columns of a parked row as `json_to_recordset` reads them. */
export const parkedRecord = `(delivery_id bigint, account_id integer, reason text, due_at timestamptz, event_key uuid,
  event_on date, job text)`;

/** A parked row as JSON. The delivery's id stands in its column only: a retry's is given by the database. What is parked asks its limit anew. */
export function toParkedRow({ job, reason, dueMs }: Parking): Record<string, unknown> {
  const { admitted: _admitted, notBeforeMs: _before, notAfterMs: _after, parked: _parked, ...kept } = job;
  return {
    delivery_id: job.deliveryId,
    account_id: job.accountId,
    reason,
    due_at: dueMs === untilReleased ? 'infinity' : new Date(dueMs),
    event_key: job.eventKey,
    event_on: job.eventOn,
    job: JSON.stringify(kept),
  };
}

const columns = 'delivery_id, account_id, reason, due_at, event_key, event_on, job';

// In the order of their ids, so that two dispatchers that park the same deliveries do not wait for each other.
const whereItWaits = `
  ORDER BY delivery_id
  ON CONFLICT (delivery_id) DO UPDATE
     SET due_at = excluded.due_at, reason = excluded.reason, job = excluded.job, published_at = NULL
   WHERE parked.published_at IS NOT NULL`;

const parkText = `
  INSERT INTO parked (${columns}) SELECT ${columns} FROM json_to_recordset($1) AS r ${parkedRecord} ${whereItWaits}`;

/** Parks jobs; one that was published from here before waits again, until its new time. Duplicates of one job are parked once. */
export async function park(pool: Pool | PoolClient, parkings: readonly Parking[]): Promise<void> {
  if (parkings.length === 0) return;
  await pool.query({ name: 'park', text: parkText, values: [toParkedRows(parkings)] });
}

const parkAgainText = `
  WITH asked AS MATERIALIZED (SELECT * FROM json_to_recordset($1) AS r ${parkedRecord}),
       over AS MATERIALIZED (SELECT delivery_id FROM asked WHERE EXISTS (SELECT FROM deliveries d WHERE d.id = asked.delivery_id)),
       forgotten AS (DELETE FROM parked WHERE delivery_id IN (SELECT delivery_id FROM over))
  INSERT INTO parked (${columns}) SELECT ${columns} FROM asked WHERE delivery_id NOT IN (SELECT delivery_id FROM over)
  ${whereItWaits}`;

/**
 * The same for jobs that were in RabbitMQ's hands. A job may be there twice (whoever publishes it may not hear that it was done): one
 * whose delivery has its outcome by now is not parked but forgotten, else it would be made once more, and its duplicates in turn.
 */
export async function parkAgain(pool: Pool, parkings: readonly Parking[]): Promise<void> {
  await pool.query({ name: 'park again', text: parkAgainText, values: [toParkedRows(parkings)] });
}

/** Of duplicates the one that is due first: two rows of one statement must not be the same row. */
function toParkedRows(parkings: readonly Parking[]): string {
  const first = new Map<number, Parking>();
  for (const parking of parkings) {
    const known = first.get(parking.job.deliveryId);
    if (!known || parking.dueMs < known.dueMs) first.set(parking.job.deliveryId, parking);
  }
  return JSON.stringify([...first.values()].map(toParkedRow));
}

/** Forgets parked rows whose delivery will not be made. */
export async function unpark(pool: Pool, deliveryIds: number[]): Promise<void> {
  await pool.query('DELETE FROM parked WHERE delivery_id = ANY ($1)', [deliveryIds]);
}

const countEveryMs = 5_000;

/** `dispatcher_parked_deliveries`: counted when it is read, at most every five seconds. All dispatchers show the same number. */
export function watchParked(pool: Pool, registry: Registry): void {
  let countedAt = Number.NEGATIVE_INFINITY;
  new Gauge({
    name: 'dispatcher_parked_deliveries',
    help: 'Deliveries that wait in PostgreSQL for their limit, a retry or their receiver',
    registers: [registry],
    async collect() {
      if (performance.now() - countedAt < countEveryMs) return;
      countedAt = performance.now();
      try {
        const { rows } = await pool.query(
          `SELECT (SELECT count(*) FROM parked WHERE ${waits})::int + (SELECT count(*) FROM parked WHERE ${isTimed})::int AS n`,
        );
        this.set(rows[0].n);
      } catch {
        // The database is away: the gauge keeps its last value, and /readyz tells.
      }
    },
  });
}
