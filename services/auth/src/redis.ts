/** Redis: sessions, codes and other short-lived artefacts. */
import type { Log } from '@gatepost/runtime/log';
import { makeReconnectOnError } from '@gatepost/runtime/redis';
import { Redis } from 'ioredis';

/**
 * Connects; commands issued in one turn travel together. While Redis is away a command fails within 2 s instead of waiting,
 * and the connection comes back by itself.
 */
export async function openRedis(url: string, log: Log): Promise<Redis> {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 2_000,
    connectTimeout: 3_000,
    retryStrategy: (tries) => Math.min(tries * 100, 2_000),
    reconnectOnError: makeReconnectOnError(log),
  });
  redis.on('error', (error) => log.warn({ error }, 'Redis is away'));
  await redis.connect();
  return redis;
}
