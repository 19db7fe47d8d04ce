import { type Cuttable, openCuttable } from '@gatepost/testkit/cut';
import { openReceiver, type Receiver } from '@gatepost/testkit/receiver';
import { openRedisServer, type RedisServer } from '@gatepost/testkit/redis-server';
import { redisUrl } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { openWorld, type World } from './world.ts';

// Between the moment that the limit is asked and the one that the attempt notes as its beginning.
const jitterMs = 60;

describe('the limit of an account', () => {
  let world: World;
  let receiver: Receiver;
  let relay: Cuttable;

  beforeAll(async () => {
    world = await openWorld();
    receiver = await openReceiver();
    relay = await openCuttable(redisUrl());
    for (const login of ['acme', 'calm', 'changing', 'flushed']) {
      await world.addAccount(login, ['r']);
      await world.addHook(login, { url: `${receiver.url}/${login}`, retry: false });
    }
    await setLimit('acme', 50, 10);
    await setLimit('changing', 1, 1);
    await setLimit('flushed', 20, 5);
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
  const expectWithin = (at: number[], { rate, burst }: { rate: number; burst: number }) => {
    const excess = at.flatMap((from, index) =>
      at.slice(index).map((to, more) => more + 1 - (burst + (rate * (to - from + jitterMs)) / 1_000)),
    );
    expect(Math.max(...excess)).toBeLessThanOrEqual(0);
  };

  test('over two dispatchers: never more than rate × t + burst, none lost, the rate used, throttled_at shown', async () => {
    const dispatchers = [await world.start(), await world.start()];
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
    // 10 at once, then 150 at 50/s.
    const at = await sent(guids);
    const tookMs = at.at(-1)! - at[0]!;
    expect(tookMs).toBeGreaterThanOrEqual(3_000 - jitterMs);
    expect(tookMs).toBeLessThan(3_000 / 0.75);
    expectWithin(at, { rate: 50, burst: 10 });
    expect(rows[0].slowed).toBeGreaterThanOrEqual(120); // publishing takes a while, and earns slots
    expect(rows[0].slowed).toBeLessThanOrEqual(150);
    const counted = await Promise.all(dispatchers.map((one) => one.metric(/^dispatcher_throttled_total/)));
    expect(counted[0]! + counted[1]!).toBe(rows[0].slowed);
    await until('nothing parked', async () => (await world.pool.query('SELECT FROM parked')).rowCount === 0);
    for (const one of dispatchers) expect(await one.stop()).toBe(0);
  });

  test('deliveries whose time came while no dispatcher ran keep to the limit all the same', async () => {
    const first = await world.start();
    const guids = await publishMany('acme', 160);
    await until('most are parked', async () => (await first.metric(/^dispatcher_throttled_total/))! >= 100);
    await first.stop();
    await world.pool.query("UPDATE parked SET due_at = due_at - interval '1 minute'");
    const second = await world.start();
    await until('all in the log', async () => (await sent(guids)).length === 160);
    expectWithin(await sent(guids), { rate: 50, burst: 10 });
    expect(await second.stop()).toBe(0);
  });

  test('an account over its limit does not slow another', async () => {
    const dispatcher = await world.start();
    receiver.received.length = 0;
    await world.deliveries(await world.publish({ subject: 'calm/r' })); // what is cold is warm now
    receiver.received.length = 0;
    await publishMany('acme', 150);
    const started = Date.now();
    await publishMany('calm', 20);
    await until('the calm account is served', () => times('calm').length === 20);
    expect(Date.now() - started).toBeLessThan(1_500);
    expect(times('acme').length).toBeLessThan(150);
    await until('the other too', () => times('acme').length === 150);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('a changed limit paces anew what waits, within a second', async () => {
    const dispatcher = await world.start();
    receiver.received.length = 0;
    await publishMany('changing', 50);
    await until('parked', async () => {
      const { rows } = await world.pool.query('SELECT count(*)::int AS n FROM parked');
      return rows[0].n >= 48;
    });
    const changedAt = Date.now();
    await setLimit('changing', 100, 10);
    await until('all delivered', () => times('changing').length === 50);
    expect(Date.now() - changedAt).toBeLessThan(4_000);
    expect(times('changing').filter((at) => at < changedAt).length).toBeLessThan(5);
    expect(await dispatcher.stop()).toBe(0);
  });

  test('a flushed Redis costs at most a burst, and Redis away means each dispatcher limits by itself', async () => {
    const dispatcher = await world.start({ REDIS_URL: relay.url });
    receiver.received.length = 0;
    await publishMany('flushed', 45);
    await until('the first', () => times('flushed').length >= 6);
    const redis = new Redis(redisUrl());
    await redis.del(...(await redis.keys(`${world.env.REDIS_KEY_PREFIX}*`)));
    redis.disconnect();
    await publishMany('flushed', 20);
    await until('all delivered', () => times('flushed').length === 65);
    const at = times('flushed').sort((a, b) => a - b);
    expect(at.at(-1)! - at[0]!).toBeGreaterThanOrEqual(2_000); // 3 s without the flush; less a burst, and what was about to go

    await relay.cut();
    receiver.received.length = 0;
    await publishMany('flushed', 25);
    await until('all delivered', () => times('flushed').length === 25);
    const local = times('flushed').sort((a, b) => a - b);
    expect(local.at(-1)! - local[0]!).toBeGreaterThanOrEqual(900); // (25 - 5) / 20 s
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
