/**
 * Who is risky: an address or a login with failures in the last quarter of an hour; for a sign-up also an address with other sign-ups.
 * Counted only while some setting needs it.
 */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';

export type Level = 'low' | 'medium' | 'high';

/** `login` as subject.ts spells it; undefined where nobody is named yet. */
type RiskSubject = { network: string; login: string | undefined; isSignup: boolean };

export type Risk = {
  failed(network: string, login: string): Promise<void>;
  signedUp(network: string): Promise<void>;
  isRisky(level: Level, subject: RiskSubject): Promise<boolean>;
};

const windowSeconds = 900;
/** The number of failures, or of a network's sign-ups, that counts as risky, by configured level. */
const limits: Record<Level, { network: number; login: number }> = {
  low: { network: 10, login: 5 },
  medium: { network: 5, login: 3 },
  high: { network: 1, login: 1 },
};

export function makeRisk(redis: Redis, prefix: string): Risk {
  const keyOf = (kind: 'network' | 'login' | 'signups', of: string) => `${prefix}risk:${kind}:${hashId(of)}`;
  // Separate commands: in a Cluster the keys lie on several nodes.
  const count = async (key: string | undefined) => (key === undefined ? 0 : Number((await redis.get(key)) ?? 0));
  const add = (key: string) => redis.multi().incr(key).expire(key, windowSeconds, 'NX').exec();
  return {
    async failed(network, login) {
      await Promise.all([add(keyOf('network', network)), add(keyOf('login', login))]);
    },
    async signedUp(network) {
      await add(keyOf('signups', network));
    },
    async isRisky(level, { network, login, isSignup }) {
      const [ofNetwork, ofLogin, signups] = await Promise.all([
        count(keyOf('network', network)),
        count(login === undefined ? undefined : keyOf('login', login)),
        count(isSignup ? keyOf('signups', network) : undefined),
      ]);
      const { network: max, login: ofOne } = limits[level];
      return ofNetwork >= max || signups >= max || ofLogin >= ofOne;
    },
  };
}
