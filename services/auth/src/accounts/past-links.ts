/**
 * What is still known of a link from a mail when it no longer works: whether it was used, and how another one can be sent. Kept for
 * a day longer than the link works, so that opening the mail the next morning is not a dead end. It gives no access.
 */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';

export type PastLinks<Data> = {
  /** @param lifeSeconds how long the link works, if longer than it is remembered anyway */
  remember(value: string, known: Data, lifeSeconds?: number): Promise<void>;
  markUsed(value: string): Promise<void>;
  find(value: string): Promise<(Data & { isUsed: boolean }) | undefined>;
};

const ttlSeconds = 24 * 3_600;

/** @param kind separates links of different kinds */
export function makePastLinks<Data extends object>(redis: Redis, prefix: string, kind: string): PastLinks<Data> {
  // The hash tag keeps both keys on one node of a Cluster.
  const keyOf = (value: string, what: 'known' | 'used') => `${prefix}past-${kind}:${what}:{${hashId(value)}}`;
  // Two keys rather than a transaction: each write stands on its own.
  return {
    async remember(value, known, lifeSeconds = 0) {
      await redis.set(keyOf(value, 'known'), JSON.stringify(known), 'EX', lifeSeconds + ttlSeconds);
    },
    async markUsed(value) {
      // For as long as the rest is known, since a link may work for weeks: a used one must not seem to have expired.
      const leftSeconds = await redis.ttl(keyOf(value, 'known'));
      await redis.set(keyOf(value, 'used'), '1', 'EX', Math.max(leftSeconds, ttlSeconds));
    },
    async find(value) {
      const [known, used] = await redis.mget(keyOf(value, 'known'), keyOf(value, 'used'));
      return known ? { ...(JSON.parse(known) as Data), isUsed: used !== null } : undefined;
    },
  };
}
