import { openLog } from '@gatepost/runtime/log';
import { freshPrefix, redisUrl } from '@gatepost/testkit/stores';
import { afterAll, expect, test } from '@jest/globals';
import { makeRate } from '../src/accounts/rate.ts';
import { openRedis } from '../src/redis.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const redis = stack.adopt(await openRedis(redisUrl(), 30_000, openLog('test', 'silent')), (open) => open.disconnect());
const rate = makeRate(redis, freshPrefix());

test('a rate limit asked first is answered while other Redis commands wait to be sent, and so are they', async () => {
  expect(await Promise.all([redis.get('none'), rate.take('first', 'a', 1, 60)])).toEqual([null, true]);
});

test('each rate limit window has its own count', async () => {
  const taken = ['b', 'b', 'c'].map((key) => rate.take('second', key, 1, 60));
  expect(await Promise.all([...taken, rate.take('third', 'b', 1, 60)])).toEqual([true, false, true, true]);
});
