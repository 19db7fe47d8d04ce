/**
 * A delivery job: one message in `gatepost.deliveries`, one attempt to hand one event to one hook. The body is the event's
 * payload, byte for byte, or empty: then the payload is read from the event's row (so large ones pass the broker once).
 * All else stands as JSON in the header `job`, so that the payload is never parsed or copied into text.
 */

import { deliveriesQueue } from './topology.ts';

export type DeliveryJob = {
  /** The delivery's id, shown in the log: increasing, below 2^53, its own for each attempt. */
  deliveryId: number;
  /** The event's guid, shared by all its deliveries. */
  guid: string;
  hookId: number;
  /** The event's type. */
  event: string;
  action: string | null;
  /** Where the event's row is: its key (UUID) and the day it was received (`YYYY-MM-DD`, UTC). */
  eventKey: string;
  eventOn: string;
  accountId: number;
  /** null for an organization-level event. */
  repositoryId: number | null;
  /** When the event occurred, RFC 3339. */
  occurredAt: string;
  /** 1 for the first try, 2 for the first retry, … */
  attempt: number;
  /** Asked for by a person; automatic attempts keep false. */
  redelivery: boolean;
  /** When throttling slowed this delivery, RFC 3339. */
  throttledAt: string | null;
  /** Whether a failure may be followed by automatic attempts; false for pings and tests. */
  retries: boolean;
  /** The account's limit has let this delivery pass; absent: the dispatcher asks before the attempt. */
  admitted?: boolean;
  /** Not to be sent before this time (ms since 1970); at most a second ahead. */
  notBeforeMs?: number;
  /** Its account is so near its limit that what is late must not come close to what is not: the limit is asked again when it is sent. */
  pace?: Pace;
  /** This job may have been published before: look for its outcome first. */
  mayRepeat?: boolean;
  /** A row in `parked` stands for this job until its outcome is recorded. */
  parked?: boolean;
};

export type Pace = {
  /** Where the account's clock (GCRA's theoretical arrival time) stood before this delivery, µs since 1970, under this limit. */
  clock: number;
  rate: number;
  burst: number;
  /** When it may be sent, by a second answer (ms since 1970). */
  slotMs?: number;
};

/** Payloads longer than this do not travel with their jobs: the body is empty and the payload is read from the event's row. */
export const jobBodyMaxBytes = 64 * 1024;

export const jobHeader = 'job';

/** The message that carries a job, as a publisher takes it. A payload too large to travel stays behind. */
export function jobMessage(job: DeliveryJob, payload: Buffer) {
  return {
    exchange: '',
    routingKey: deliveriesQueue,
    body: payload.length <= jobBodyMaxBytes ? payload : Buffer.alloc(0),
    headers: jobHeaders(job),
    contentType: 'application/json',
    messageId: String(job.deliveryId),
  };
}

/** The AMQP headers that carry a job. */
export function jobHeaders(job: DeliveryJob): Record<string, string> {
  return { [jobHeader]: JSON.stringify(job) };
}

/**
 * Reads the job of a message that one of our services published.
 * @throws when the header is not there or not ours: someone else writes into our queue.
 */
export function parseDeliveryJob(headers: Record<string, unknown>): DeliveryJob {
  const text = headers[jobHeader];
  if (typeof text !== 'string') throw new Error('the message has no `job` header');
  const job = JSON.parse(text) as DeliveryJob;
  if (
    !Number.isSafeInteger(job.deliveryId) ||
    !Number.isInteger(job.hookId) ||
    typeof job.guid !== 'string' ||
    typeof job.event !== 'string' ||
    typeof job.eventKey !== 'string' ||
    typeof job.eventOn !== 'string'
  ) {
    throw new Error('the `job` header is not a delivery job');
  }
  return job;
}
