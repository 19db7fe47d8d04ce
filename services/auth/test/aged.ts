/** Sessions whose login was some time ago, for tests that cannot wait. */
import { Redis } from 'ioredis';
import type { TestGate } from './gate.ts';

/** Moves the login of a person's sessions into the past. */
export async function ageSessions(gate: TestGate, userId: string, seconds: number): Promise<void> {
  const redis = new Redis(gate.env.REDIS_URL!);
  try {
    for (const key of await redis.keys(`${gate.redisPrefix}auth:Session:*`)) {
      const payload = JSON.parse((await redis.hget(key, 'payload').catch(() => null)) ?? '{}');
      if (payload.accountId !== userId) continue;
      await redis.hset(key, 'payload', JSON.stringify({ ...payload, loginTs: payload.loginTs - seconds }));
    }
  } finally {
    redis.disconnect();
  }
}
