/**
 * Limits guesses at a client’s secret: too many wrong ones for one client from one network (an IPv4 address or an IPv6 /64) close
 * that pair until the window ends (sec-050). The client is still served from everywhere else, and correct authentications never
 * wait: only failures are counted, in Redis for all processes, while each process keeps the closed pairs it knows of in memory.
 * Another process learns of a closed pair with the next failure it sees.
 */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { networkOf } from '../http/network.ts';

export type ClientThrottle = {
  /** For how many seconds the pair stays closed; undefined if it is open. Reads memory only. */
  closedFor(clientId: string, address: string): number | undefined;
  /** Counts a failure; answers like `closedFor`. While Redis is away each process counts for itself. */
  failed(clientId: string, address: string): Promise<number | undefined>;
  /** The secret was right: clears the pair’s count in the background. */
  succeeded(clientId: string, address: string): void;
};

const failuresMax = 30;
const windowMs = 60_000;
/** How many pairs a process remembers; the oldest is dropped first. */
const pairsMax = 10_000;

export function makeClientThrottle(redis: Redis, prefix: string): ClientThrottle {
  const pairs = new Map<string, { failures: number; until: number }>();
  const pairOf = (clientId: string, address: string) => hashId(`${clientId} ${networkOf(address)}`);
  const key = (pair: string) => `${prefix}client-failures:${pair}`;
  // The oldest come first and all have the same window, so expired entries are found at the front.
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
    // Unless somebody has failed recently, this check is all that throttling costs a token request.
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
      if (pairs.delete(pair)) redis.del(key(pair)).catch(() => {}); // it expires soon anyway
    },
  };
}
