/**
 * The limit of deliveries per account, shared by all dispatchers through Redis. Redis holds only this: losing it costs an account
 * at most one burst, and while it is away each dispatcher keeps to its share of the rate by itself.
 */
import { randomUUID } from 'node:crypto';
import type { Log } from '@gatepost/runtime/log';
import { Counter, Gauge, type Registry } from '@gatepost/runtime/metrics';
import { makeReconnectOnError } from '@gatepost/runtime/redis';
import type { Pool } from '@gatepost/webhook-db/pool';
import { Redis } from 'ioredis';
import { isNearLimit, type Limit, slots } from './slots.ts';
import { reserveScript } from './throttle-script.ts';

/** A delivery's place in its account's plan. */
export type Slot = {
  /** How long it has to wait, in ms; 0: it may go at once. */
  waitMs: number;
  /** Where the account's clock stood, if that was near its limit: then `waitBeforeSending` is to be asked. */
  clock?: number;
};

export type Throttle = AsyncDisposable & {
  /** Slots for `count` deliveries, in order. Each is reserved: ask once. */
  reserve(accountId: number, limit: Limit, count: number): Promise<Slot[]>;
  /**
   * How long a delivery that is about to be sent still has to wait, in ms, seeing when others were sent indeed. What is asked for
   * is reserved. `clock`: of its slot under this limit, else 0. `marginMs`: how much later than that to be on the safe side.
   */
  waitBeforeSending(accountId: number, limit: Limit, clock: number, marginMs: number): Promise<number>;
  /** The limit that the account's reservations were last made under; undefined if there are none. */
  limitInUse(accountId: number): Promise<Limit | undefined>;
  /** Starts the account's clock anew under `limit`, with `waiting` deliveries already scheduled from now. */
  restart(accountId: number, limit: Limit, waiting: number): Promise<void>;
  isConnected(): boolean;
};

// Longer than a busy machine hesitates: what Redis reserved and did not say in time is reserved here once more.
const commandTimeoutMs = 1_000;
const presenceEveryMs = 2_000;

type Scripted = Redis & {
  reserve(key: string, rate: number, burst: number, count: number, floor: number): Promise<[string, string, number]>;
};

export async function openThrottle(options: {
  redisUrl: string;
  /** Before every key, such as `gatepost:`. */
  prefix: string;
  pool: Pool;
  log: Log;
  registry: Registry;
}): Promise<Throttle> {
  const { log, pool, registry } = options;
  const redis = new Redis(options.redisUrl, {
    keyPrefix: options.prefix,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2_000,
    retryStrategy: (times) => Math.min(2_000, 50 * 2 ** times),
    reconnectOnError: makeReconnectOnError(log),
    lazyConnect: true,
    scripts: { reserve: { lua: reserveScript, numberOfKeys: 1 } },
  }) as Scripted;
  let connected = false;
  redis.on('ready', () => {
    connected = true;
    log.info('connected to Redis');
  });
  redis.on('close', () => {
    if (connected) log.warn('lost Redis; each dispatcher keeps to its share of the limits by itself');
    connected = false;
  });
  redis.on('error', () => {}); // 'close' follows, and the gauge tells
  new Gauge({
    name: 'dispatcher_throttle_is_local',
    help: '1 while Redis is away and limits are kept by each dispatcher alone',
    registers: [registry],
    collect() {
      this.set(connected ? 0 : 1);
    },
  });
  const localAnswers = new Counter({
    name: 'dispatcher_throttle_local_total',
    help: 'Reservations made without Redis',
    registers: [registry],
  });

  await redis.connect().catch((error) => log.warn({ error }, 'could not connect to Redis, starting without'));
  const presence = keepPresence(redis);
  const local = new Map<number, number>();

  const reserveLocally = (accountId: number, limit: Limit, count: number) => {
    localAnswers.inc(count);
    const share = presence.dispatchers();
    const mine = { rate: limit.rate / share, burst: Math.max(1, Math.floor(limit.burst / share)) };
    const now = Date.now() * 1000;
    const tat = Math.max(local.get(accountId) ?? now, now);
    local.set(accountId, tat + (count * 1_000_000) / mine.rate);
    if (local.size > 50_000) for (const [id, until] of local) if (until < now) local.delete(id);
    return slots(mine, now, tat, count).map((time) => ({ waitMs: (time - now) / 1000 }));
  };
  const reserve = async (accountId: number, limit: Limit, count: number): Promise<Slot[]> => {
    const key = keyOf(accountId);
    try {
      let [now, tat, isNew] = await redis.reserve(key, limit.rate, limit.burst, count, 0);
      if (isNew === 1) {
        // Redis may have forgotten: what is parked already keeps its slots, and we queue up behind it.
        const floor = await lastSlot(pool, accountId, limit);
        if (floor > Number(tat)) [now, tat] = await redis.reserve(key, limit.rate, limit.burst, count, floor);
      }
      return planned(limit, Number(now), Number(tat), count);
    } catch (error) {
      if (connected) log.debug({ error }, 'Redis did not answer in time');
      return reserveLocally(accountId, limit, count);
    }
  };

  return {
    reserve,
    async waitBeforeSending(accountId, limit, clock, marginMs) {
      try {
        const key = `sent:{${accountId}}:${limit.rate}:${limit.burst}`;
        const [now, tat] = await redis.reserve(key, limit.rate, limit.burst, 1, clock);
        return slotMs(limit, Number(now), Number(tat), marginMs);
      } catch {
        return 0; // Redis is away: the slot that was planned stands.
      }
    },
    isConnected: () => connected,
    async limitInUse(accountId) {
      const [rate, burst] = await redis.hmget(keyOf(accountId), 'rate', 'burst');
      return rate == null || burst == null ? undefined : { rate: Number(rate), burst: Number(burst) };
    },
    async restart(accountId, limit, waiting) {
      const [seconds, micros] = (await redis.time()) as unknown as [string, string];
      const interval = 1_000_000 / limit.rate;
      const tat = Number(seconds) * 1_000_000 + Number(micros) + (waiting > 0 ? (waiting + limit.burst) * interval : 0);
      const key = keyOf(accountId);
      await redis.hset(key, { tat: tat.toFixed(0), rate: limit.rate, burst: limit.burst });
      await redis.pexpire(key, Math.ceil(((waiting + limit.burst) * interval) / 1000) + 3_600_000);
    },
    async [Symbol.asyncDispose]() {
      presence[Symbol.dispose]();
      redis.disconnect();
    },
  };
}

/** All keys of one account share a hash tag, hence a node of a Redis Cluster. */
const keyOf = (accountId: number): string => `throttle:{${accountId}}`;

/** ms until the slot that the clock `tat` gives, and a margin if the burst has been used. */
function slotMs(limit: Limit, now: number, tat: number, marginMs: number): number {
  const sinceSlot = now - (tat - ((limit.burst - 1) * 1_000_000) / limit.rate);
  return Math.max(0, marginMs - sinceSlot / 1000);
}

function planned(limit: Limit, now: number, tat: number, count: number): Slot[] {
  const interval = 1_000_000 / limit.rate;
  return slots(limit, now, tat, count).map((time, index) => {
    const waitMs = (time - now) / 1000;
    const clock = tat + index * interval;
    return isNearLimit(limit, now, clock) ? { waitMs, clock: Math.floor(clock) } : { waitMs };
  });
}

/** The theoretical arrival time that the account's parked deliveries stand for, in µs; 0 if none waits. */
async function lastSlot(pool: Pool, accountId: number, limit: Limit): Promise<number> {
  const { rows } = await pool.query<{ last: Date | null }>(
    `SELECT max(due_at) AS last FROM (
       SELECT due_at FROM parked WHERE account_id = $1 AND reason = 'throttle' AND published_at IS NULL
       UNION ALL
       SELECT due_at FROM parked WHERE account_id = $1 AND reason = 'throttle' AND published_at > now() - interval '2 s'
     ) AS slots`,
    [accountId],
  );
  const last = rows[0]?.last;
  return last ? last.getTime() * 1000 + (limit.burst * 1_000_000) / limit.rate : 0;
}

/** How many dispatchers there are, as last seen: each says every other second that it is there. */
function keepPresence(redis: Redis): Disposable & { dispatchers(): number } {
  const key = 'dispatchers';
  const me = randomUUID();
  let seen = 1;
  const report = async () => {
    const now = Date.now();
    const results = await redis
      .multi()
      .zadd(key, now, me)
      .zremrangebyscore(key, 0, now - 5 * presenceEveryMs)
      .zcard(key)
      .pexpire(key, 60_000)
      .exec();
    seen = Math.max(1, Number(results?.[2]?.[1] ?? 1));
  };
  const tick = () => {
    report().catch(() => {
      // Redis is away: the count last seen stands.
    });
  };
  tick();
  const timer = setInterval(tick, presenceEveryMs);
  timer.unref();
  return {
    dispatchers: () => seen,
    [Symbol.dispose]() {
      clearInterval(timer);
      redis.zrem(key, me).catch(() => {});
    },
  };
}
