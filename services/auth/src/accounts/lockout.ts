/**
 * Ten wrong passwords for one login from one address in ten minutes close that pair (contract section 4). A try is counted
 * before the password is looked at, so parallel guesses cannot slip through; the right password takes its own pair's count back.
 * Kept in Redis: it survives our restarts and is shared by processes.
 */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';
import { asking } from '../stores-away.ts';

export type Lockout = {
  /** Counts a try. Refused tries answer how long the pair stays closed, in seconds. */
  attempt(login: string, address: string): Promise<{ allowed: true } | { allowed: false; seconds: number }>;
  /** The password could not be looked at: that was no try. Never throws. */
  takeBack(login: string, address: string): Promise<void>;
  /** The password was right. */
  clear(login: string, address: string): Promise<void>;
};

const triesMax = 10;
const windowSeconds = 600;

export function makeLockout(redis: Redis, prefix: string): Lockout {
  const key = (login: string, address: string) =>
    `${prefix}tries:${hashId(`${login.trim().toLowerCase()} ${address}`)}`;
  return {
    async attempt(login, address) {
      const tries = await asking(
        redis
          .multi()
          .incr(key(login, address))
          .expire(key(login, address), windowSeconds, 'NX')
          .ttl(key(login, address))
          .exec(),
      );
      const [count, seconds] = [tries?.[0]?.[1] as number, tries?.[2]?.[1] as number];
      return count > triesMax ? { allowed: false, seconds: Math.max(seconds, 1) } : { allowed: true };
    },
    async takeBack(login, address) {
      const name = key(login, address);
      // Redis away as well: then the try stays counted, for ten minutes.
      await redis
        .multi()
        .decr(name)
        .expire(name, windowSeconds, 'NX')
        .exec()
        .catch(() => {});
    },
    async clear(login, address) {
      await asking(redis.del(key(login, address)));
    },
  };
}
