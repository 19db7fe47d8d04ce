/** Asks an account's limit, and says what follows for a job: it goes now, in a moment, or is parked until its slot. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Account } from '../accounts.ts';
import type { Metrics } from '../metrics.ts';
import type { Parking } from '../parked/park.ts';
import { aheadMs } from '../parked/pump.ts';
import type { Limit } from './slots.ts';
import type { Slot, Throttle } from './throttle.ts';

export type Admit = {
  /** Slots of `count` deliveries of the account, in order, for `admitted`. */
  plan(account: Account, count: number): Promise<(Slot & Limit)[]>;
  /**
   * Asks again for a job that is about to be sent and whose account is near its limit. Deliveries that we were late with would
   * otherwise go out beside those that are in time.
   */
  askAgain(account: Account, job: DeliveryJob): Promise<Admitted>;
};

/**
 * How much a delivery's way to its receiver may differ from another's. What is beyond the burst comes so much later, once for
 * all; else a receiver that counts could see the limit broken by a delivery or two.
 */
const arrivalMarginMs = 100;

export type Admitted = { kind: 'now'; job: DeliveryJob } | { kind: 'later'; parking: Parking };

export function makeAdmit(throttle: Throttle, limitOf: (account: Account) => Limit, metrics: Metrics): Admit {
  return {
    async plan(account, count) {
      const limit = limitOf(account);
      const slots = await throttle.reserve(account.id, limit, count);
      const slowed = slots.filter(({ waitMs }) => waitMs > 0).length;
      if (slowed > 0) metrics.throttled(slowed);
      return slots.map((slot) => ({ ...slot, ...limit }));
    },
    async askAgain(account, job) {
      const { pace } = job;
      if (!pace) return { kind: 'now', job };
      const limit = limitOf(account);
      const clock = pace.rate === limit.rate && pace.burst === limit.burst ? pace.clock : 0;
      const waitMs = await throttle.waitBeforeSending(account.id, limit, clock, arrivalMarginMs);
      // What is within the burst goes at once, and whatever else comes makes room for it.
      if (waitMs <= 0 || job.throttledAt === null) return { kind: 'now', job };
      return slowed({ ...job, pace: { ...pace, slotMs: Date.now() + waitMs } }, waitMs);
    },
  };
}

/** A job with its slot: it is stamped once, and its place is not asked for again. */
export function admitted(job: DeliveryJob, { waitMs, clock, rate, burst }: Slot & Limit): Admitted {
  const placed: DeliveryJob = { ...job, admitted: true };
  if (clock !== undefined) placed.pace = { clock, rate, burst };
  return waitMs <= 0 ? { kind: 'now', job: placed } : slowed(placed, waitMs);
}

function slowed(job: DeliveryJob, waitMs: number): Admitted {
  const nowMs = Date.now();
  const dueMs = nowMs + waitMs;
  const stamped = { ...job, throttledAt: job.throttledAt ?? new Date(nowMs).toISOString() };
  if (waitMs <= aheadMs) return { kind: 'now', job: { ...stamped, notBeforeMs: dueMs } };
  return { kind: 'later', parking: { job: stamped, reason: 'throttle', dueMs } };
}
