/** Redis: sessions, codes and other short-lived artefacts. */
import type { Log } from '@gatepost/runtime/log';
import { makeReconnectOnError } from '@gatepost/runtime/redis';
import { isAway, isRedisReply } from '@gatepost/runtime/store-errors';
import { Redis } from 'ioredis';
import { heard } from './stores-away.ts';

/**
 * All commands go through here, including those of scripts and pipelines, and reject with `temporarily_unavailable` while Redis is
 * away. A transaction that is refused as a whole (EXECABORT) reveals its reason only later; the gate uses scripts instead.
 */
class GateRedis extends Redis {
  override sendCommand(...[command, stream]: Parameters<Redis['sendCommand']>): unknown {
    const { reject } = command;
    // ioredis’s own errors have neither codes nor classes, but all of them are about the connection.
    command.reject = (error) => reject(heard(error, !isRedisReply(error) || isAway(error)) as Error);
    return super.sendCommand(command, stream);
  }
}

/**
 * Connects; commands issued in one turn travel together. While Redis is away a command fails within `timeoutMs` instead of waiting,
 * and the connection comes back by itself.
 */
export async function openRedis(url: string, timeoutMs: number, log: Log): Promise<Redis> {
  const redis = new GateRedis(url, {
    lazyConnect: true,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: timeoutMs,
    connectTimeout: 3_000,
    retryStrategy: (tries) => Math.min(tries * 100, 2_000),
    reconnectOnError: makeReconnectOnError(log),
  });
  let last: Error | undefined; // a connection that cannot be made rejects with less
  redis.on('error', (error) => {
    last = error;
    log.warn({ error }, 'Redis is away');
  });
  try {
    await redis.connect();
    return redis;
  } catch (error) {
    redis.disconnect();
    throw last ?? error;
  }
}
