import { expect, test } from '@jest/globals';
import { makeCache } from './cache.ts';

test('a cached value is never older than its limit, even when the announcement of a change is lost', async () => {
  let now = 0;
  let loaded = 0;
  const cache = makeCache({
    changes: { subscribe: () => {}, isConnected: () => true, [Symbol.asyncDispose]: async () => {} },
    tables: ['clients'],
    load: async () => (loaded += 1),
    maxAgeMs: 5_000,
    now: () => now,
  });
  expect(await cache.get('a')).toBe(1);
  now = 4_999;
  expect(await cache.get('a')).toBe(1);
  now = 5_000;
  expect(await cache.get('a')).toBe(2);
  now = 9_999;
  expect(await cache.get('a')).toBe(2);
});
