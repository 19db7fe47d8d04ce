/**
 * The spine of delivering: takes the jobs of `gatepost.deliveries` and decides what becomes of each. A job is acked only when the
 * row of its outcome is committed, or when it is cancelled because nothing is left to deliver.
 */
import type { KeyObject } from 'node:crypto';
import type { Incoming } from '@gatepost/amqp/consumer';
import { type DeliveryJob, openJob } from '@gatepost/contracts/delivery-job';
import { makeBatches } from '../batch.ts';
import { type ConcurrencyLimiter, makeConcurrencyLimiter } from '../fairness/concurrency-limiter.ts';
import { type Admit, admitted } from '../limit/admit.ts';
import { type Parking, parkAgain } from '../parked/park.ts';
import { type AttemptParts, deliver } from './attempt.ts';
import { type RecordingParts, type Settling, settle } from './recording.ts';
import { bury, guarded, settleFailed, workOff } from './settle.ts';
import { findUnsigned } from './unsigned.ts';

export type DeliverParts = AttemptParts &
  RecordingParts & {
    /** Under which jobs carry their authentication codes. */
    jobKey: KeyObject;
    admit: Admit;
    concurrency: number;
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
