/** The connection to Redis: one server, the primary known to the Sentinels, or a Cluster. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Cluster, Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import type { Log } from './log.ts';
import { readRedisUrls } from './redis-url.ts';
import { tlsFilesOf } from './tls-files.ts';

/** The options of one connection; a Cluster's are derived from them. */
export type ClientOptions = Pick<
  RedisOptions,
  'commandTimeout' | 'connectionName' | 'keyPrefix' | 'maxRetriesPerRequest' | 'retryStrategy' | 'scripts'
> & { connectTimeout: number; log: Log };

/**
 * A client that is not connected yet: `connectRedis` does that. Commands of one turn are sent together, except in a Cluster; those issued while
 * Redis is away fail at once. After a failover it finds the new primary by itself.
 * @throws when a TLS file cannot be read
 */
export function makeRedis(text: string, { log, ...options }: ClientOptions): Redis {
  const urls = readRedisUrls(text);
  const { connectTimeout, keyPrefix, retryStrategy, scripts, ...ofConnection } = options;
  const tls = urls.isTls ? { tls: tlsFilesOf(text) } : {};
  const ofServer = {
    ...options,
    ...tls,
    lazyConnect: true,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    reconnectOnError: makeReconnectOnError(log),
  };
  switch (urls.kind) {
    case 'one':
      return new Redis(text, ofServer);
    case 'sentinel': {
      const { username, password } = urls.sentinelCredentials;
      const redis: Redis = new Redis({
        ...ofServer,
        ...urls.credentials,
        // Its type combines the options of all connectors.
        Connector: connectorOf(() => (redis as unknown as { manuallyClosing: boolean }).manuallyClosing) as never,
        db: urls.db,
        sentinels: urls.sentinels,
        name: urls.name,
        ...(username && { sentinelUsername: username }),
        ...(password && { sentinelPassword: password }),
        ...(urls.isTls && { enableTLSForSentinelMode: true, sentinelTLS: tls.tls }),
        // Has the Sentinels report failovers: otherwise a primary cut off from them would be kept.
        failoverDetector: true,
        sentinelRetryStrategy: again,
        sentinelReconnectStrategy: again,
        sentinelCommandTimeout: connectTimeout,
      });
      return redis;
    }
    case 'cluster': {
      const cluster = new Cluster(urls.nodes, {
        lazyConnect: true,
        enableOfflineQueue: false,
        ...(keyPrefix && { keyPrefix }),
        ...(scripts && { scripts }),
        clusterRetryStrategy: retryStrategy ?? again,
        slotsRefreshTimeout: connectTimeout,
        slotsRefreshInterval: 5_000, // detects a failover even while there are no commands
        redisOptions: { ...ofConnection, connectTimeout, ...tls, ...urls.credentials },
        // A certificate names a host, not its address.
        ...(urls.isTls && { dnsLookup: (name, found) => found(null, name) }),
      });
      // Both have the same commands, and we use nothing that only one server has.
      return cluster as unknown as Redis;
    }
  }
}

/**
 * ioredis ends a client for good when a Sentinel reports a failover just while the client asks for the primary: it takes the request to drop the
 * current connection for an order to stop connecting. This one asks once more instead. `isClosing`: we gave the order.
 */
function connectorOf(isClosing: () => boolean): typeof SentinelConnector {
  return class extends SentinelConnector {
    #asks = false;
    #isOutdated = false;

    override async connect(...given: Parameters<SentinelConnector['connect']>) {
      this.#asks = true;
      this.#isOutdated = false;
      try {
        const stream = await super.connect(...given);
        if (this.#isOutdated) stream.destroy();
        return stream;
      } finally {
        this.#asks = false;
      }
    }

    override disconnect() {
      if (this.#asks && !isClosing()) this.#isOutdated = true;
      else super.disconnect();
    }
  };
}

/** Resolves once Redis can be written to. @throws the reason, with a code that counts as away */
export async function connectRedis(redis: Redis, withinMs: number): Promise<void> {
  let last: unknown; // a failed connection rejects with less detail
  const keep = (error: unknown) => {
    last = error;
  };
  const events = ['error', 'node error', 'sentinelError'];
  for (const event of events) redis.on(event, keep);
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race([
      redis.connect(),
      // The only sign of a Cluster that comes up during the connect.
      once(redis, 'ready', { signal }),
      // Without an answer, Sentinels are asked endlessly.
      wait(withinMs, undefined, { signal }).then(() => {
        throw Object.assign(new Error('Redis does not answer'), { code: 'ETIMEDOUT' });
      }),
    ]);
  } catch (error) {
    throw last ?? error;
  } finally {
    over.abort();
    for (const event of events) redis.off(event, keep);
  }
}

const again = (tries: number): number => Math.min(tries * 100, 2_000);

/** Another node may have become the primary: resolving the name again may lead there. */
const replica = /(?:^|-)(?:READONLY|MASTERDOWN) /;

const reconnectEveryMs = 1_000;

/**
 * ioredis’s `reconnectOnError`: leaves a node that has become a replica, so that the next connection finds the new primary; at most once a
 * second while the name still leads to the old one. The command itself fails: ioredis would repeat a command of a transaction outside of it.
 */
export function makeReconnectOnError(log: Log): (error: Error) => boolean {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (!replica.test(error.message) || performance.now() - lastMs < reconnectEveryMs) return false;
    lastMs = performance.now();
    log.warn({ error }, 'Redis takes no writes, reconnecting');
    return true;
  };
}

type Writes = { set(key: string, value: string, unit: 'PX', ms: number): Promise<unknown> };

/** A readiness check: rejects unless Redis accepts a write. Leaves one key with `prefix`, for ten seconds. */
export async function checkRedisWrites(redis: Writes, prefix: string): Promise<void> {
  await redis.set(`${prefix}ready:${instance}`, '1', 'PX', 10_000);
}

const instance = randomUUID();
