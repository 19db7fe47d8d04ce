/** The one parking place, PostgreSQL's table `parked`: jobs that wait for their account's limit, for a retry or for their receiver. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { type ParkedRow, park as parkRows, parkAgain as parkRowsAgain } from '@gatepost/webhook-db/parked';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { TakenEvent } from '@gatepost/webhook-db/routed-events';
import type { PoolClient } from 'pg';

/**
 * `dueMs`: when it may continue; `untilReleased`: when its account's limit lets it go (packages/webhook-db/src/waiting.ts). `routes`: the event
 * that is marked as routed along with it. `isPaused`: it waits until neither its account nor its hook is paused.
 */
export type Parking = {
  job: DeliveryJob;
  reason: ParkedRow['reason'];
  dueMs: number;
  routes?: TakenEvent | undefined;
  isPaused?: boolean;
};
export const untilReleased = Number.POSITIVE_INFINITY;

/** A parked row as JSON. The delivery id is only in its column: a retry gets its id from the database. Parked jobs ask their limit anew. */
export function toParkedRow({ job, reason, dueMs, isPaused }: Parking): ParkedRow {
  const { admitted: _admitted, notBeforeMs: _before, notAfterMs: _after, parked: _parked, ...kept } = job;
  return {
    delivery_id: job.deliveryId,
    account_id: job.accountId,
    reason: job.replayId === undefined ? reason : 'again',
    due_at: dueMs === untilReleased ? 'infinity' : new Date(dueMs),
    published_at: isPaused ? 'infinity' : null,
    event_key: job.eventKey,
    event_on: job.eventOn,
    job: JSON.stringify(kept),
  };
}

/** Parks jobs; one that was parked here and published before waits again, until its new time. Duplicates of a job are parked once. */
export async function park(db: Pool | PoolClient, parkings: readonly Parking[]): Promise<void> {
  await parkRows(db, toParkedRows(parkings));
}

/**
 * The same for jobs that RabbitMQ held. RabbitMQ may hold a job twice (its publisher may not see the confirm): if its delivery has an outcome
 * by now, the job is dropped rather than parked, or it and its duplicates would be made again and again.
 */
export async function parkAgain(db: Pool, parkings: readonly Parking[]): Promise<void> {
  const routed = parkings.flatMap(({ routes }) => routes ?? []);
  await parkRowsAgain(db, toParkedRows(parkings), routed);
}

/** Of duplicates, keeps the one due first: a statement must not touch the same row twice. */
function toParkedRows(parkings: readonly Parking[]): ParkedRow[] {
  const first = new Map<string, Parking>();
  for (const parking of parkings) {
    const id = `${parking.job.deliveryId} ${parking.job.eventKey}`;
    const known = first.get(id);
    if (!known || parking.dueMs < known.dueMs) first.set(id, parking);
  }
  return [...first.values()].map(toParkedRow);
}
