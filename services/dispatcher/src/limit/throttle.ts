/**
 * The limit of deliveries per account, shared by all dispatchers through Redis. Redis holds only how full each account's bucket is: losing it
 * costs at most one burst per account, and nothing where a dispatcher remembers. While Redis is away each dispatcher keeps to its own share
 * of the rate.
 */
import type { Log } from '@gatepost/runtime/log';
import { Counter, type Registry } from '@gatepost/runtime/metrics';
import { connectRedis, makeRedis } from '@gatepost/runtime/redis';
import type { Redis } from 'ioredis';
import { type Bucket, type Limit, levelNow, momentsOf, roomFor } from './bucket.ts';
import { drawScript } from './bucket-script.ts';
import { keepPresence, type Presence } from './presence.ts';
import { type Sharing, watchSharing } from './sharing.ts';

/** When an admitted delivery may be sent, ms since 1970. */
export type Grant = {
  /** Set for deliveries that have waited, and when the burst is nearly used up. */
  notBeforeMs?: number;
  /** Any later, and it would exceed the limit together with those in time. */
  notAfterMs?: number;
  /** The limit has no room for it yet. */
  isSlowed?: boolean;
};

export type Throttle = AsyncDisposable & {
  /** Admits as many of the account's `count` deliveries as may be sent at once: one grant each. */
  admit(accountId: number, limit: Limit, count: number): Promise<Grant[]>;
  /** How many waiting deliveries `release` would let go. */
  releasable(accountId: number, limit: Limit): Promise<number>;
  /** Releases waiting deliveries, including those whose time comes shortly: the sender waits for it. */
  release(accountId: number, limit: Limit, count: number): Promise<Grant[]>;
};

/** Longer than a delivery takes from PostgreSQL to its sender, so that its time is kept to the millisecond. */
const aheadMs = 400;
/**
 * How much travel times to the receiver may differ between deliveries. Those near the end of the burst, and beyond it, are sent this much
 * later, once for all; otherwise a receiver that counts could see the limit exceeded by a delivery or two.
 */
const arrivalMarginMs = 100;
// Longer than a busy machine stalls: what Redis granted without answering in time is granted here once more.
const commandTimeoutMs = 1_000;
const knownMax = 50_000;
const firstWaitMs = 3_000;

type Scripted = Redis & {
  draw(
    key: string,
    rate: number,
    burst: number,
    count: number,
    aheadS: number,
    knownLevel: number,
    knownAtUs: number,
  ): Promise<[level: string, drawn: number, nowUs: string]>;
};

type ThrottleOptions = {
  redisUrl: string;
  /** Prefix of every key, such as `gatepost:`. */
  prefix: string;
  /** How many dispatchers are alive by PostgreSQL, which is asked while Redis is away. */
  countDispatchers: () => Promise<number>;
  log: Log;
  registry: Registry;
};

export async function openThrottle(options: ThrottleOptions): Promise<Throttle> {
  const { log, registry } = options;
  const redis = makeRedis(options.redisUrl, {
    keyPrefix: options.prefix,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2_000,
    retryStrategy: (times) => Math.min(2_000, 50 * 2 ** times),
    log,
    scripts: { draw: { lua: drawScript, numberOfKeys: 1 } },
  }) as Scripted;
  const sharing = watchSharing(redis, log, registry);
  await connectRedis(redis, firstWaitMs).catch((error) =>
    log.warn({ error }, 'could not connect to Redis, starting without it'),
  );
  const presence = await keepPresence(redis, sharing, options);
  const draw = makeDraw(redis, presence, sharing, options);

  return {
    async admit(accountId, limit, count) {
      const asked = await draw(accountId, limit, count, 0);
      const nowMs = Date.now();
      return momentsOf(asked.limit, asked.level, asked.drawn, arrivalMarginMs).map(({ waitMs, forMs }) => ({
        ...(waitMs > 0 && { notBeforeMs: Math.ceil(nowMs + waitMs) }),
        ...(forMs !== undefined && { notAfterMs: Math.ceil(nowMs + waitMs) + forMs }),
      }));
    },
    async releasable(accountId, limit) {
      const asked = await draw(accountId, limit, 0, aheadMs);
      return roomFor(asked.limit, asked.level, aheadMs);
    },
    async release(accountId, limit, count) {
      const asked = await draw(accountId, limit, count, aheadMs);
      const nowMs = Date.now();
      return momentsOf(asked.limit, asked.level, asked.drawn, arrivalMarginMs).map(({ waitMs, forMs }) => {
        const notBeforeMs = Math.ceil(nowMs + waitMs);
        return {
          notBeforeMs,
          ...(forMs !== undefined && { notAfterMs: notBeforeMs + forMs }),
          isSlowed: waitMs >= arrivalMarginMs + 1,
        };
      });
    },
    async [Symbol.asyncDispose]() {
      presence[Symbol.dispose]();
      redis.disconnect();
    },
  };
}

type Asked = { limit: Limit; level: number; drawn: number };

/** Asks for `count` deliveries; 0 only looks. While Redis is away, it uses only what this dispatcher knows. */
function makeDraw(
  redis: Scripted,
  presence: Presence,
  sharing: Sharing,
  { registry }: ThrottleOptions,
): (accountId: number, limit: Limit, count: number, ms: number) => Promise<Asked> {
  const localAnswers = new Counter({
    name: 'dispatcher_throttle_local_total',
    help: 'Limit checks answered without Redis',
    registers: [registry],
  });

  // What we know of each bucket, by our clock and by Redis's: for when Redis is away or has lost its data.
  const known = new Map<number, Bucket & { atUs: number }>();

  const remember = (accountId: number, bucket: Bucket & { atUs: number }) => {
    if (known.size >= knownMax) known.clear();
    known.set(accountId, bucket);
  };
  const drawLocally = (accountId: number, limit: Limit, count: number, ms: number) => {
    localAnswers.inc();
    const share = presence.dispatchers();
    const mine = { rate: limit.rate / share, burst: limit.burst / share };
    const before = known.get(accountId);
    const atMs = performance.now();
    const level = levelNow(limit, before, atMs) / share;
    const drawn = Math.min(count, roomFor(mine, level, ms));
    // Without an answer of Redis, our own clock has to do: with an older time the level would be forgotten once Redis is back.
    const atUs = before ? before.atUs + (atMs - before.atMs) * 1000 : Date.now() * 1000;
    remember(accountId, { level: (level + drawn) * share, atMs, atUs }); // assuming that the others do the same
    return { limit: mine, level, drawn };
  };
  return async (accountId, limit, count, ms) => {
    const { level: knownLevel, atUs } = known.get(accountId) ?? { level: 0, atUs: 0 };
    const atMs = performance.now();
    try {
      const { rate, burst } = limit;
      const key = keyOf(accountId);
      const answer = await redis.draw(key, rate, Math.max(1, burst), count, ms / 1000, knownLevel, atUs);
      const [level, drawn, nowUs] = answer.map(Number) as [number, number, number];
      remember(accountId, { level: level + drawn, atMs, atUs: nowUs });
      if (drawn > 0) sharing.wrote(); // a Redis that takes no writes still lets us look
      return { limit, level, drawn };
    } catch (error) {
      sharing.failed(error);
      return drawLocally(accountId, limit, count, ms);
    }
  };
}

/** All keys of one account share a hash tag, and hence a Redis Cluster node. */
const keyOf = (accountId: number): string => `throttle:{${accountId}}`;
