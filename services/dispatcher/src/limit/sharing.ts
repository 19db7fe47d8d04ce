import type { Log } from '@gatepost/runtime/log';
import { Gauge, type Registry } from '@gatepost/runtime/metrics';
import type { Redis } from 'ioredis';

/** No write may have failed for this long: while one node of a Cluster is away, the others take writes. */
const sharedAgainMs = 5_000;

export type Sharing = { wrote(): void; failed(error: unknown): void };

/**
 * Tells operators whether limits are kept in Redis or by each dispatcher: by the connection, and by how writes end, since a Redis that is full
 * or stands still keeps its connections.
 */
export function watchSharing(redis: Redis, log: Log, registry: Registry): Sharing {
  let isLocal = true;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  redis.on('ready', () => {
    isLocal = false;
    log.info('connected to Redis');
  });
  redis.on('close', () => {
    if (!isLocal) log.warn('lost Redis; each dispatcher keeps to its share of the limits');
    isLocal = true;
  });
  redis.on('error', () => {}); // 'close' follows, and the gauge tells
  new Gauge({
    name: 'dispatcher_throttle_is_local',
    help: '1 while Redis is away or takes no writes, and each dispatcher keeps limits by itself',
    registers: [registry],
    collect() {
      this.set(isLocal ? 1 : 0);
    },
  });
  return {
    wrote() {
      if (!isLocal || performance.now() - failedAtMs < sharedAgainMs) return;
      isLocal = false;
      log.info('Redis takes writes again');
    },
    failed(error) {
      failedAtMs = performance.now();
      if (!isLocal) log.warn({ error }, 'Redis takes no writes; each dispatcher keeps to its share of the limits');
      isLocal = true;
    },
  };
}
