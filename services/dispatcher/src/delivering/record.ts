/** Writes what became of attempts into the delivery log, in natural batches; a job is settled once its row is committed. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Hook } from '../accounts.ts';
import { parkedRecord, toParkedRow } from '../parked/park.ts';
import type { Outcome } from './classify.ts';
import type { Attempt } from './post.ts';
import type { DeliveryRequest } from './request.ts';

export type Ended = {
  job: DeliveryJob;
  hook: Hook;
  request: DeliveryRequest;
  attempt: Attempt;
  outcome: Outcome;
  /** When the attempt began. */
  deliveredAt: Date;
  /** When the next attempt is due; undefined: there is none. */
  retryDueMs: number | undefined;
};

const insert = `
  INSERT INTO deliveries (id, delivered_on, delivered_at, hook_id, account_id, repository_id, guid, event_key, event_on, event,
                          action, attempt, redelivery, throttled_at, status, status_code, error, duration_ms, timings, url,
                          request_headers, response_headers, response_body)
  SELECT id, (delivered_at AT TIME ZONE 'UTC')::date, delivered_at, hook_id, account_id, repository_id, guid, event_key,
         event_on, event, action, attempt, redelivery, throttled_at, status, status_code, error, duration_ms, timings, url,
         request_headers, response_headers, decode(response_body, 'base64')
    FROM json_to_recordset($1) AS r (
      id bigint, delivered_at timestamptz, hook_id integer, account_id integer, repository_id integer, guid uuid,
      event_key uuid, event_on date, event text, action text, attempt smallint, redelivery boolean, throttled_at timestamptz,
      status text, status_code integer, error text, duration_ms integer, timings jsonb, url text, request_headers jsonb,
      response_headers jsonb, response_body text)
  ON CONFLICT DO NOTHING`;

// Who recorded the attempt parks the next one, so that an attempt made twice is not retried twice. What was parked has its outcome now.
const insertAndPark = `
  WITH recorded AS (${insert} RETURNING id), settled AS (DELETE FROM parked WHERE delivery_id = ANY ($2::bigint[]))
  INSERT INTO parked (delivery_id, account_id, reason, due_at, event_key, event_on, job)
  SELECT nextval('delivery_ids'), account_id, reason, due_at, event_key, event_on, job
    FROM json_to_recordset($3) AS r ${parkedRecord} WHERE delivery_id IN (SELECT id FROM recorded)`;

/**
 * Inserts one row per ended attempt, and parks the attempts that follow; a row that is there already stays as it is, and then
 * nothing follows.
 */
export async function insertDeliveries(pool: Pool, endedWithDuplicates: readonly Ended[]): Promise<void> {
  const ended = withoutDuplicates(endedWithDuplicates);
  const settled = ended.filter(({ job }) => job.parked).map(({ job }) => job.deliveryId);
  const followed = ended.filter(({ retryDueMs }) => retryDueMs !== undefined);
  if (settled.length === 0 && followed.length === 0) {
    await pool.query({ name: 'insert deliveries', text: insert, values: [toJson(ended)] });
    return;
  }
  const values = [toJson(ended), settled, JSON.stringify(followed.map(toRetryRow))];
  await pool.query({ name: 'insert deliveries and park', text: insertAndPark, values });
}

/**
 * A job may have been there twice, and both attempts have ended: one is recorded, the successful one if any, so that one attempt
 * follows at most.
 */
function withoutDuplicates(ended: readonly Ended[]): Ended[] {
  const byId = new Map<number, Ended>();
  for (const one of ended) {
    const known = byId.get(one.job.deliveryId);
    if (!known || (known.outcome.kind === 'failed' && one.outcome.kind === 'delivered'))
      byId.set(one.job.deliveryId, one);
  }
  return [...byId.values()];
}

/** The next attempt; it stands under the id of this one, until the database gives it its own. */
function toRetryRow({ job, retryDueMs }: Ended): Record<string, unknown> {
  const { admitted: _admitted, pace: _pace, mayRepeat: _mayRepeat, ...kept } = job;
  const next: DeliveryJob = { ...kept, attempt: job.attempt + 1, throttledAt: null };
  return toParkedRow({ job: next, reason: 'retry', dueMs: retryDueMs! });
}

/** Whether the outcome of a delivery is recorded, by this or another dispatcher. Answers for the last two days. */
export async function isRecorded(pool: Pool, deliveryId: number): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM deliveries WHERE id = $1', [deliveryId]);
  return rowCount !== 0;
}

/** JSON as PostgreSQL takes it: its text has no NUL, which receivers' header values and error texts might hold. */
function toJson(ended: Ended[]): string {
  const json = JSON.stringify(ended.map(toRow));
  return json.includes('\\u0000') ? json.replaceAll(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\\ufffd') : json;
}

function toRow({ job, hook, request, attempt, outcome, deliveredAt }: Ended): Record<string, unknown> {
  const response = attempt.kind === 'response' ? attempt : undefined;
  return {
    id: job.deliveryId,
    delivered_at: deliveredAt,
    hook_id: job.hookId,
    account_id: job.accountId,
    repository_id: job.repositoryId,
    guid: job.guid,
    event_key: job.eventKey,
    event_on: job.eventOn,
    event: job.event,
    action: job.action,
    attempt: job.attempt,
    redelivery: job.redelivery,
    throttled_at: job.throttledAt,
    status: outcome.status,
    status_code: outcome.statusCode,
    error: outcome.error?.toWellFormed() ?? null,
    duration_ms: attempt.timings.total,
    timings: attempt.timings,
    url: hook.url,
    request_headers: request.loggedHeaders,
    response_headers: response?.headers ?? null,
    response_body: response ? response.body.toString('base64') : null,
  };
}
