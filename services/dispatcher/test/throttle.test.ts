import { type Cuttable, openCuttable } from '@gatepost/testkit/cut';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { openRedisServer, type RedisServer } from '@gatepost/testkit/redis-server';
import { redisUrl } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { openWorld, type World } from './world.ts';

// Clocks are read, and timers run, to the millisecond.
const roundingMs = 5;
// Nothing waits for as long as such a limit asks for.
const hardlyAny = 0.01;

describe('the limit of an account', () => {
  let world: World;
  let receiver: Receiver;
  let relay: Cuttable;

  beforeAll(async () => {
    world = await openWorld();
    receiver = await openReceiver();
    relay = await openCuttable(redisUrl());
    for (const login of ['acme', 'waiting', 'stopped', 'flooding', 'calm', 'changing', 'undecided', 'flushed']) {
      await world.addAccount(login, ['r']);
      await world.addHook(login, { url: `${receiver.url}/${login}`, retry: false });
    }
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await receiver?.[Symbol.asyncDispose]();
    await relay?.[Symbol.asyncDispose]();
  });
  const setLimit = (login: string, rate: number | null, burst: number | null) =>
    world.pool.query('UPDATE accounts SET throttle_rate = $2, throttle_burst = $3 WHERE login = $1', [
      login,
      rate,
      burst,
    ]);
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
  const areParked = (count: number) =>
    until(`${count} are parked`, async () => {
      const { rows } = await world.pool.query('SELECT count(*)::int AS n FROM parked');
      return rows[0].n === count;
    });

  test('over two dispatchers: never more than rate × t + burst, none lost, throttled_at shown', async () => {
    await setLimit('acme', 50, 10);
    const dispatchers = [await world.start(), await world.start()];
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
    // 10 at once, then 150 at 50/s; publishing takes a while, and earns slots.
    expectWithin(since, await sent(guids), { rate: 50, burst: 10 });
    expect(rows[0].slowed).toBeLessThanOrEqual(150);
    const counted = await Promise.all(dispatchers.map((one) => one.metric(/^dispatcher_throttled_total/)));
    expect(counted[0]! + counted[1]!).toBe(rows[0].slowed);
    await areParked(0);
    for (const one of dispatchers) expect(await one.stop()).toBe(0);
  });

  test('what is over the limit waits, each once, and says so in the log when it goes', async () => {
    await setLimit('waiting', hardlyAny, 10);
    const dispatcher = await world.start();
    const guids = await publishMany('waiting', 60);
    await areParked(50);
    expect(await dispatcher.metric(/^dispatcher_throttled_total/)).toBe(50);
    expect(times('waiting')).toHaveLength(10);
    await setLimit('waiting', 500, 1_000);
    const rows = (await Promise.all(guids.map((guid) => world.deliveries(guid)))).flat();
    expect(rows.filter((row) => row.throttled_at !== null)).toHaveLength(50);
    expect(times('waiting')).toHaveLength(60);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('deliveries whose time came while no dispatcher ran keep to the limit all the same', async () => {
    await setLimit('stopped', 25, 10);
    const first = await world.start();
    const guids = await publishMany('stopped', 100);
    await until('some are parked', async () => (await first.metric(/^dispatcher_throttled_total/))! >= 30);
    await first.stop();
    const before = (await sent(guids)).length;
    await world.pool.query("UPDATE parked SET due_at = due_at - interval '1 minute'");
    const since = Date.now();
    const second = await world.start();
    await until('all in the log', async () => (await sent(guids)).length === 100);
    expectWithin(since, (await sent(guids)).slice(before), { rate: 25, burst: 10 });
    expect(await second.stop()).toBe(0);
  });

  test('an account over its limit does not slow another', async () => {
    await setLimit('flooding', hardlyAny, 10);
    const dispatcher = await world.start();
    await publishMany('flooding', 150);
    await publishMany('calm', 20);
    await until('the calm account is served', () => times('calm').length === 20);
    expect(times('flooding').length).toBeLessThanOrEqual(10);
    await setLimit('flooding', 500, 1_000);
    await until('the other too', () => times('flooding').length === 150);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('a changed limit paces anew what waits', async () => {
    await setLimit('changing', hardlyAny, 1);
    const dispatcher = await world.start();
    const guids = await publishMany('changing', 50);
    await areParked(49);
    expect(times('changing')).toHaveLength(1);
    const changedAt = Date.now();
    await setLimit('changing', 100, 10);
    await until('all in the log', async () => (await sent(guids)).length === 50); // 80 minutes by the limit of before
    expectWithin(changedAt, (await sent(guids)).slice(1), { rate: 100, burst: 10 });
    expect(await dispatcher.stop()).toBe(0);
  });

  // What used to happen: the change back found the old value still in use and did nothing; then the change before it was carried out.
  test('a limit that is changed and changed back before that is carried out holds', async () => {
    const dispatcher = await world.start();
    await world.deliveries(await world.publish({ subject: 'undecided/r' }));
    const holding = await world.pool.connect();
    try {
      await holding.query(
        "SELECT pg_advisory_lock(hashtextextended('gatepost repace', id)) FROM accounts WHERE login = 'undecided'",
      );
      await setLimit('undecided', hardlyAny, 1);
      const guids = await publishMany('undecided', 8);
      await areParked(7);
      await until('the change waits for its turn', async () => {
        const { rows } = await world.pool.query(
          "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
        );
        return rows[0].n > 0;
      });
      await setLimit('undecided', null, null);
      await world.deliveries(await world.publish({ subject: 'calm/r' })); // hence that change has been heard
      await holding.query('SELECT pg_advisory_unlock_all()');
      await until('all in the log', async () => (await sent(guids)).length === 8); // 12 minutes by the limit in between
    } finally {
      holding.release(true);
    }
    expect(await dispatcher.stop()).toBe(0);
  });

  test('a flushed Redis costs at most a burst, and Redis away means each dispatcher limits by itself', async () => {
    await setLimit('flushed', 20, 5);
    const dispatcher = await world.start({ REDIS_URL: relay.url });
    const since = Date.now();
    await publishMany('flushed', 45);
    await until('the first', () => times('flushed').length >= 6);
    const redis = new Redis(redisUrl());
    await redis.del(...(await redis.keys(`${world.env.REDIS_KEY_PREFIX}*`)));
    redis.disconnect();
    await publishMany('flushed', 20);
    await until('all delivered', () => times('flushed').length === 65);
    expect(Math.max(...times('flushed')) - since).toBeGreaterThanOrEqual(2_000); // 3 s without the flush; less a burst, and what was about to go

    await relay.cut();
    receiver.received.length = 0;
    const awaySince = Date.now();
    const guids = await publishMany('flushed', 25);
    await until('all in the log', async () => (await sent(guids)).length === 25);
    expectWithin(awaySince, await sent(guids), { rate: 20, burst: 5 });
    expect(await dispatcher.metric(/^dispatcher_throttle_is_local/)).toBe(1);
    await relay.restore();
    await until('Redis is back', async () => (await dispatcher.metric(/^dispatcher_throttle_is_local/)) === 0);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('a Redis that becomes a replica is left, and limits are kept at the new primary', async () => {
    await using first = await openRedisServer();
    await using second = await openRedisServer();
    await using failing = await openCuttable(first.url);
    const dispatcher = await world.start({ REDIS_URL: failing.url });
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
