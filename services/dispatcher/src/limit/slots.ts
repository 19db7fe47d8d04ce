/** The arithmetic of the limit (GCRA): when each of some deliveries may go. Pure; microseconds throughout. */

export type Limit = { rate: number; burst: number };

/**
 * Times of `count` deliveries asked for at `now`, whose account's theoretical arrival time was `tat` (at least `now`): in any
 * window of t seconds at most rate × t + burst of them lie.
 */
export function slots(limit: Limit, now: number, tat: number, count: number): number[] {
  const interval = 1_000_000 / limit.rate;
  const first = tat - (limit.burst - 1) * interval;
  return Array.from({ length: count }, (_, index) => Math.max(now, first + index * interval));
}

/** Lateness (s) tolerated without asking the limit again. */
const latenessAllowed = 2;
/** No more than this are late together: what a few dispatchers have in hand. */
const lateTogether = 4_096;

/**
 * Whether so little of the burst is left where the clock stands that deliveries which are sent late, together with ones that are
 * not, could go beyond the limit.
 */
export function isNearLimit(limit: Limit, now: number, clock: number): boolean {
  const used = ((clock - now) * limit.rate) / 1_000_000;
  return limit.burst - used < Math.min(limit.rate * latenessAllowed, lateTogether);
}
