/**
 * How often something may happen per key: fixed windows in Redis, for what costs money or annoys people.
 *
 * Where a single count is not enough, there is a script instead of the library: `lockout.ts` also counts tries in flight,
 * `one-time-code.ts` compares and counts in one step, `message-limits.ts` chooses among five counts, and `clients/throttle.ts` must
 * cost nothing while nobody has failed.
 */
import type { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { hashId } from '../adapter/hashed.ts';

export type Rate = {
  /** Counts one event; false when the window has already reached `max`. */
  take(what: string, key: string, max: number, windowSeconds: number): Promise<boolean>;
  /** Takes back one counted event, or all of this window's. */
  giveBack(what: string, key: string, max: number, windowSeconds: number, all?: boolean): Promise<void>;
};

export function makeRate(redis: Redis, prefix: string): Rate {
  const limiters = new Map<string, RateLimiterRedis>();
  const limiterOf = (what: string, points: number, duration: number) => {
    const name = `${what}:${points}:${duration}`;
    const known = limiters.get(name);
    if (known) return known;
    const limiter = new RateLimiterRedis({ storeClient: redis, keyPrefix: `${prefix}rate:${what}`, points, duration });
    limiters.set(name, limiter);
    return limiter;
  };
  limiterOf('none', 1, 1); // the first limiter defines their script (redis-script.ts explains why now)
  return {
    async take(what, key, max, windowSeconds) {
      const limiter = limiterOf(what, max, windowSeconds);
      try {
        await limiter.consume(hashId(key));
        return true;
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return false;
        throw refused;
      }
    },
    async giveBack(what, key, max, windowSeconds, all = false) {
      const limiter = limiterOf(what, max, windowSeconds);
      if (all) await limiter.delete(hashId(key));
      else await limiter.reward(hashId(key));
    },
  };
}
