/**
 * The spine of delivering: takes jobs from `gatepost.deliveries` and decides what happens to each. A job is acked only when its outcome
 * row is committed, when it is parked in PostgreSQL, or when nothing is left to deliver.
 */
import type { KeyObject } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Incoming } from '@gatepost/amqp/consumer';
import { type DeliveryJob, jobFields, openJob } from '@gatepost/contracts/delivery-job';
import { lookForBacklog } from '@gatepost/webhook-db/backlog';
import { unpark } from '@gatepost/webhook-db/parked';
import type { TakenEvent } from '@gatepost/webhook-db/routed-events';
import { makeRoom } from '../fairness/room.ts';
import { type Admit, isTooLate, paused, slowed } from '../limit/admit.ts';
import { type Parking, parkAgain } from '../parked/park.ts';
import { makeBatches } from '../settling/batch.ts';
import { makeIntake } from '../settling/intake.ts';
import { GivenUp } from '../settling/persist.ts';
import { ack, deadLetter, type Settle, type Verdict, verdictOf } from '../settling/settle.ts';
import type { WorkCounts } from '../work-counts.ts';
import { type AttemptParts, makeAttempt, ranOf } from './attempt.ts';
import { makeRecording } from './recording.ts';
import { makeTaken, type Taken } from './taken.ts';
import { findUnsigned } from './unsigned.ts';

export type InboxParts = AttemptParts & {
  /** Each job carries an authentication code made with one of these. */
  jobKeys: readonly KeyObject[];
  admit: Admit;
  settle: Settle;
  workCounts: WorkCounts;
  concurrency: number;
  /** Tells whether the events this dispatcher has taken are still its own (packages/webhook-db/src/takers.ts). */
  lockedBy: () => number | undefined;
};

export type Inbox = {
  /** A message of the deliveries queue; it is settled sooner or later. */
  receive(message: Incoming): void;
  /** Deliveries of events this dispatcher routed, made without a RabbitMQ job. */
  taken: Taken;
  /** Messages in hand that have not started. */
  waiting(): number;
  /** Those of them that would start if they were allowed to. */
  waitingForRoom(): number;
  /** Messages in hand, and whether any of them is being parked or recorded. */
  inHand(): { jobs: number; parking: boolean; recording: boolean };
  /** Gives back what has not started; resolves when the rest is settled. */
  finish(): Promise<void>;
};

export function makeInbox(parts: InboxParts): Inbox {
  const { persist, log } = parts;
  const stop = new AbortController();
  const recording = makeRecording(parts);
  const parking = makeParking(parts);
  const room = makeRoom(parts.concurrency);
  // Jobs whose time has not come, or whose limit is being asked.
  let early = 0;

  const awaitAdmission = makeAwaitAdmission(parts, stop.signal);
  const forget = (job: DeliveryJob) =>
    persist('forget a parked delivery', () => unpark(parts.pool, [job.deliveryId]), job);
  /** `routes`: the message belongs to this event, which is marked as routed once the delivery no longer needs it. */
  const deliver = async (message: Incoming, job: DeliveryJob, routes: TakenEvent | undefined): Promise<Verdict> => {
    const receivedAtMs = performance.now();
    const check = () => {
      checkNotLost(message);
      if (routes && !taken.isOurs(job))
        throw new GivenUp('others may have taken this event for abandoned', 'connection_lost');
    };
    early += 1;
    const decided = await awaitAdmission(job).finally(() => {
      early -= 1;
    });
    check();
    if (decided === 'withdrawn') return ack('cancelled');
    if ('parking' in decided) return parking.add({ ...decided.parking, routes });
    const work = async () => {
      // RabbitMQ may hand a job out again whose attempt was made here, but could not be recorded yet: the log would say that it was not made.
      await recording.settled(job.deliveryId);
      check();
      return makeAttempt(parts, message, decided.job, receivedAtMs);
    };
    const { hookId, accountId, replayId } = job;
    const entered = await room.run({ hookId, accountId, isLast: replayId !== undefined }, work, ranOf);
    const result = entered.kind === 'ran' ? entered.result : entered;
    if (result.kind === 'paused' || result.kind === 'busy' || result.kind === 'no_room' || result.kind === 'late') {
      check();
      return parking.add({ ...putAside(decided.job, result, parts.metrics), routes });
    }
    if (result.kind === 'ended') return recording.record({ ...result.ended, routes });
    if (job.parked) await forget(job);
    if (routes) await taken.route(routes, job);
    return ack(result.why);
  };
  const taken = makeTaken({ ...parts, deliver });
  /** A job that becomes a dead letter loses its parked row too, which would bring it back. */
  const deliverOrForget = async (message: Incoming, job: DeliveryJob): Promise<Verdict> => {
    try {
      return await deliver(message, job, undefined);
    } catch (error) {
      if (job.parked && verdictOf(error).kind === 'dead_letter')
        await forget(job).catch((again) =>
          log.error({ error: again, ...jobFields(job) }, 'could not forget a parked delivery'),
        );
      throw error;
    }
  };
  const intake = makeIntake({
    name: 'handle a delivery job',
    settle: parts.settle,
    log,
    async decide(message) {
      const found = await findJob(parts, message);
      return 'job' in found ? deliverOrForget(found.message, found.job) : found;
    },
    onSettled() {
      parts.workCounts.jobs += 1;
    },
  });
  return {
    receive: intake.receive,
    taken,
    inHand: () => ({
      jobs: intake.inHand() + taken.count(),
      parking: !parking.isIdle(),
      recording: !recording.isIdle(),
    }),
    waitingForRoom: room.waiting,
    waiting: () => room.waiting() + early,
    async finish() {
      stop.abort();
      room.close();
      await intake.idle();
    },
  };
}

/** Parks a job that could not start or was late. */
function putAside(
  job: DeliveryJob,
  why: { kind: 'paused' | 'late' } | { kind: 'busy' | 'no_room'; dueMs: number },
  metrics: Parameters<typeof slowed>[1],
): Parking {
  if ('dueMs' in why) return { job: { ...job, wasPutAside: true }, reason: 'busy', dueMs: why.dueMs };
  return why.kind === 'paused' ? paused(job) : slowed(job, metrics);
}

/** The job in a message, or the verdict on a message without one. */
async function findJob({ jobKeys, persist, pool }: InboxParts, message: Incoming) {
  const opened = openJob(message, ...jobKeys);
  if (opened.kind === 'refused') return deadLetter(opened.reason, opened.detail);
  if (opened.kind === 'job') return { job: opened.job, message };
  const look = () => findUnsigned(pool, opened.job, message.body);
  const found = await persist('look for the delivery of an unsigned job', look, opened.job);
  if (found === 'waits') return ack('parked');
  if (found) return { job: found.job, message: { ...message, body: found.payload } };
  return deadLetter('job_not_authentic', 'no authentication code, and no such delivery is stored');
}

/** `withdrawn`: whoever requested it was answered with 503, or its outcome is recorded already. */
type Admission = { job: DeliveryJob } | { parking: Parking } | 'withdrawn';

/** Resolves with the job once its account's limit lets it be sent, or with how to park it. */
function makeAwaitAdmission(parts: InboxParts, stopped: AbortSignal) {
  /** Resolves when the job's time has come. */
  const waitUntilDue = async (job: DeliveryJob) => {
    const waitMs = Math.min(earlyMaxMs, (job.notBeforeMs ?? 0) - Date.now());
    if (waitMs > 0)
      await wait(waitMs, undefined, { signal: stopped }).catch(() => {
        throw new GivenUp('stopped before the moment of a job');
      });
  };
  /** Asks the account's limit for a job whose publisher has not. */
  const askLimit = async (job: DeliveryJob): Promise<Admission> => {
    const account = await parts.persist('look up an account', () => parts.accounts.ofId(job.accountId), job);
    if (!account) return { job }; // to be cancelled
    const look = () => lookForBacklog(parts.pool, account.id, job.deliveryId);
    const { hasBacklog, isParked } = await parts.persist('look for a backlog', look, job);
    if (job.parked && !isParked) return 'withdrawn';
    const { now, later } = await parts.admit(account, hasBacklog, [job]);
    return later[0] ? { parking: later[0] } : { job: now[0]! };
  };
  return async (asked: DeliveryJob): Promise<Admission> => {
    const decided = asked.admitted ? { job: asked } : await askLimit(asked);
    if (decided === 'withdrawn' || 'parking' in decided) return decided;
    await waitUntilDue(decided.job);
    return isTooLate(decided.job) ? { parking: slowed(decided.job, parts.metrics) } : decided;
  };
}

/** The dispatcher that RabbitMQ hands the message to next makes the attempt: we must not. */
function checkNotLost(message: Incoming): void {
  if (message.isLost()) throw new GivenUp('lost the connection that brought a job', 'connection_lost');
}

/** Pumped jobs arrive at most this early; a wrong clock must not hold one any longer. */
const earlyMaxMs = 1_000;

const parkedAtOnce = 200;

function makeParking({ pool, persist, workCounts, metrics }: InboxParts) {
  return makeBatches<Parking, Verdict>({
    maxItems: parkedAtOnce,
    maxBytes: Number.POSITIVE_INFINITY,
    bytesOf: () => 0,
    async work(some) {
      await persist('park deliveries', () => parkAgain(pool, some));
      workCounts.parked += some.length;
      for (const one of some) metrics.deliveryWaits(one);
      return some.map(() => ack('parked'));
    },
  });
}
