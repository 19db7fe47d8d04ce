/**
 * The spine of delivering: one job of `gatepost.deliveries`, one attempt. A job is acked only when the row of its outcome is
 * committed, or when it is cancelled because nothing is left to deliver.
 */
import type { KeyObject } from 'node:crypto';
import type { Incoming } from '@gatepost/amqp/consumer';
import type { Publisher } from '@gatepost/amqp/publisher';
import { type DeliveryJob, openJob } from '@gatepost/contracts/delivery-job';
import type { DeadReason } from '@gatepost/contracts/event';
import { inHalves } from '@gatepost/runtime/halve';
import type { Log } from '@gatepost/runtime/log';
import type { Pool } from '@gatepost/webhook-db/pool';
import type { Accounts, Hook } from '../accounts.ts';
import { makeBatches } from '../batch.ts';
import { publishDeadLetter } from '../dead-letter.ts';
import { type ConcurrencyLimiter, makeConcurrencyLimiter } from '../fairness/concurrency-limiter.ts';
import { type Admit, admitted } from '../limit/admit.ts';
import type { CancelReason, Metrics } from '../metrics.ts';
import type { Moved } from '../moved.ts';
import { type Parking, parkAgain, unpark } from '../parked/park.ts';
import { ensurePartitions, isMissingPartition } from '../partitions.ts';
import { isGivenUp, type Persist } from '../persist.ts';
import { loadPayload } from '../routing/store-events.ts';
import { deadReasonOf, OutOfResources } from '../trouble.ts';
import { classify, type Outcome } from './classify.ts';
import type { Attempt, Post } from './post.ts';
import { type Ended, insertDeliveries, isRecorded } from './record.ts';
import { buildRequest, type DeliveryRequest } from './request.ts';
import { retryWaitMs } from './retry.ts';
import { findUnsigned } from './unsigned.ts';

export type DeliverParts = {
  pool: Pool;
  accounts: Accounts;
  publisher: Publisher;
  /** Under which jobs carry their authentication codes. */
  jobKey: KeyObject;
  post: Post;
  admit: Admit;
  persist: Persist;
  moved: Moved;
  metrics: Metrics;
  log: Log;
  userAgent: string;
  concurrency: number;
  retryScheduleSeconds: readonly number[];
};

export type Deliver = {
  /** Takes a message of the deliveries queue; it is settled by what is made here, sooner or later. */
  take(message: Incoming): void;
  /** Messages in hand that have not begun. */
  waiting(): number;
  /** Those of them that would begin if they were let. */
  heldUp(): number;
  /** Messages in hand, and of these the ones that are parked or recorded now. */
  inHand(): { jobs: number; parking: boolean; recording: boolean };
  /** Gives back what has not begun; resolves when the rest is settled. */
  finish(): Promise<void>;
};

type InHand = { message: Incoming; job: DeliveryJob; hookId: number; accountId: number };
type Settling = { ended: Ended; message: Incoming };

/** How far the clocks of two of our machines may be apart. */
const clocksDifferMs = 2_000;
const batchMaxRows = 200;
const batchMaxBytes = 4 * 1024 * 1024;

export function makeDeliver(parts: DeliverParts): Deliver {
  const settling = makeBatches<Settling>({
    maxItems: batchMaxRows,
    maxBytes: batchMaxBytes,
    bytesOf: ({ ended }) => 2_000 + (ended.attempt.kind === 'response' ? ended.attempt.body.length * 2 : 0),
    work: (batch) => settle(parts, batch),
  });
  const parking = makeBatches<{ message: Incoming; parking: Parking }>({
    maxItems: batchMaxRows,
    maxBytes: Number.POSITIVE_INFINITY,
    bytesOf: () => 0,
    work: (batch) => parkBatch(parts, batch),
  });
  const limiter: ConcurrencyLimiter<InHand> = makeConcurrencyLimiter<InHand>({
    concurrency: parts.concurrency,
    async start({ message, job }) {
      const ended = await guarded(parts, { message, job }, () => deliver(parts, message, job));
      if (!ended) return undefined;
      settling.add({ ended, message });
      const { attempt: made } = ended;
      return { durationMs: made.timings.total, timedOut: made.kind === 'timeout' };
    },
    turnAway: ({ message, job }, dueMs) =>
      parking.add({ message, parking: { job: withoutSlot(job), reason: 'busy', dueMs } }),
  });

  let inHand = 0;
  // Jobs whose moment has not come, and those being asked about or buried.
  const held = new Map<NodeJS.Timeout, Incoming>();
  const asking = new Set<Promise<void>>();
  const whenDue = (inHand: InHand, begin: (inHand: InHand) => void) => {
    const waitMs = Math.min(holdMaxMs, (inHand.job.notBeforeMs ?? 0) - Date.now());
    if (waitMs <= 0) return begin(inHand);
    const timer = setTimeout(() => {
      held.delete(timer);
      begin(inHand);
    }, waitMs);
    held.set(timer, inHand.message);
  };
  const begin = (inHand: InHand) => {
    const { job } = inHand;
    const isInTime = !job.pace || (job.pace.slotMs !== undefined && Date.now() - job.pace.slotMs < inTimeMs);
    if (isInTime) limiter.add(inHand);
    else track(guarded(parts, inHand, () => askLimitAgain(inHand)));
  };
  const askLimitAgain = async (inHand: InHand) => {
    const { message, job } = inHand;
    const account = await parts.persist('look up an account', () => parts.accounts.ofId(job.accountId));
    if (!account) return limiter.add(inHand); // cancelled there
    const decided = await parts.admit.askAgain(account, job);
    if (decided.kind === 'now') whenDue({ ...inHand, job: decided.job }, limiter.add);
    else parking.add({ message, parking: decided.parking });
  };
  const askLimit = async (inHand: InHand) => {
    const { message, job } = inHand;
    const account = await parts.persist('look up an account', () => parts.accounts.ofId(job.accountId));
    if (!account) return limiter.add(inHand); // cancelled there
    const decided = admitted(job, (await parts.admit.plan(account, 1))[0]!);
    if (decided.kind === 'now') whenDue({ ...inHand, job: decided.job }, begin);
    else parking.add({ message, parking: decided.parking });
  };
  const track = (work: Promise<unknown>) => {
    const tracked: Promise<void> = work.then(() => void asking.delete(tracked));
    asking.add(tracked);
  };

  const takeJob = (message: Incoming, job: DeliveryJob) => {
    const inHand = { message, job, hookId: job.hookId, accountId: job.accountId };
    if (job.admitted) whenDue(inHand, begin);
    else track(guarded(parts, inHand, () => askLimit(inHand)));
  };
  const takeUnsigned = async (message: Incoming, claimed: DeliveryJob) => {
    const work = () => findUnsigned(parts.pool, claimed, message.body);
    const found = await parts.persist('look for the delivery of an unsigned job', work);
    if (found === 'waits') return message.ack();
    if (found) return takeJob({ ...message, body: found.payload }, found.job);
    await bury(parts, message, 'job_not_authentic', 'no authentication code, and no such delivery is stored');
  };

  return {
    take(taken) {
      inHand += 1;
      const message = settledOnce(taken, () => {
        inHand -= 1;
        parts.moved.jobs += 1;
      });
      const opened = openJob(message, parts.jobKey);
      switch (opened.kind) {
        case 'job':
          return takeJob(message, opened.job);
        case 'unsigned':
          return track(guarded(parts, { message }, () => takeUnsigned(message, opened.job)));
        case 'refused':
          return track(guarded(parts, { message }, () => bury(parts, message, opened.reason, opened.detail)));
      }
    },
    inHand: () => ({ jobs: inHand, parking: !parking.isIdle(), recording: !settling.isIdle() }),
    heldUp: () => limiter.waiting(),
    waiting: () => limiter.waiting() + held.size + asking.size,
    async finish() {
      // One may become the other meanwhile.
      while (held.size > 0 || asking.size > 0) {
        for (const [timer, message] of held) {
          clearTimeout(timer);
          message.giveBack();
        }
        held.clear();
        await Promise.all(asking);
      }
      for (const { message } of limiter.drain()) message.giveBack();
      await limiter.idle();
      await settling.idle();
      await parking.idle();
    },
  };
}

/** Pumped jobs come at most so much ahead of their time; a clock that is wrong must not hold one longer. */
const holdMaxMs = 1_000;

/** A second slot that was kept this well is not asked for once more. */
const inTimeMs = 100;

/** The same message, whose settling is heard of. */
function settledOnce(message: Incoming, onSettled: () => void): Incoming {
  return {
    ...message,
    ack() {
      message.ack();
      onSettled();
    },
    giveBack() {
      message.giveBack();
      onSettled();
    },
  };
}

/** A job that did not use its slot asks for another when it comes back. */
function withoutSlot(job: DeliveryJob): DeliveryJob {
  if (job.pace?.slotMs === undefined) return job;
  const { slotMs: _slotMs, ...pace } = job.pace;
  return { ...job, pace };
}

/** Runs `work` for a message; what fails for good buries the message, and nothing is thrown. */
async function guarded<T>(parts: DeliverParts, failing: Failing, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    await settleFailed(parts, failing, error);
    return undefined;
  }
}

type Failing = { message: Incoming; job?: DeliveryJob };

/**
 * Settles a message that could not be dealt with: given back, it would come again at once, and so for ever. What is parked in its
 * job's name goes, else that would come back.
 */
async function settleFailed(parts: DeliverParts, { message, job }: Failing, error: unknown): Promise<void> {
  if (message.isSettled()) return;
  try {
    if (isGivenUp(error)) return message.giveBack();
    parts.log.error({ error, 'message.id': message.messageId }, 'could not deliver a job');
    const { reason, detail } = deadReasonOf(error);
    await bury(parts, message, reason, detail);
    if (job?.parked) await parts.persist('forget a parked delivery', () => unpark(parts.pool, [job.deliveryId]));
  } catch (again) {
    if (!isGivenUp(again)) parts.log.error({ error: again }, 'could not bury a job, or what is parked in its name');
    if (!message.isSettled()) message.giveBack();
  }
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

/** Makes the attempt that a job asks for. Answers undefined when the message is settled without one. */
async function deliver(parts: DeliverParts, message: Incoming, job: DeliveryJob): Promise<Ended | undefined> {
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
async function attempt(parts: DeliverParts, job: DeliveryJob, hook: Hook, payload: Buffer): Promise<Ended> {
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

/** Records a batch of outcomes, then acks their jobs. */
async function settle(parts: DeliverParts, batch: Settling[]): Promise<void> {
  await workOff(parts, batch, {
    async work(some) {
      await record(
        parts,
        some.map(({ ended }) => ended),
      );
      for (const { message } of some) message.ack();
      parts.moved.recorded += some.length;
    },
    alone: (settling, error) => settleUnstorable(parts, settling, error),
  });
}

async function record(parts: DeliverParts, ended: Ended[]): Promise<void> {
  await parts.persist('record deliveries', async () => {
    try {
      await insertDeliveries(parts.pool, ended);
    } catch (error) {
      if (!isMissingPartition(error)) throw error;
      await ensurePartitions(parts.pool);
      await insertDeliveries(parts.pool, ended);
    }
  });
}

/** A receiver answered with something PostgreSQL does not take: the outcome is recorded without its words. */
async function settleUnstorable(parts: DeliverParts, { ended, message }: Settling, error: unknown): Promise<void> {
  parts.log.error({ 'delivery.id': ended.job.deliveryId, error }, 'could not record a response, recording it without');
  const { timings } = ended.attempt;
  const bare: Ended = {
    ...ended,
    attempt: { kind: 'error', code: '', message: '', hadResponse: false, timings },
    outcome: ended.outcome.kind === 'delivered' ? ended.outcome : { ...ended.outcome, error: null },
  };
  try {
    await record(parts, [bare]);
    message.ack();
  } catch (again) {
    await settleFailed(parts, { message, job: ended.job }, again);
  }
}

/** Parks jobs that have to wait, then acks them. */
async function parkBatch(parts: DeliverParts, batch: { message: Incoming; parking: Parking }[]): Promise<void> {
  await workOff(parts, batch, {
    async work(some) {
      const parkings = some.map(({ parking }) => parking);
      await parts.persist('park deliveries', () => parkAgain(parts.pool, parkings));
      for (const { message } of some) message.ack();
      parts.moved.parked += some.length;
    },
    alone: ({ message, parking: { job } }, error) => settleFailed(parts, { message, job }, error),
  });
}

/** Halves what is refused; when the process stops, what is not settled goes back. */
async function workOff<T extends { message: Incoming }>(
  parts: DeliverParts,
  batch: T[],
  how: { work: (some: readonly T[]) => Promise<void>; alone: (item: T, error: unknown) => Promise<void> },
): Promise<void> {
  try {
    await inHalves(batch, { ...how, isNobodysFault: isGivenUp });
  } catch (error) {
    if (!isGivenUp(error)) parts.log.error({ error }, 'could not settle a batch of jobs');
    for (const { message } of batch) if (!message.isSettled()) message.giveBack();
  }
}

async function cancel(
  parts: DeliverParts,
  message: Incoming,
  job: DeliveryJob,
  reason: CancelReason,
): Promise<undefined> {
  parts.metrics.deliveryCancelled(job, reason);
  return dismiss(parts, message, job);
}

/** Settles a job that is not to be made. */
async function dismiss(parts: DeliverParts, message: Incoming, job: DeliveryJob): Promise<undefined> {
  if (job.parked) await parts.persist('forget a parked delivery', () => unpark(parts.pool, [job.deliveryId]));
  message.ack();
}

/** Moves a message to the dead letters, with the reason. */
async function bury(parts: DeliverParts, message: Incoming, reason: DeadReason, detail: string): Promise<void> {
  await parts.persist('publish a dead letter', () => publishDeadLetter(parts.publisher, message, reason, detail));
  parts.metrics.eventDead(reason, detail, message.messageId);
  message.ack();
}
