import { randomUUID } from 'node:crypto';
import { Gauge, type Registry } from '@gatepost/runtime/metrics';
import type { Redis } from 'ioredis';
import type { Sharing } from './sharing.ts';

export type Presence = Disposable & {
  /** The last known number of dispatchers. */
  dispatchers(): number;
};

const everyMs = 2_000;

/** Each dispatcher announces itself in Redis every other second. Counts once before it answers. */
export async function keepPresence(
  redis: Redis,
  sharing: Sharing,
  { countDispatchers, registry }: { countDispatchers: () => Promise<number>; registry: Registry },
): Promise<Presence> {
  const key = 'dispatchers';
  const me = randomUUID();
  let seen = 1;
  const report = async () => {
    const now = Date.now();
    const results = await redis
      .multi()
      .zadd(key, now, me)
      .zremrangebyscore(key, 0, now - 5 * everyMs)
      .zcard(key)
      .pexpire(key, 60_000)
      .exec();
    seen = Math.max(1, Number(results?.[2]?.[1] ?? 1));
  };
  const tick = async () => {
    try {
      await report();
      sharing.wrote();
    } catch (error) {
      sharing.failed(error);
      // If that fails too, the last count stands.
      seen = Math.max(1, await countDispatchers().catch(() => seen));
    }
  };
  await tick();
  const timer = setInterval(tick, everyMs);
  timer.unref();
  new Gauge({
    name: 'dispatcher_dispatchers_alive',
    help: 'Dispatchers seen in Redis within ten seconds, or in PostgreSQL while Redis is away; the same number from every dispatcher',
    registers: [registry],
    collect() {
      this.set(seen);
    },
  });
  return {
    dispatchers: () => seen,
    [Symbol.dispose]() {
      clearInterval(timer);
      redis.zrem(key, me).catch(() => {});
    },
  };
}
