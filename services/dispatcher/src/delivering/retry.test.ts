import { deliveryStatus } from '@gatepost/contracts/delivery';
import { expect, test } from '@jest/globals';
import { classify } from './classify.ts';
import type { Attempt } from './post.ts';
import { retryWaitMs } from './retry.ts';

const timings = { dns: null, connect: null, tls: null, first_byte: null, total: 1 };
const answer = (status: number, headers: Record<string, string> = {}): Attempt => ({
  kind: 'response',
  status,
  headers,
  body: Buffer.alloc(0),
  timings,
});
const wait = (attempt: Attempt, more: { attempt?: number; retries?: boolean; hook?: boolean; random?: number } = {}) =>
  retryWaitMs(
    { attempt: more.attempt ?? 1, retries: more.retries ?? true },
    more.hook ?? true,
    attempt,
    classify(attempt)!,
    [5, 300],
    Date.parse('2026-01-01T00:00:00Z'),
    () => more.random ?? 0.5,
  );

test('retries follow the schedule, give or take 10 %, to its end', () => {
  expect(wait(answer(500))).toBe(5_000);
  expect(wait(answer(500), { random: 0 })).toBe(4_500);
  expect(wait(answer(500), { random: 1 })).toBe(5_500);
  expect(wait(answer(500), { attempt: 2 })).toBe(300_000);
  expect(wait(answer(500), { attempt: 3 })).toBeUndefined();
});

test('there is no retry after a success, after 410, of a ping, or for a hook without retries', () => {
  expect(wait(answer(204))).toBeUndefined();
  expect(wait(answer(410))).toBeUndefined();
  expect(wait(answer(500), { hook: false })).toBeUndefined();
  expect(wait(answer(500), { retries: false })).toBeUndefined();
});

test.each([
  ['7', 7_000],
  ['0', 1_000],
  ['999999', 86_400_000],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 1_000],
  ['soon', 5_000],
  ['-3', 5_000],
])('Retry-After: %s', (value, expected) => {
  expect(wait(answer(503, { 'retry-after': value }))).toBe(expected);
});

test('faults of our own machine do not count as a failed delivery', () => {
  for (const code of ['EMFILE', 'EADDRNOTAVAIL'])
    expect(classify({ kind: 'error', code, message: '', hadResponse: false, timings })).toBeUndefined();
  expect(classify({ kind: 'error', code: 'EHOSTUNREACH', message: '', hadResponse: false, timings })?.status).toBe(
    deliveryStatus.host,
  );
});
