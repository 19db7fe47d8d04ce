/** One attempt, from the look-up of its hook to its classified outcome. */
import type { Incoming } from '@gatepost/amqp/consumer';
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Accounts, Hook } from '../accounts.ts';
import { loadPayload } from '../routing/store-events.ts';
import { OutOfResources } from '../trouble.ts';
import { classify, type Outcome } from './classify.ts';
import type { Attempt, Post } from './post.ts';
import { type Ended, isRecorded } from './record.ts';
import { buildRequest, type DeliveryRequest } from './request.ts';
import { retryWaitMs } from './retry.ts';
import { cancel, dismiss, type SettleParts } from './settle.ts';

export type AttemptParts = SettleParts & {
  accounts: Accounts;
  post: Post;
  userAgent: string;
  retryScheduleSeconds: readonly number[];
};

/** How far the clocks of two of our machines may be apart. */
const clocksDifferMs = 2_000;

/** Makes the attempt that a job asks for. Answers undefined when the message is settled without one. */
export async function deliver(parts: AttemptParts, message: Incoming, job: DeliveryJob): Promise<Ended | undefined> {
  // Somebody may have made this attempt and died before the ack: then the row says so.
  if (message.redelivered || job.mayRepeat) {
    const recorded = await parts.persist('look for an outcome', () => isRecorded(parts.pool, job.deliveryId));
    if (recorded) return dismiss(parts, message, job);
  }
  const hook = await parts.persist('look up a hook', () => findHook(parts.accounts, job));
  if (!hook) return cancel(parts, message, job, 'hook_gone');
  if (!hook.deliverable) return cancel(parts, message, job, 'hook_disabled');
  const payload =
    message.body.length > 0
      ? message.body
      : await parts.persist('load a payload', () => loadPayload(parts.pool, job.eventKey, job.eventOn));
  if (!payload) return cancel(parts, message, job, 'event_gone');
  return attempt(parts, job, hook, payload);
}

/** Posts until the receiver, the network or the deadline decided; a fault of our own machine spends no attempt. */
async function attempt(parts: AttemptParts, job: DeliveryJob, hook: Hook, payload: Buffer): Promise<Ended> {
  return parts.persist('make an attempt', async () => {
    const deliveredAt = new Date();
    const request: DeliveryRequest = buildRequest(job, hook, payload, parts.userAgent, deliveredAt.getTime());
    parts.metrics.attemptStarted(job);
    const made: Attempt = await parts.post(request);
    const outcome: Outcome | undefined = classify(made);
    if (!outcome) {
      const cause = made.kind === 'error' ? made.code : made.kind;
      parts.metrics.attemptPostponed(job, cause);
      throw new OutOfResources(`this machine could not make the attempt: ${cause}`);
    }
    parts.metrics.attemptEnded(job, outcome, made.timings.total);
    const nowMs = Date.now();
    const waitMs = retryWaitMs(job, hook.retry, made, outcome, parts.retryScheduleSeconds, nowMs);
    const retryDueMs = waitMs === undefined ? undefined : nowMs + waitMs;
    return { job, hook, request, attempt: made, outcome, deliveredAt, retryDueMs };
  });
}

/**
 * The hook of a job. A ping can overtake the word that its hook was made: what we knew before the event occurred (by two clocks
 * that may differ a little) does not prove that there is no such hook.
 */
async function findHook(accounts: Accounts, job: DeliveryJob): Promise<Hook | undefined> {
  const account = await accounts.ofId(job.accountId);
  const isCurrent =
    account?.hooks.get(job.hookId)?.deliverable ||
    (account && account.loadedAt > Date.parse(job.occurredAt) + clocksDifferMs);
  const current = isCurrent ? account : await accounts.reload(job.accountId);
  return current && accounts.hookOf(current, job.hookId);
}
