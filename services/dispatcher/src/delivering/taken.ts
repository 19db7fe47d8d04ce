/**
 * Deliveries made by the dispatcher that routed their event, without a RabbitMQ job, while it has room. Such a delivery is backed by the
 * event's message, acked when the outcome is recorded, and by the event's row, which says which dispatcher is making it
 * (docs/decisions/0004-an-event-and-its-row.md).
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Incoming } from '@gatepost/amqp/consumer';
import { type DeliveryJob, jobFields } from '@gatepost/contracts/delivery-job';
import type { Log } from '@gatepost/runtime/log';
import type { NewEvent } from '@gatepost/webhook-db/events';
import type { Pool } from '@gatepost/webhook-db/pool';
import { releaseTaken, setRouted, type TakenEvent } from '@gatepost/webhook-db/routed-events';
import type { Outgoing } from '../routing/enqueue.ts';
import type { Persist } from '../settling/persist.ts';
import { type Verdict, verdictOf } from '../settling/settle.ts';
import type { WorkCounts } from '../work-counts.ts';
import { makeIsBusy } from './event-loop.ts';

/** `event`: as it was stored. */
export type TakenDelivery = Outgoing & { event: NewEvent };

export type Taken = {
  /** How many deliveries are in hand or have a place. */
  count(): number;
  /**
   * Reserves a place for an event's delivery before the event is stored; false if none is free, the event is already in hand, or we may take
   * nothing now. A flood leaves some places to the events routed ahead of it, which would otherwise wait behind its jobs.
   */
  reserve(eventKey: string, isAhead?: boolean): boolean;
  /** Gives up the place. */
  free(eventKey: string): void;
  /** Resolves when there is room for more, or when few deliveries are ending. */
  roomSoon(): Promise<void>;
  /** Keys of the events whose deliveries are in hand or have a place. */
  keys: Pick<ReadonlySet<string>, 'has'>;
  /** False when others may have continued with an event since it got its place. */
  isOurs(job: DeliveryJob): boolean;
  /** Makes the only delivery of an event that has a place; `message` is the event's. */
  deliver(message: Incoming, taken: TakenDelivery): Promise<Verdict>;
  /** Marks the event as routed when its delivery is not made. */
  route(event: TakenEvent, job: DeliveryJob): Promise<void>;
};

/** A batch of events waits for room only while at least this many deliveries end per interval: hanging receivers do not hold it up. */
const paceMin = 20;
const paceMs = 100;

export function makeTaken(parts: {
  concurrency: number;
  pool: Pool;
  persist: Persist;
  workCounts: WorkCounts;
  log: Log;
  lockedBy: () => number | undefined;
  /** Whether the event loop is too busy for further deliveries to be made sooner. */
  isBusy?: () => boolean;
  deliver: (message: Incoming, job: DeliveryJob, event: TakenEvent) => Promise<Verdict>;
}): Taken {
  const { pool, persist, log } = parts;
  const { keys, free, reserve, roomSoon } = makePlaces(parts.concurrency, parts.lockedBy, parts.isBusy);
  const route = (event: TakenEvent, job: DeliveryJob) =>
    persist('mark an event as routed', () => setRouted(pool, [event]), job);
  /** Gives up the claim in the event's row, which would otherwise tell other dispatchers for ever that we are making the delivery. */
  const releaseClaim = async (taken: TakenEvent, job: DeliveryJob, error: unknown) => {
    const { event, receivedOn } = taken;
    try {
      if (verdictOf(error).kind === 'give_back')
        await persist(
          'leave an event to other dispatchers',
          () => releaseTaken(pool, { key: event.key, receivedOn }),
          job,
        );
      // The message becomes a dead letter. The rescue finds the delivery, like any other without an outcome.
      else await route(taken, job);
    } catch (again) {
      log.error(
        { error: again, ...jobFields(job) },
        'could not leave an event to other dispatchers before the process ends',
      );
    }
  };

  return {
    keys,
    count: () => keys.size,
    isOurs: ({ eventKey }) => keys.get(eventKey) === parts.lockedBy(),
    free,
    reserve,
    roomSoon,
    async deliver(message, { job, payload, event }) {
      const taken = { event, receivedOn: job.eventOn, deliveryId: job.deliveryId, sequence: job.sequence ?? null };
      try {
        // The message brought the event, not this delivery: its redelivery says nothing about the delivery.
        return await parts.deliver({ ...message, body: payload, redelivered: false }, job, taken);
      } catch (error) {
        await releaseClaim(taken, job, error);
        throw error;
      } finally {
        parts.workCounts.jobs += 1;
        free(job.eventKey);
      }
    },
    route,
  };
}

/** Places for deliveries whose events are not routed before they end. */
function makePlaces(concurrency: number, lockedBy: () => number | undefined, isBusy = makeIsBusy()) {
  // Those in flight, plus as many that wait or are being recorded.
  const most = concurrency * 2;
  const mostAhead = concurrency * 3;
  // Each key with the lock valid when it got its place.
  const keys = new Map<string, number>();
  let ended = 0;
  let roomy: PromiseWithResolvers<void> | undefined;

  // While the event loop is busy, more of them would only wait for it, and cost memory and garbage collection.
  const isRoomy = () => keys.size <= (isBusy() ? concurrency / 4 : concurrency);
  return {
    keys,
    free(key: string): void {
      keys.delete(key);
      ended += 1;
      if (!roomy || !isRoomy()) return;
      roomy.resolve();
      roomy = undefined;
    },
    reserve(key: string, isAhead = false): boolean {
      const lock = lockedBy();
      if (lock === undefined || keys.size >= (isAhead ? mostAhead : most) || keys.has(key)) return false;
      keys.set(key, lock);
      return true;
    },
    async roomSoon(): Promise<void> {
      for (let before = -paceMin; !isRoomy() && ended - before >= paceMin; ) {
        before = ended;
        roomy ??= Promise.withResolvers();
        await Promise.race([roomy.promise, wait(paceMs)]);
      }
    },
  };
}
