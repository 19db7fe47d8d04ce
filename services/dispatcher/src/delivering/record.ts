/** What the delivery log records about finished attempts. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { recordDeliveries } from '@gatepost/webhook-db/deliveries';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { TakenEvent } from '@gatepost/webhook-db/routed-events';
import type { Hook } from '../hook.ts';
import { toParkedRow } from '../parked/park.ts';
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
  /** The event that is marked as routed along with the outcome (docs/decisions/0004-an-event-and-its-row.md). */
  routes: TakenEvent | undefined;
};

/**
 * Inserts one row per finished attempt, and parks the attempts that follow. An existing row stays as it is, and then nothing follows.
 */
export async function insertDeliveries(pool: Pool, endedWithDuplicates: readonly Ended[]): Promise<void> {
  const ended = withoutDuplicates(endedWithDuplicates);
  const parked = ended.filter(({ job }) => job.parked).map(({ job }) => job.deliveryId);
  const followed = ended.filter(({ retryDueMs }) => retryDueMs !== undefined);
  const routed = endedWithDuplicates.flatMap(({ routes }) => routes ?? []);
  await recordDeliveries(pool, ended.map(toRow), { parked, routed, next: followed.map(toRetryRow) });
}

/**
 * A job may have been queued twice and both attempts finished: only one is recorded, preferably a successful one, so that at most one
 * attempt follows. (Two events to which PostgreSQL gave the same id, because it crashed in between, are both recorded.)
 */
function withoutDuplicates(ended: readonly Ended[]): Ended[] {
  const byId = new Map<string, Ended>();
  for (const one of ended) {
    const id = `${one.job.deliveryId} ${one.job.eventKey}`;
    const known = byId.get(id);
    if (!known || (known.outcome.kind === 'failed' && one.outcome.kind === 'delivered')) byId.set(id, one);
  }
  return [...byId.values()];
}

/** The next attempt, under this one's id until the database assigns its own. */
function toRetryRow({ job, retryDueMs }: Ended): Record<string, unknown> {
  const { mayRepeat: _mayRepeat, ...kept } = job;
  const next: DeliveryJob = { ...kept, attempt: job.attempt + 1, throttledAt: null };
  return toParkedRow({ job: next, reason: 'retry', dueMs: retryDueMs! });
}

/** What any dispatcher has done with a delivery: its outcome is in the log, of as many days as that has, or it was put aside. */
export async function fateOf(pool: Pool, deliveryId: number): Promise<'recorded_before' | 'parked' | undefined> {
  const { rows } = await pool.query<{ recorded: boolean; parked: boolean }>(
    'SELECT EXISTS (SELECT FROM deliveries WHERE id = $1) AS recorded, EXISTS (SELECT FROM parked WHERE delivery_id = $1) AS parked',
    [deliveryId],
  );
  const { recorded, parked } = rows[0]!;
  return recorded ? 'recorded_before' : parked ? 'parked' : undefined;
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
    sequence: job.sequence,
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
