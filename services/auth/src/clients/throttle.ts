/**
 * Guesses at a client's secret: so many wrong ones for one client from one address (of IPv6 the /64) close that pair until the
 * window ends (sec-050). The same client is served from everywhere else, and nobody who authenticates rightly waits for this: failures
 * are counted when they have happened, in Redis for all processes, and what a process knows of closed pairs is in its memory.
 * Another process hears of a closed pair with the next failure it sees.
 */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { networkOf } from '../http/network.ts';

export type ClientThrottle = {
  /** Seconds for which the pair stays closed; undefined for an open one. Asks nobody. */
  closedFor(clientId: string, address: string): number | undefined;
  /** Counts a failure; answers as `closedFor`. While Redis is away each process counts for itself. */
  failed(clientId: string, address: string): Promise<number | undefined>;
  /** The secret was right: the pair's count is taken back, in its own time. */
  succeeded(clientId: string, address: string): void;
};

const failuresMax = 30;
const windowMs = 60_000;
/** Of so many pairs a process knows; the oldest goes first. */
const pairsMax = 10_000;

export function makeClientThrottle(redis: Redis, prefix: string): ClientThrottle {
  const pairs = new Map<string, { failures: number; until: number }>();
  const pairOf = (clientId: string, address: string) => hashId(`${clientId} ${networkOf(address)}`);
  const key = (pair: string) => `${prefix}client-failures:${pair}`;
  // The oldest stand first, and all have the same window: what is over goes without being looked for.
  const known = (pair: string) => {
    for (const [name, { until }] of pairs) {
      if (until > Date.now()) break;
      pairs.delete(name);
    }
    const entry = pairs.get(pair);
    return entry && entry.until > Date.now() ? entry : undefined;
  };
  const secondsOf = (entry: { failures: number; until: number } | undefined) =>
    entry && entry.failures > failuresMax ? Math.max(1, Math.ceil((entry.until - Date.now()) / 1000)) : undefined;

  return {
    // Where nobody has failed lately, this is all that a token costs.
    closedFor: (clientId, address) => (pairs.size === 0 ? undefined : secondsOf(known(pairOf(clientId, address)))),
    async failed(clientId, address) {
      const pair = pairOf(clientId, address);
      let entry = known(pair);
      if (!entry) {
        entry = { failures: 0, until: Date.now() + windowMs };
        pairs.delete(pair);
        pairs.set(pair, entry);
      }
      entry.failures += 1;
      if (pairs.size > pairsMax) pairs.delete(pairs.keys().next().value!);
      const counted = await redis
        .multi()
        .incr(key(pair))
        .pexpire(key(pair), windowMs, 'NX')
        .pttl(key(pair))
        .exec()
        .catch(() => undefined); // our own count stands in
      const [failures, leftMs] = [counted?.[0]?.[1] as number, counted?.[2]?.[1] as number];
      if (failures > entry.failures) Object.assign(entry, { failures, until: Date.now() + leftMs });
      return secondsOf(entry);
    },
    succeeded(clientId, address) {
      if (pairs.size === 0) return;
      const pair = pairOf(clientId, address);
      if (pairs.delete(pair)) redis.del(key(pair)).catch(() => {}); // it ends by itself soon
    },
  };
}
