/** Who is risky: an address or a login with failures in the last quarter of an hour. Counted only while something asks for it. */
import type { Redis } from 'ioredis';
import { hashId } from '../adapter/hashed.ts';

export type Level = 'low' | 'medium' | 'high';

export type Risk = {
  failed(network: string, login: string): Promise<void>;
  /** @param login as subject.ts spells it; undefined where nobody is named yet */
  isRisky(level: Level, network: string, login: string | undefined): Promise<boolean>;
};

const windowSeconds = 900;
/** From so many failures on, by how sensitive it is set. */
const limits: Record<Level, { network: number; login: number }> = {
  low: { network: 10, login: 5 },
  medium: { network: 5, login: 3 },
  high: { network: 1, login: 1 },
};

export function makeRisk(redis: Redis, prefix: string): Risk {
  const keyOf = (kind: 'network' | 'login', of: string) => `${prefix}risk:${kind}:${hashId(of)}`;
  // Two commands rather than one: of a Cluster, their keys lie on two nodes.
  const count = async (key: string | undefined) => (key === undefined ? 0 : Number((await redis.get(key)) ?? 0));
  const add = (key: string) => redis.multi().incr(key).expire(key, windowSeconds, 'NX').exec();
  return {
    async failed(network, login) {
      await Promise.all([add(keyOf('network', network)), add(keyOf('login', login))]);
    },
    async isRisky(level, network, login) {
      const [ofNetwork, ofLogin] = await Promise.all([
        count(keyOf('network', network)),
        count(login === undefined ? undefined : keyOf('login', login)),
      ]);
      return ofNetwork >= limits[level].network || ofLogin >= limits[level].login;
    },
  };
}
