/** How often something may happen under a key: fixed windows in Redis, for what costs money or annoys people. */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';

export type Rate = {
  /** Counts one; false when the window has had its `max`. */
  take(what: string, key: string, max: number, windowSeconds: number): Promise<boolean>;
};

export function makeRate(redis: Redis, prefix: string): Rate {
  return {
    async take(what, key, max, windowSeconds) {
      const name = `${prefix}rate:${what}:${hashId(key)}`;
      const results = await redis.multi().incr(name).expire(name, windowSeconds, 'NX').exec();
      return (results?.[0]?.[1] as number) <= max;
    },
  };
}
