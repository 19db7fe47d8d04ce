/**
 * A delivery job: one message in `gatepost.deliveries`, one attempt to deliver one event to one hook. The body is the event's payload, byte
 * for byte, or empty: the payload is then read from the event's row (so large ones pass the broker once). Everything else is JSON in the
 * header `job`, so that the payload is never parsed or copied into text. The header `job-code` authenticates both: only jobs that one of
 * our services published are delivered.
 */

import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import { jobAddress } from './shards.ts';
import { traceHeader } from './topology.ts';

export type DeliveryJob = {
  /** The delivery's id, shown in the log: increasing, below 2^53, unique to each attempt. */
  deliveryId: number;
  /** The event's guid, shared by all its deliveries. */
  guid: string;
  hookId: number;
  /** The event's type. */
  event: string;
  action: string | null;
  /** Identifies the event's row: its key (UUID) and the day it was received (`YYYY-MM-DD`, UTC). */
  eventKey: string;
  eventOn: string;
  accountId: number;
  /** null for an organization-level event. */
  repositoryId: number | null;
  /** When the event occurred, RFC 3339. */
  occurredAt: string;
  /** 1 for the first try, 2 for the first retry, … */
  attempt: number;
  /** The event's number among those of the hook (docs/reference/delivery.md#gaps); absent: it has none, or an earlier version made the job. */
  sequence?: number | undefined;
  /** Requested by a person; automatic attempts keep false. */
  redelivery: boolean;
  /** When throttling slowed this delivery, RFC 3339. */
  throttledAt: string | null;
  /** It was parked for a pause, or because its receiver was busy: its age says nothing about the dispatchers. */
  wasPutAside?: boolean;
  /** Whether a failure may be followed by automatic attempts; false for pings and tests. */
  retries: boolean;
  /** The account's limit has admitted this delivery; absent: the dispatcher asks before the attempt. */
  admitted?: boolean;
  /** Not to be sent before this time (ms since 1970); at most a second ahead. */
  notBeforeMs?: number;
  /** If it is sent later than this (ms since 1970), the account's limit must be asked anew. */
  notAfterMs?: number;
  /** This job may have been published before: look for its outcome first. */
  mayRepeat?: boolean;
  /** The trace that it belongs to (packages/runtime/src/tracing.ts), while the dispatchers trace. */
  traceparent?: string;
  /** The replay that it belongs to: everything else goes before it. */
  replayId?: number;
  /** This job has a row in `parked` until its outcome is recorded. */
  parked?: boolean;
};

/** The fields that identify a delivery in every log line. */
export function jobFields(job: DeliveryJob): Record<string, unknown> {
  return {
    'delivery.id': job.deliveryId,
    'event.guid': job.guid,
    'event.type': job.event,
    'hook.id': job.hookId,
    'account.id': job.accountId,
    attempt: job.attempt,
    ...(job.traceparent !== undefined && { trace_id: job.traceparent.slice(3, 35) }),
  };
}

/** Payloads longer than this do not travel with their jobs: the body is empty, and the payload is read from the event's row. */
export const jobBodyMaxBytes = 64 * 1024;

export const jobHeader = 'job';
const jobCodeHeader = 'job-code';

/**
 * Derives the key of the jobs' authentication codes from `SECRETS_KEY`, which the services share and producers never see: being able to write
 * to the queue, as other users of the broker may be, is not enough to make a job.
 */
export function deriveJobKey(secretsKey: Buffer): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', secretsKey, 'gatepost', 'delivery jobs', 32)));
}

/**
 * The message that carries a job, in the form a publisher takes. A payload too large to travel is left out. Callers that know nothing of
 * shards use one: the first always exists.
 */
export function jobMessage(job: DeliveryJob, payload: Buffer, key: KeyObject, shards = 1) {
  const text = JSON.stringify(job);
  const body = payload.length <= jobBodyMaxBytes ? payload : Buffer.alloc(0);
  return {
    ...jobAddress(job.hookId, shards),
    body,
    headers: {
      [jobHeader]: text,
      [jobCodeHeader]: codeOf(text, digestOf(body), key).toString('base64url'),
      ...(job.traceparent !== undefined && { [traceHeader]: job.traceparent }),
    },
    contentType: 'application/json',
    messageId: String(job.deliveryId),
  };
}

export type OpenedJob =
  | { kind: 'job'; job: DeliveryJob }
  /** A job as published by earlier versions: nothing in it can be trusted. */
  | { kind: 'unsigned'; job: DeliveryJob }
  | { kind: 'refused'; reason: 'not_a_job' | 'job_not_authentic'; detail: string };

/** Reads a message's job, or says why it is not ours: its code must be under one of these keys. Never throws. */
export function openJob(
  message: { headers: Record<string, unknown>; body: Buffer },
  ...keys: readonly KeyObject[]
): OpenedJob {
  const text = message.headers[jobHeader];
  if (typeof text !== 'string') return refused('not_a_job', 'the message has no `job` header');
  const job = parseJob(text);
  if (!job) return refused('not_a_job', 'the `job` header is not a delivery job');
  const code = message.headers[jobCodeHeader];
  if (code === undefined) return { kind: 'unsigned', job };
  const given = Buffer.from(typeof code === 'string' ? code : '', 'base64url');
  const isRight = (key: KeyObject) => {
    const right = codeOf(text, digestOf(message.body), key);
    return given.length === right.length && timingSafeEqual(given, right);
  };
  if (keys.some(isRight)) return { kind: 'job', job };
  return refused('job_not_authentic', 'the authentication code is not that of this job and this body');
}

function parseJob(text: string): DeliveryJob | undefined {
  try {
    const job = JSON.parse(text) as DeliveryJob;
    const isJob =
      Number.isSafeInteger(job.deliveryId) &&
      Number.isInteger(job.hookId) &&
      typeof job.guid === 'string' &&
      typeof job.event === 'string' &&
      typeof job.eventKey === 'string' &&
      typeof job.eventOn === 'string';
    return isJob ? job : undefined;
  } catch {
    return undefined; // not JSON, or `null`
  }
}

function refused(reason: 'not_a_job' | 'job_not_authentic', detail: string): OpenedJob {
  return { kind: 'refused', reason, detail };
}

/** HMAC-SHA256 over the body's digest, which has a fixed length, and the job's text. */
function codeOf(text: string, bodyDigest: Buffer, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(bodyDigest).update(text).digest();
}

let last: { body: Buffer; digest: Buffer } | undefined;

/** An event's jobs follow each other with the same payload, which is hashed once. */
function digestOf(body: Buffer): Buffer {
  if (last?.body !== body) last = { body, digest: hash('sha256', body, 'buffer') };
  return last.digest;
}
