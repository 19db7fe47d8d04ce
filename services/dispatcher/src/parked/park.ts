/** The one parking place, PostgreSQL's table `parked`: jobs that wait for their account's limit, for a retry or for their receiver. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { TakenEvent } from '@gatepost/webhook-db/events';
import { type ParkedRow, park as parkRows, parkAgain as parkRowsAgain } from '@gatepost/webhook-db/parked';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { PoolClient } from 'pg';

/**
 * `dueMs`: when it may go on; `untilReleased`: when its account's limit lets it go (packages/webhook-db/src/waiting.ts). `routes`: the event
 * that is routed with it. `held`: it waits until its account or its hook is paused no more.
 */
export type Parking = {
  job: DeliveryJob;
  reason: ParkedRow['reason'];
  dueMs: number;
  routes?: TakenEvent | undefined;
  held?: boolean;
};
export const untilReleased = Number.POSITIVE_INFINITY;

/** A parked row as JSON. The delivery's id stands in its column only: a retry's is given by the database. What is parked asks its limit anew. */
export function toParkedRow({ job, reason, dueMs, held }: Parking): ParkedRow {
  const { admitted: _admitted, notBeforeMs: _before, notAfterMs: _after, parked: _parked, ...kept } = job;
  return {
    delivery_id: job.deliveryId,
    account_id: job.accountId,
    reason: job.replayId === undefined ? reason : 'again',
    due_at: dueMs === untilReleased ? 'infinity' : new Date(dueMs),
    published_at: held ? 'infinity' : null,
    event_key: job.eventKey,
    event_on: job.eventOn,
    job: JSON.stringify(kept),
  };
}

/** Parks jobs; one that was published from here before waits again, until its new time. Duplicates of one job are parked once. */
export async function park(db: Pool | PoolClient, parkings: readonly Parking[]): Promise<void> {
  await parkRows(db, toParkedRows(parkings));
}

/**
 * The same for jobs that were in RabbitMQ's hands. A job may be there twice (whoever publishes it may not hear that it was done): one
 * whose delivery has its outcome by now is not parked but forgotten, else it would be made once more, and its duplicates in turn.
 */
export async function parkAgain(db: Pool, parkings: readonly Parking[]): Promise<void> {
  const routed = parkings.flatMap(({ routes }) => routes ?? []);
  await parkRowsAgain(db, toParkedRows(parkings), routed);
}

/** Of duplicates the one that is due first: two rows of one statement must not be the same row. */
function toParkedRows(parkings: readonly Parking[]): ParkedRow[] {
  const first = new Map<string, Parking>();
  for (const parking of parkings) {
    const id = `${parking.job.deliveryId} ${parking.job.eventKey}`;
    const known = first.get(id);
    if (!known || parking.dueMs < known.dueMs) first.set(id, parking);
  }
  return [...first.values()].map(toParkedRow);
}
