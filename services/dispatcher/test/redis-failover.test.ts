/** Redis loses its primary while accounts flood: limits hold, by all dispatchers together, to within one burst more. */
import { setTimeout as wait } from 'node:timers/promises';
import { openLog } from '@gatepost/runtime/log';
import { openMetrics } from '@gatepost/runtime/metrics';
import { openRedisCluster, openRedisWithSentinels, type ReplicatedRedis } from '@gatepost/testkit/redis-replicated';
import { freshPrefix } from '@gatepost/testkit/stores';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { openThrottle } from '../src/limit/throttle.ts';

const limit = { rate: 50, burst: 25 };
// One of them lies on each node of the Cluster that fails over.
const accounts = Array.from({ length: 12 }, (_, index) => index + 1);

async function keepsToLimits(open: () => Promise<ReplicatedRedis>): Promise<void> {
  await using redis = await open();
  await using stack = new AsyncDisposableStack();
  const prefix = freshPrefix();
  const openOne = async () => {
    const registry = openMetrics();
    const log = openLog('test', 'silent');
    const options = { redisUrl: redis.url, prefix, countDispatchers: async () => 2, log, registry };
    const throttle = stack.use(await openThrottle(options));
    const isLocal = async () =>
      (await registry.getSingleMetric('dispatcher_throttle_is_local')!.get()).values[0]!.value;
    return { throttle, isLocal };
  };
  const dispatchers = [await openOne(), await openOne()];
  const bothSince = Date.now();
  const sinceMs = performance.now();
  const granted = new Map(accounts.map((account) => [account, 0]));
  let isFlooding = true;
  const flood = dispatchers.map(async ({ throttle }) => {
    while (isFlooding) {
      const grants = await Promise.all(accounts.map((account) => throttle.admit(account, limit, 50)));
      for (const [index, account] of accounts.entries())
        granted.set(account, granted.get(account)! + grants[index]!.length);
      await wait(20);
    }
  });
  await until('each to know of the other', async () => (await reportsSince(redis, prefix, bothSince)) === 2);
  await redis.failOver();
  for (const { throttle, isLocal } of dispatchers)
    await until('Redis again', async () => {
      await throttle.releasable(accounts[0]!, limit);
      return (await isLocal()) === 0;
    });
  await wait(1_000);
  isFlooding = false;
  await Promise.all(flood);
  const due = (limit.rate * (performance.now() - sinceMs)) / 1_000;
  for (const account of accounts) {
    expect(granted.get(account)).toBeLessThanOrEqual(due + 2 * limit.burst);
    expect(granted.get(account)).toBeGreaterThan(limit.burst);
  }
  const kept = (await Promise.all(
    redis.servers().map((server) => server.call('KEYS', `${prefix}throttle:*`)),
  )) as string[][];
  expect(new Set(kept.flat()).size).toBe(accounts.length);
}

test('a primary that Sentinels replace costs an account at most one burst, and limits are shared again', () =>
  keepsToLimits(openRedisWithSentinels));

test('a Cluster node that its replica replaces costs an account at most one burst, and limits are shared again', () =>
  keepsToLimits(openRedisCluster));

/** How many dispatchers have said since then (ms since 1970) that they are there, and so have counted the others. */
async function reportsSince(redis: ReplicatedRedis, prefix: string, sinceMs: number): Promise<number> {
  const answers = await Promise.all(
    redis.servers().map(
      (server) => server.call('ZCOUNT', `${prefix}dispatchers`, sinceMs + 1, '+inf').catch(() => 0), // on another node
    ),
  );
  return Math.max(...(answers as number[]));
}
