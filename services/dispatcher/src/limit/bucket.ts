/**
 * The arithmetic of the limit: a bucket of `burst` deliveries that leaks at `rate`. It holds the deliveries let go, as a count rather than
 * as times, so a changed limit applies to it at once. Pure. The Redis script (bucket-script.ts) does the same.
 */

export type Limit = { rate: number; burst: number };
export type Bucket = { level: number; atMs: number };

/** How full the bucket is now. */
export function levelNow({ rate }: Limit, bucket: Bucket | undefined, nowMs: number): number {
  return bucket ? Math.max(0, bucket.level - (Math.max(0, nowMs - bucket.atMs) * rate) / 1000) : 0;
}

/** How many deliveries may go within `aheadMs`. A burst below one could never be kept to, so it counts as one. */
export function roomFor({ rate, burst }: Limit, level: number, aheadMs: number): number {
  return Math.max(0, Math.floor(Math.max(1, burst) + (rate * aheadMs) / 1000 - level + 1e-6));
}

/** When an admitted delivery may be sent. */
export type Moment = {
  /** After this many ms; 0: at once. */
  waitMs: number;
  /** For this long after that; undefined: whenever. */
  forMs?: number;
};

/**
 * The moments of `count` deliveries that the bucket has room for, in order; each `marginMs` later than it might go, except those for which
 * there was room at once. Any window of t seconds contains at most rate × t + burst of them.
 */
export function momentsOf({ rate, burst }: Limit, level: number, count: number, marginMs: number): Moment[] {
  const most = Math.max(1, burst);
  return Array.from({ length: count }, (_, index) => {
    const left = most - level - index - 1;
    const waitMs = Math.max(0, marginMs - (left / rate) * 1000);
    return left < Math.min(rate * slackSeconds, slackMax) ? { waitMs, forMs: lateWindowMs(rate, most) } : { waitMs };
  });
}

/** With room left for this many seconds of deliveries, nobody notices that one was late. */
const slackSeconds = 2;
/** At most this many are late together: as many as a few dispatchers have in hand. */
const slackMax = 4_096;

/**
 * A late delivery is sent alongside those that are in time. That stays within the limit as long as all of them together are no more than
 * one burst, which an account waiting for its limit does not use otherwise.
 */
function lateWindowMs(rate: number, burst: number): number {
  return Math.min(slackSeconds * 1000, Math.max(lateWindowMinMs, (burst / rate) * 1000));
}
const lateWindowMinMs = 100;
