/**
 * How often something may happen under a key: fixed windows in Redis, for what costs money or annoys people.
 *
 * Where one count is not all, the library does not do, and there is a script instead: `lockout.ts` counts tries in flight as well,
 * `one-time-code.ts` compares and counts in one step, `message-limits.ts` takes from one of five counts, and `clients/throttle.ts` must
 * cost nothing where nobody has failed.
 */
import type { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { hashId } from '../adapter/hashed.ts';

export type Rate = {
  /** Counts one; false when the window has had its `max`. */
  take(what: string, key: string, max: number, windowSeconds: number): Promise<boolean>;
};

export function makeRate(redis: Redis, prefix: string): Rate {
  return {
    async take(what, key, max, windowSeconds) {
      const window = { points: max, duration: windowSeconds };
      const limiter = new RateLimiterRedis({ storeClient: redis, keyPrefix: `${prefix}rate:${what}`, ...window });
      try {
        await limiter.consume(hashId(key));
        return true;
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return false;
        throw refused;
      }
    },
  };
}
