import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { expect, test } from '@jest/globals';
import { makeFailingHooks } from './failing-hooks.ts';

let nowMs = Date.parse('2026-01-01T00:00:00Z');
const target = new URL('https://receiver.example/hooks/a-secret-in-the-path');
const outcome = { kind: 'failed', reason: 'response', status: 'Invalid HTTP response', statusCode: 500, error: null };

test('the hooks that failed most in the last ten to twenty minutes are reported, without the paths of their URLs', () => {
  const failing = makeFailingHooks(() => nowMs);
  const fail = (hookId: number) =>
    failing.note({ hookId, accountId: 7 } as DeliveryJob, { target }, outcome as Parameters<typeof failing.note>[2]);
  const counts = () => failing.top().hooks.map(({ hook, failures }) => [hook, failures]);

  for (let hook = 1; hook <= 30; hook += 1) for (let count = 0; count < hook; count += 1) fail(hook);
  expect(counts()).toEqual(Array.from({ length: 20 }, (_, index) => [30 - index, 30 - index]));
  expect(JSON.stringify(failing.top())).not.toContain('a-secret');
  nowMs += 601_000;
  fail(30);
  expect(counts()[0]).toEqual([30, 31]);
  expect(failing.top().since).toBe('2026-01-01T00:00:00.000Z');
  nowMs += 601_000;
  expect(counts()).toEqual([[30, 1]]);
  nowMs += 1_300_000;
  expect(counts()).toEqual([]);
});
