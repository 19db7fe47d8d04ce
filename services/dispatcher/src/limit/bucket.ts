/**
 * The arithmetic of the limit: a bucket of `burst` deliveries that leaks at `rate`. It holds what was let go and counts deliveries, not
 * times, so a changed limit holds for it at once. Pure. The script that Redis runs (bucket-script.ts) does the same.
 */

export type Limit = { rate: number; burst: number };
export type Bucket = { level: number; atMs: number };

/** What is left in the bucket now. */
export function levelNow({ rate }: Limit, bucket: Bucket | undefined, nowMs: number): number {
  return bucket ? Math.max(0, bucket.level - (Math.max(0, nowMs - bucket.atMs) * rate) / 1000) : 0;
}

/** How many deliveries may go within `aheadMs`. Less than one at once is no limit that could ever be kept to: it counts as one. */
export function roomFor({ rate, burst }: Limit, level: number, aheadMs: number): number {
  return Math.max(0, Math.floor(Math.max(1, burst) + (rate * aheadMs) / 1000 - level + 1e-6));
}

/** When a delivery that was let go may be sent. */
export type Moment = {
  /** In so many ms; 0: at once. */
  waitMs: number;
  /** For so long after that; undefined: whenever. */
  forMs?: number;
};

/**
 * The moments of `count` deliveries that the bucket has room for, in order; `marginMs` later than they might go, except for what was there
 * at once. In any window of t seconds at most rate × t + burst of them lie.
 */
export function momentsOf({ rate, burst }: Limit, level: number, count: number, marginMs: number): Moment[] {
  const most = Math.max(1, burst);
  return Array.from({ length: count }, (_, index) => {
    const left = most - level - index - 1;
    const waitMs = Math.max(0, marginMs - (left / rate) * 1000);
    return left < Math.min(rate * muchLate, lateTogether) ? { waitMs, forMs: lateness(rate, most) } : { waitMs };
  });
}

/** With room for what comes late by so much (s), nobody sees that it was late. */
const muchLate = 2;
/** No more than this are late together: what a few dispatchers have in hand. */
const lateTogether = 4_096;

/**
 * A delivery that is sent late stands beside those that are in time. While all of them together are no more than a burst, which an
 * account that waits for its limit does not use otherwise, that is within the limit.
 */
function lateness(rate: number, burst: number): number {
  return Math.min(muchLate * 1000, Math.max(leastLateMs, (burst / rate) * 1000));
}
const leastLateMs = 100;
