/** Redis, for counting only: a command that cannot run at once fails at once, and each process then counts separately. */
import type { Log } from '@gatepost/runtime/log';
import { connectRedis, makeRedis } from '@gatepost/runtime/redis';
import type { Redis } from 'ioredis';

/** Resolves once it is connected or known to be away; otherwise a process's first requests would be counted separately. */
export async function openRedis(options: {
  url: string;
  name: string;
  /** STORE_TIMEOUT_MS, of which a count is worth only a small part. */
  storeTimeoutMs: number;
  log: Log;
}): Promise<Disposable & { client: Redis }> {
  const client = makeRedis(options.url, {
    connectionName: options.name,
    maxRetriesPerRequest: 0,
    commandTimeout: options.storeTimeoutMs / 12,
    connectTimeout: options.storeTimeoutMs / 2,
    retryStrategy: (tries) => Math.min(100 * 2 ** tries, 2_000),
    log: options.log,
  });
  let wasAway = false;
  client.on('error', (error) => {
    if (!wasAway) options.log.warn({ error }, 'Redis is away, each process counts requests by itself');
    wasAway = true;
  });
  client.on('ready', () => {
    wasAway = false;
  });
  await connectRedis(client, options.storeTimeoutMs / 4).catch(() => {}); // already logged
  return { client, [Symbol.dispose]: () => client.disconnect() };
}
