/** One attempt, from the look-up of its hook to its classified outcome. */
import type { Incoming } from '@gatepost/amqp/consumer';
import { type DeliveryJob, jobFields } from '@gatepost/contracts/delivery-job';
import type { Log } from '@gatepost/runtime/log';
import { type Span, type Tracing, tracing } from '@gatepost/runtime/tracing';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Accounts } from '../accounts.ts';
import type { Ran } from '../fairness/concurrency-limiter.ts';
import type { Hook } from '../hook.ts';
import { isTooLate } from '../limit/admit.ts';
import { spanAttributes } from '../log-fields.ts';
import type { CancelReason, Metrics } from '../metrics.ts';
import type { Persist } from '../settling/persist.ts';
import { OutOfResources } from '../settling/trouble.ts';
import { classify, type Outcome } from './classify.ts';
import type { Forward } from './forward.ts';
import { withoutLaterSecrets } from './made-up.ts';
import type { Payloads } from './payloads.ts';
import type { Post } from './post.ts';
import { type Ended, fateOf } from './record.ts';
import { buildRequest } from './request.ts';
import { retryWaitMs } from './retry.ts';

export type AttemptParts = {
  pool: Pool;
  accounts: Accounts;
  post: Post;
  /** Used instead of `post` for hooks with a listener. */
  forward: Forward;
  payloads: Payloads;
  persist: Persist;
  metrics: Metrics;
  log: Log;
  userAgent: string;
  retryScheduleSeconds: readonly number[];
};

export type Attempted =
  | { kind: 'ended'; ended: Omit<Ended, 'routes'> }
  /** It was made before, will be made later, or must not be made any more. */
  | { kind: 'not_made'; why: 'recorded_before' | 'parked' | 'cancelled' }
  /** Postponed: the account or the hook is paused. */
  | { kind: 'paused' }
  /** So long after its grant that the account's limit must be asked again. */
  | { kind: 'late' }
  /** Postponed: the listener has other deliveries ahead of it, or this machine cannot make the attempt. */
  | { kind: 'busy'; dueMs: number; durationMs: number }
  /** Postponed: this machine has no room for its payload. */
  | { kind: 'no_room'; dueMs: number };

/** Makes the attempt that a job asks for. @param receivedAtMs when we received the job (`performance.now()`) */
export async function makeAttempt(
  parts: AttemptParts,
  message: Incoming,
  job: DeliveryJob,
  receivedAtMs: number,
): Promise<Attempted> {
  const { pool, persist } = parts;
  // A dispatcher may have made this attempt, or put it aside, and died or lost its connection before the ack.
  if (message.redelivered || job.mayRepeat) {
    const fate = await persist('look for an outcome', () => fateOf(pool, job.deliveryId), job);
    // A job that was put aside before has its row in `parked` until its outcome is recorded.
    if (fate === 'recorded_before' || (fate === 'parked' && !job.parked)) return { kind: 'not_made', why: fate };
  }
  const cancelled = (reason: CancelReason): Attempted => {
    parts.metrics.deliveryCancelled(job, reason);
    return { kind: 'not_made', why: 'cancelled' };
  };
  const hook = await persist('look up a hook', () => findHook(parts.accounts, job, receivedAtMs), job);
  if (!hook) return cancelled('hook_gone');
  if (!hook.deliverable) return cancelled('hook_disabled');
  if (hook.paused) return { kind: 'paused' };
  const make = async (payload: Buffer | undefined): Promise<Attempted> => {
    if (!payload) return cancelled('event_gone');
    return attempt(parts, job, hook, payload, message.traceparent);
  };
  if (message.body.length > 0) return make(message.body);
  const made = await parts.payloads.use(job, make);
  return made === 'no_room' ? { kind: 'no_room', dueMs: backAtMs() } : made;
}

/**
 * Posts until the receiver, the network or the deadline decides the outcome. Faults of our own machine use up no attempt: it is made again,
 * and after a while put aside, so that it leaves its room to others.
 */
async function attempt(
  parts: AttemptParts,
  job: DeliveryJob,
  hook: Hook,
  payload: Buffer,
  traceparent: string | undefined,
): Promise<Attempted> {
  const startedAt = performance.now();
  const make = async () => {
    const span = tracing && beginSpan(tracing, traceparent, job, hook);
    const signing = await withoutLaterSecrets(parts.pool, job, hook);
    const request = await buildRequest(job, signing, payload, parts.userAgent, span?.traceparent);
    const deliveredAt = new Date();
    if (isTooLate(job)) {
      span?.end({}, "too late for its account's limit");
      return 'late';
    }
    parts.metrics.attemptStarted(job);
    const attempt = hook.name === 'cli' ? await parts.forward(hook.id, request) : await parts.post(request);
    if (attempt.kind === 'busy') {
      span?.end({}, 'its listener is busy');
      parts.metrics.attemptTurnedAway();
      return 'busy';
    }
    const outcome = classify(attempt);
    span?.end(
      { 'http.response.status_code': attempt.kind === 'response' ? attempt.status : undefined },
      errorOf(outcome),
    );
    if (outcome) return { deliveredAt, request, attempt, outcome };
    const cause = attempt.kind === 'error' ? attempt.code : attempt.kind;
    parts.metrics.attemptPostponed(job, cause);
    if (performance.now() - startedAt > ownFaultMaxMs) return 'busy';
    throw new OutOfResources(`this machine could not make the attempt: ${cause}`);
  };
  const made = await parts.persist('make an attempt', make, job);
  if (made === 'late') return { kind: 'late' };
  if (made === 'busy') return busySince(startedAt);
  const { attempt, outcome } = made;
  const nowMs = Date.now();
  const waitMs = retryWaitMs(job, hook.retry, attempt, outcome, parts.retryScheduleSeconds, nowMs);
  const retryDueMs = waitMs === undefined ? undefined : nowMs + waitMs;
  parts.metrics.attemptEnded(job, hook, outcome, attempt.timings.total, retryDueMs);
  return { kind: 'ended', ended: { job, hook, ...made, retryDueMs } };
}

/** A delivery whose listener or whose machine was too busy comes back after this long, plus up to as much again. */
const busyMs = 1_000;
const backAtMs = () => Date.now() + busyMs * (1 + Math.random());
const busySince = (startedAt: number): Attempted => ({
  kind: 'busy',
  dueMs: backAtMs(),
  durationMs: performance.now() - startedAt,
});
/** How long an attempt that our own machine cannot make keeps its room. */
const ownFaultMaxMs = 10_000;

/** The wait for the limit gets a span of its own beside this one, since it ends only now. */
function beginSpan(tracing: Tracing, parent: string | undefined, job: DeliveryJob, { target }: Hook): Span {
  if (job.throttledAt !== null)
    tracing.begin('wait for the limit', { kind: 'internal', parent, beganAtMs: Date.parse(job.throttledAt) }).end();
  const attributes = {
    'http.request.method': 'POST',
    'server.address': target.hostname,
    'server.port': Number(target.port) || (target.protocol === 'https:' ? 443 : 80),
    ...spanAttributes(jobFields(job)),
  };
  return tracing.begin('deliver', { kind: 'client', parent, attributes });
}

function errorOf(outcome: Outcome | undefined): string | undefined {
  if (outcome?.kind === 'delivered') return undefined;
  return outcome?.error ?? outcome?.status ?? 'this machine could not make the attempt';
}

/** What the receiver's concurrency limit learns from an attempt. */
export function ranOf(attempted: Attempted): Ran | undefined {
  if (attempted.kind === 'busy') return { durationMs: attempted.durationMs, timedOut: true };
  if (attempted.kind !== 'ended') return undefined;
  const { attempt } = attempted.ended;
  return { durationMs: attempt.timings.total, timedOut: attempt.kind === 'timeout' };
}

/**
 * The hook of a job. The job can overtake the notification that its hook was created or activated: only the account as it was when we took the
 * job, or later, proves that nothing is to be delivered.
 */
async function findHook(accounts: Accounts, job: DeliveryJob, receivedAtMs: number): Promise<Hook | undefined> {
  const known = await accounts.ofId(job.accountId);
  const isDeliverable = known?.hooks.get(job.hookId)?.deliverable;
  const account = isDeliverable ? known : await accounts.ofIdSince(job.accountId, receivedAtMs);
  return account && accounts.hookOf(account, job.hookId);
}
