/** Redis: sessions, codes and other short-lived artefacts. */
import type { Log } from '@gatepost/runtime/log';
import { connectRedis, makeRedis } from '@gatepost/runtime/redis';
import { isAway, isRedisReply } from '@gatepost/runtime/store-errors';
import type { Redis } from 'ioredis';
import { toStoreError } from './stores-away.ts';

const connectTimeoutMs = 3_000;

/**
 * Connects; commands issued in one turn are sent together. While Redis is down a command fails within `timeoutMs` instead of waiting, and
 * the connection recovers by itself.
 */
export async function openRedis(urls: string, timeoutMs: number, log: Log): Promise<Redis> {
  const redis = makeRedis(urls, {
    maxRetriesPerRequest: 1,
    commandTimeout: timeoutMs,
    connectTimeout: connectTimeoutMs,
    retryStrategy: (tries) => Math.min(tries * 100, 2_000),
    log,
  });
  translateErrors(redis);
  redis.on('error', (error) => log.warn({ error }, 'Redis is away'));
  try {
    await connectRedis(redis, 2 * connectTimeoutMs);
    return redis;
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

/**
 * All commands, including those of scripts and pipelines, reject with `temporarily_unavailable` while Redis is down. A transaction refused
 * as a whole (EXECABORT) reveals its reason only later; the gate uses scripts instead.
 */
function translateErrors(redis: Redis): void {
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (...args) => {
    const [command] = args;
    const { reject } = command;
    // ioredis’s own errors have neither codes nor classes, but all of them are about the connection.
    const rejectTranslated = (error: Error) =>
      reject(toStoreError(error, !isRedisReply(error) || isAway(error)) as Error);
    command.reject = rejectTranslated; // not assigned as it is written: see docs/decisions/0005-libraries.md
    return send(...args);
  };
}
