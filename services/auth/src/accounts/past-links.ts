/**
 * What is still known of a link from a mail when it no longer works: whether it was used, and how another one can be sent. For a day
 * longer than it works,
 * so that whoever opens the mail the next morning is not at a dead end. It opens nothing.
 */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';

export type PastLinks<Known> = {
  /** @param lifeSeconds how long it works, if that is longer than it is remembered anyway */
  remember(value: string, known: Known, lifeSeconds?: number): Promise<void>;
  markUsed(value: string): Promise<void>;
  find(value: string): Promise<(Known & { isUsed: boolean }) | undefined>;
};

const ttlSeconds = 24 * 3_600;

/** @param kind keeps the links of one kind apart from those of others */
export function makePastLinks<Known extends object>(redis: Redis, prefix: string, kind: string): PastLinks<Known> {
  const keyOf = (value: string) => `${prefix}past-${kind}:${hashId(value)}`;
  const set = async (value: string, field: 'known' | 'used', text: string, ttl = ttlSeconds) => {
    await redis.multi().hset(keyOf(value), field, text).expire(keyOf(value), ttl).exec();
  };
  return {
    remember: (value, known, lifeSeconds = 0) => set(value, 'known', JSON.stringify(known), lifeSeconds + ttlSeconds),
    markUsed: (value) => set(value, 'used', '1'),
    async find(value) {
      const { known, used } = await redis.hgetall(keyOf(value));
      return known === undefined ? undefined : { ...(JSON.parse(known) as Known), isUsed: used !== undefined };
    },
  };
}
