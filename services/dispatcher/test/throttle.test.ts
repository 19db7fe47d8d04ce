import { type Cuttable, openCuttable } from '@gatepost/testkit/cut';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { openRedisServer, type RedisServer } from '@gatepost/testkit/redis-server';
import { freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { openWorld, startsIn, type World } from './world.ts';

// Clocks are read, and timers run, to the millisecond.
const roundingMs = 5;
// Nothing waits for as long as such a limit asks for.
const hardlyAny = 0.01;
/** One a test. */
const logins = [
  'acme',
  'waiting',
  'stopped',
  'frozen',
  'flooding',
  'calm',
  'raised',
  'lowered',
  'ordered',
  'behind',
  'flushed',
  'shared',
  'unseen',
  'set-back',
];

describe('the limit of an account', () => {
  let world: World;
  let receiver: Receiver;
  let relay: Cuttable;

  beforeAll(async () => {
    world = await openWorld();
    receiver = await openReceiver();
    relay = await openCuttable(redisUrl());
    for (const login of logins) {
      await world.addAccount(login, ['r']);
      await world.addHook(login, { url: `${receiver.url}/${login}`, retry: false });
    }
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await receiver?.[Symbol.asyncDispose]();
    await relay?.[Symbol.asyncDispose]();
  });
  // One that a failed test has left behind would take what the next one publishes.
  const { start, killAll } = startsIn(() => world);
  afterEach(killAll);
  const setLimit = (login: string, rate: number, burst: number) =>
    world.pool.query('UPDATE accounts SET throttle_rate = $2, throttle_burst = $3 WHERE login = $1', [
      login,
      rate,
      burst,
    ]);
  /** Once no dispatcher releases what waits of the account, and until the work is done: as another one does that is about to. */
  const whileNoneIsReleased = async <T>(login: string, work: () => Promise<T>) => {
    const holding = await world.pool.connect();
    try {
      const lock = "SELECT pg_advisory_lock(hashtextextended('gatepost limit', id)) FROM accounts WHERE login = $1";
      await holding.query(lock, [login]);
      return await work();
    } finally {
      holding.release(true);
    }
  };
  const limited = (login: string) =>
    world.pool.query<{ id: string; guid: string; delivered_at: Date; throttled_at: Date | null }>(
      `SELECT d.id, d.guid, d.delivered_at, d.throttled_at FROM deliveries d JOIN accounts a ON a.id = d.account_id
        WHERE a.login = $1 ORDER BY d.id`,
      [login],
    );
  const publishMany = (login: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => world.publish({ subject: `${login}/r` })));
  const times = (login: string) => receiver.received.filter((one) => one.path === `/${login}`).map((one) => one.at);
  /** When the attempts began, by the log: a receiver that hesitates sees them closer together. */
  const sent = async (guids: string[]) => {
    const { rows } = await world.pool.query<{ delivered_at: Date }>(
      'SELECT delivered_at FROM deliveries WHERE guid = ANY ($1) ORDER BY delivered_at',
      [guids],
    );
    return rows.map((row) => row.delivered_at.getTime());
  };
  /**
   * Never more than rate × t + burst since a moment before the first. An attempt may begin late, as the machine is busy, and so come
   * close to the next one; before its time it never begins. Windows of any kind are judged in src, and by the bench.
   */
  const expectWithin = (since: number, at: number[], { rate, burst }: { rate: number; burst: number }) => {
    const early = at.map((time, index) => since + ((index + 1 - burst) / rate) * 1_000 - time);
    expect(Math.max(...early)).toBeLessThanOrEqual(roundingMs);
  };
  /** By how many the limit is exceeded in the worst of all windows of time. */
  const excess = (times: number[], { rate, burst }: { rate: number; burst: number }) => {
    let emptiest = Number.POSITIVE_INFINITY;
    const each = times.map((at, index) => {
      const entitled = (at / 1_000) * rate;
      emptiest = Math.min(emptiest, index - entitled);
      return index + 1 - entitled - emptiest - burst;
    });
    return Math.max(...each);
  };
  const areParked = (count: number) =>
    until(`${count} are parked`, async () => {
      const { rows } = await world.pool.query('SELECT count(*)::int AS n FROM parked');
      return rows[0].n === count;
    });

  test('two dispatchers together never send more than rate × t + burst, lose nothing, and show throttled_at', async () => {
    await setLimit('acme', 50, 10);
    const dispatchers = [await start(), await start()];
    const since = Date.now();
    const guids = await publishMany('acme', 160);
    await until('all delivered', () => times('acme').length >= 160);
    expect(times('acme')).toHaveLength(160);
    const { rows } = await until('all in the log', async () => {
      const found = await world.pool.query(
        'SELECT count(*)::int AS n, count(throttled_at)::int AS slowed FROM deliveries WHERE guid = ANY ($1)',
        [guids],
      );
      return found.rows[0].n === 160 && found;
    });
    expectWithin(since, await sent(guids), { rate: 50, burst: 10 });
    expect(rows[0].slowed).toBeGreaterThan(0); // how many a busy machine decides: publishing takes a while
    const counted = await Promise.all(dispatchers.map((one) => one.metric(/^dispatcher_throttled_total/)));
    expect(counted[0]! + counted[1]!).toBe(rows[0].slowed);
    await areParked(0);
    for (const one of dispatchers) expect(await one.stop()).toBe(0);
  });

  test('deliveries over the limit wait, are made once each, have the wait in their log line, and do not count as late', async () => {
    await setLimit('waiting', hardlyAny, 10);
    const dispatcher = await start();
    const guids = await publishMany('waiting', 60);
    await areParked(50);
    // They are there before the dispatcher hears that they are, and counts them.
    await until('they are counted', async () => (await dispatcher.metric(/^dispatcher_throttled_total/)) === 50);
    await until('the others have gone', () => times('waiting').length >= 10);
    await setLimit('waiting', 500, 1_000);
    const rows = (await Promise.all(guids.map((guid) => world.deliveries(guid)))).flat();
    expect(rows.filter((row) => row.throttled_at !== null)).toHaveLength(50);
    expect(times('waiting')).toHaveLength(60);
    expect(await dispatcher.metric(/^dispatcher_event_age_seconds_count/)).toBe(10);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('deliveries that waited while no dispatcher ran keep to the limit as well', async () => {
    await setLimit('stopped', 25, 10);
    const first = await start();
    const guids = await publishMany('stopped', 100);
    await until('some are parked', async () => (await first.metric(/^dispatcher_throttled_total/))! >= 30);
    await first.stop();
    const before = (await sent(guids)).length;
    const since = Date.now();
    const second = await start();
    await until('all in the log', async () => (await sent(guids)).length === 100);
    expectWithin(since, (await sent(guids)).slice(before), { rate: 25, burst: 10 });
    expect(await second.stop()).toBe(0);
  });

  test('an account over its limit does not slow another', async () => {
    await setLimit('flooding', hardlyAny, 10);
    const dispatcher = await start();
    await publishMany('flooding', 150);
    await publishMany('calm', 20);
    await until('the calm account is served', () => times('calm').length === 20);
    expect(times('flooding').length).toBeLessThanOrEqual(10);
    await setLimit('flooding', 500, 1_000);
    await until('the other too', () => times('flooding').length === 150);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('a raised limit applies at once to waiting deliveries', async () => {
    await setLimit('raised', hardlyAny, 1);
    const dispatcher = await start();
    const guids = await publishMany('raised', 50);
    await areParked(49);
    await until('one has gone', async () => (await sent(guids)).length === 1);
    const changedAt = Date.now();
    await setLimit('raised', 100, 10);
    await until('all in the log', async () => (await sent(guids)).length === 50); // 80 minutes by the limit of before
    expectWithin(changedAt, (await sent(guids)).slice(1), { rate: 100, burst: 10 });
    expect(await dispatcher.stop()).toBe(0);
  });

  test('a lowered limit applies at once to waiting deliveries, and lets through no more than it allows', async () => {
    await setLimit('lowered', hardlyAny, 10);
    const dispatcher = await start();
    const guids = await publishMany('lowered', 200);
    await areParked(190);
    await setLimit('lowered', 20, 10);
    await until('some that waited have gone', async () => (await sent(guids)).length >= 20);
    await setLimit('lowered', 2, 10);
    // What is released from now on is released by the new limit. What was released before may go late, as the machine is busy.
    const { waiting, changedAt } = await whileNoneIsReleased('lowered', async () => {
      // Waits for those that are just being released.
      const { rows } = await world.pool.query<{ id: string }>(
        'SELECT delivery_id AS id FROM parked WHERE published_at IS NULL FOR UPDATE',
      );
      return { waiting: new Set(rows.map(({ id }) => id)), changedAt: Date.now() };
    });
    const fiveSeconds = await until('five seconds and more', async () => {
      const { rows } = await limited('lowered');
      const at = rows.filter(({ id }) => waiting.has(id)).map((row) => row.delivered_at.getTime());
      return at.some((one) => one > changedAt + 5_000) && at.filter((one) => one <= changedAt + 5_000);
    });
    // Twenty at most by the new limit, a hundred by the old one. Exactly: src/limit/bucket.test.ts.
    expect(fiveSeconds.length).toBeLessThanOrEqual(40);
    await setLimit('lowered', 500, 1_000);
    await until('all in the log', async () => (await sent(guids)).length === 200);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('the deliveries of a flooding account are made in the order of its events', async () => {
    await setLimit('ordered', hardlyAny, 50);
    const dispatcher = await start();
    await world.deliveries(await world.publish({ subject: 'calm/r' })); // the first one published waits until changes are heard
    const guids = await publishMany('ordered', 110);
    await areParked(60); // however slowly they came
    await setLimit('ordered', 25, 50);
    await until('all in the log', async () => (await sent(guids)).length === 110);
    const { rows } = await limited('ordered');
    expect(rows.map(({ guid }) => guid)).toEqual(guids);
    const firstThatWaited = rows.findIndex((row) => row.throttled_at !== null);
    // All fifty of the burst, but for those that a busy machine begins so late that they have to ask again.
    expect(firstThatWaited).toBeGreaterThanOrEqual(40);
    const waited = rows.slice(firstThatWaited);
    expect(waited.every((row) => row.throttled_at !== null)).toBe(true);
    const at = waited.map((row) => row.delivered_at.getTime());
    // Those released together wait for their moments side by side: on a busy machine neighbours may change places, and no others.
    const released = 10; // in the 0.4 s that they are released ahead
    for (let index = released; index < at.length; index += 1)
      expect(at[index]).toBeGreaterThanOrEqual(Math.max(...at.slice(0, index - released + 1)));
    expect(await dispatcher.stop()).toBe(0);
  });

  test('a new delivery does not overtake waiting ones, even if the limit would allow it', async () => {
    await setLimit('behind', hardlyAny, 1);
    const dispatcher = await start();
    const guids = await publishMany('behind', 5);
    await areParked(4);
    await whileNoneIsReleased('behind', async () => {
      await setLimit('behind', 500, 1_000);
      guids.push(...(await publishMany('behind', 5)));
      await areParked(9);
    });
    await until('all in the log', async () => (await sent(guids)).length === 10);
    const { rows } = await limited('behind');
    expect(rows.filter((row) => row.throttled_at !== null)).toHaveLength(9);
    expect(await dispatcher.stop()).toBe(0);
  });

  // It sent all at once that it had in hand, beside what the others sent in time.
  test('a dispatcher that stood still asks the limit again for deliveries that are late', async () => {
    const limit = { rate: 25, burst: 10 };
    await setLimit('frozen', limit.rate, limit.burst);
    const dispatchers = [await start(), await start()];
    const guids = await publishMany('frozen', 150);
    await until('some have gone', async () => (await sent(guids)).length >= 20);
    process.kill(dispatchers[0]!.pid, 'SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    process.kill(dispatchers[0]!.pid, 'SIGCONT');
    await until('all in the log', async () => (await sent(guids)).length === 150);
    // What begins late does so within the time of a burst, by the dispatchers' own clocks; so no window holds more than a burst beyond the limit.
    for (const dispatcher of dispatchers) {
      const waited = await dispatcher.metric(/^dispatcher_throttle_excess_wait_seconds_count/);
      expect(waited).toEqual(expect.any(Number));
      expect(await dispatcher.metric(/^dispatcher_throttle_excess_wait_seconds_bucket\{le="0.5"\}/)).toBe(waited);
    }
    expect(excess(await sent(guids), limit)).toBeLessThan(limit.burst + 1);
    for (const one of dispatchers) expect(await one.stop()).toBe(0);
  });

  test('a flushed Redis costs at most one burst, and without Redis each dispatcher enforces limits by itself', async () => {
    await setLimit('flushed', 20, 5);
    const dispatcher = await start({ REDIS_URL: relay.url });
    const since = Date.now();
    const flood = await publishMany('flushed', 65);
    await until('some that waited have gone', async () => (await sent(flood)).length >= 10);
    const redis = new Redis(redisUrl());
    await redis.del(...(await redis.keys(`${world.env.REDIS_KEY_PREFIX}*`)));
    redis.disconnect();
    await until('all delivered', async () => (await sent(flood)).length === 65);
    expectWithin(since, await sent(flood), { rate: 20, burst: 2 * 5 });

    await relay.cut();
    const awaySince = Date.now();
    const guids = await publishMany('flushed', 25);
    await until('all in the log', async () => (await sent(guids)).length === 25);
    expectWithin(awaySince, await sent(guids), { rate: 20, burst: 5 });
    expect(await dispatcher.metric(/^dispatcher_throttle_is_local/)).toBe(1);
    await relay.restore();
    await until('Redis is back', async () => (await dispatcher.metric(/^dispatcher_throttle_is_local/)) === 0);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('dispatchers that start without Redis share the limit', async () => {
    await setLimit('shared', hardlyAny, 10);
    await relay.cut();
    const dispatchers = [await start({ REDIS_URL: relay.url }), await start({ REDIS_URL: relay.url })];
    for (const one of dispatchers)
      await until('it knows of both', async () => (await one.metric(/^dispatcher_dispatchers_alive/)) === 2);
    const guids = await publishMany('shared', 40);
    await until('all have gone or wait', async () => {
      const { rows } = await world.pool.query('SELECT count(*)::int AS n FROM parked');
      return rows[0].n + (await sent(guids)).length === 40;
    });
    expect((await sent(guids)).length).toBeLessThanOrEqual(10);
    await setLimit('shared', 500, 1_000);
    await until('all in the log', async () => (await sent(guids)).length === 40);
    await relay.restore();
    for (const one of dispatchers) expect(await one.stop()).toBe(0);
  });

  test('an account first seen while Redis was away has used its burst when Redis is back', async () => {
    await setLimit('unseen', hardlyAny, 10);
    // Under this prefix nobody has been, so that it has the whole limit.
    const dispatcher = await start({ REDIS_URL: relay.url, REDIS_KEY_PREFIX: freshPrefix() });
    await relay.cut();
    const before = await publishMany('unseen', 10);
    await until('all in the log', async () => (await sent(before)).length === 10);
    await relay.restore();
    await until('Redis is back', async () => (await dispatcher.metric(/^dispatcher_throttle_is_local/)) === 0);
    await publishMany('unseen', 10);
    await areParked(10);
    await setLimit('unseen', 500, 1_000);
    await areParked(0);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('an account at its limit goes on when the clock of Redis is set back', async () => {
    await setLimit('set-back', 20, 5);
    const dispatcher = await start();
    const guids = await publishMany('set-back', 45);
    await until('some that waited have gone', async () => (await sent(guids)).length >= 10);
    const redis = new Redis(redisUrl());
    const [key] = await redis.keys(`${world.env.REDIS_KEY_PREFIX}throttle:*`);
    await redis.hincrby(key!, 'at', 3_600_000_000); // as if it had been an hour ahead until now
    redis.disconnect();
    await until('all delivered', async () => (await sent(guids)).length === 45);
    expect(await dispatcher.stop()).toBe(0);
  });

  test.each<[string, ...((redis: RedisServer, way: Cuttable) => unknown)[]]>([
    [
      'takes no writes',
      (redis) => redis.call('CONFIG', 'SET', 'maxmemory', 1),
      (redis) => redis.call('CONFIG', 'SET', 'maxmemory', 0),
    ],
    ['does not answer', (_redis, way) => way.hold(true), (_redis, way) => way.hold(false)],
  ])('while Redis %s, a dispatcher says once that it enforces limits by itself', async (_what, harm, mend) => {
    await using redis = await openRedisServer();
    await using way = await openCuttable(redis.url);
    const dispatcher = await start({ REDIS_URL: way.url });
    const isLocal = () => dispatcher.metric(/^dispatcher_throttle_is_local/);
    expect(await isLocal()).toBe(0);
    await harm!(redis, way);
    for (let count = 0; count < 3; count += 1) await world.deliveries(await world.publish({ subject: 'calm/r' }));
    expect(await isLocal()).toBe(1);
    await mend!(redis, way);
    await until('Redis is used again', async () => (await isLocal()) === 0);
    expect(await dispatcher.stop('SIGKILL')).toBe(null); // it would say that it leaves Redis
    const said = dispatcher.log.filter(({ message }) => String(message).includes('its share of the limits'));
    expect(said).toHaveLength(1);
  });

  test('a dispatcher leaves a Redis that becomes a replica, and keeps limits at the new primary', async () => {
    await using first = await openRedisServer();
    await using second = await openRedisServer();
    await using failing = await openCuttable(first.url);
    const dispatcher = await start({ REDIS_URL: failing.url });
    const keysOf = (server: RedisServer) =>
      server.call('KEYS', `${world.env.REDIS_KEY_PREFIX}throttle:*`) as Promise<string[]>;
    const publishUntilKept = (server: RedisServer) =>
      until('a reservation', async () => {
        await world.deliveries(await world.publish({ subject: 'calm/r' }));
        return (await keysOf(server)).length > 0;
      });
    await publishUntilKept(first);
    await first.call('REPLICAOF', '127.0.0.1', '1');
    await world.deliveries(await world.publish({ subject: 'calm/r' }));
    failing.lead(second.url);
    await publishUntilKept(second);
    expect(await dispatcher.stop()).toBe(0);
  });
});
