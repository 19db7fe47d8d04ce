/** Asks an account's limit, and says what follows for a job: it goes now, in a moment, or is parked until its slot. */
import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import type { Events } from './events.ts';
import type { Account } from './hooks.ts';
import type { Parking } from './park.ts';
import { aheadMs } from './pump.ts';
import type { Limit } from './slots.ts';
import type { Throttle } from './throttle.ts';

/** Milliseconds that each of `count` deliveries of the account has to wait, in order. */
export type Admit = (account: Account, count: number) => Promise<number[]>;

export function makeAdmit(throttle: Throttle, limitOf: (account: Account) => Limit, events: Events): Admit {
  return async (account, count) => {
    const waits = await throttle.reserve(account.id, limitOf(account), count);
    const slowed = waits.filter((ms) => ms > 0).length;
    if (slowed > 0) events.throttled(slowed);
    return waits;
  };
}

/** A job with its slot: it is stamped once, and not asked for again. */
export function admitted(
  job: DeliveryJob,
  waitMs: number,
  nowMs: number = Date.now(),
): { kind: 'now'; job: DeliveryJob } | { kind: 'later'; parking: Parking } {
  if (waitMs <= 0) return { kind: 'now', job: { ...job, admitted: true } };
  const dueMs = nowMs + waitMs;
  const stamped = { ...job, admitted: true, throttledAt: new Date(nowMs).toISOString() };
  if (waitMs <= aheadMs) return { kind: 'now', job: { ...stamped, notBeforeMs: dueMs } };
  return { kind: 'later', parking: { job: stamped, reason: 'throttle', dueMs } };
}
