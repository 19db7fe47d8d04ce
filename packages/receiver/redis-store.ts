import type { DeliveryStore } from '@gatepost/receiver';
import type { Redis } from 'ioredis';

const claimMs = 60_000; // longer than your handler runs
const keptMs = 4 * 24 * 3600_000; // a day longer than Gatepost keeps deliveries (DELIVERY_RETENTION_DAYS)

export function redisStore(redis: Redis): DeliveryStore {
  return {
    async claim(key) {
      if (await redis.set(`webhook:${key}`, 'running', 'PX', claimMs, 'NX')) return 'new';
      return (await redis.get(`webhook:${key}`)) === 'done' ? 'done' : 'running';
    },
    done: async (key) => void (await redis.set(`webhook:${key}`, 'done', 'PX', keptMs)),
    failed: async (key) => void (await redis.del(`webhook:${key}`)),
  };
}
