import { expect, test } from '@jest/globals';
import { type Bucket, type Limit, levelNow, momentsOf, roomFor } from './bucket.ts';

/** An account of which always something waits, released as the pump does: when deliveries are sent, ms after the beginning. */
function flood(
  limitAt: (nowMs: number) => Limit,
  durationMs: number,
  pauseAt: (nowMs: number) => number = () => 100,
): number[] {
  const sent: number[] = [];
  let bucket: Bucket | undefined;
  for (let nowMs = 0; nowMs < durationMs; nowMs += pauseAt(nowMs)) {
    const limit = limitAt(nowMs);
    const level = levelNow(limit, bucket, nowMs);
    const count = roomFor(limit, level, 400);
    sent.push(...momentsOf(limit, level, count, 100).map(({ waitMs }) => nowMs + waitMs));
    bucket = { level: level + count, atMs: nowMs };
  }
  return sent;
}

const between = (times: number[], fromMs: number, untilMs: number) =>
  times.filter((time) => time >= fromMs && time < untilMs).length;

test('a burst is let through at once, then one delivery per interval', () => {
  const limit = { rate: 10, burst: 3 };
  expect(roomFor(limit, 0, 0)).toBe(3);
  expect(momentsOf(limit, 0, 3, 0).map(({ waitMs }) => waitMs)).toEqual([0, 0, 0]);
  expect(roomFor(limit, 3, 0)).toBe(0);
  expect(levelNow(limit, { level: 3, atMs: 0 }, 99)).toBeGreaterThan(2);
  expect(roomFor(limit, levelNow(limit, { level: 3, atMs: 0 }, 100), 0)).toBe(1);
});

test('a delivery that has waited goes at its own time, a margin after the burst', () => {
  expect(momentsOf({ rate: 10, burst: 3 }, 3, 3, 50).map(({ waitMs }) => Math.round(waitMs))).toEqual([150, 250, 350]);
});

test('a burst of less than one counts as one', () => {
  expect(roomFor({ rate: 10, burst: 0.5 }, 0, 0)).toBe(1);
});

test('any t seconds see at most rate × t + burst deliveries, and hardly fewer while some wait, however unevenly the pump runs', () => {
  for (const limit of [
    { rate: 50, burst: 10 },
    { rate: 100, burst: 1 },
    { rate: 3, burst: 40 },
  ]) {
    // A deterministic mixture of pauses, some longer than what is released ahead.
    const times = flood(
      () => limit,
      60_000,
      (nowMs) => 20 + ((Math.floor(nowMs) * 7_919) % 430),
    );
    for (const windowMs of [1, 100, 1_000, 5_000])
      for (const [index, start] of times.entries()) {
        let end = index;
        while (end < times.length && times[end]! < start + windowMs) end += 1;
        expect(end - index).toBeLessThanOrEqual((limit.rate * windowMs) / 1000 + limit.burst + 1e-6);
      }
    expect(between(times, 0, 60_000) / (limit.rate * 60 + limit.burst)).toBeGreaterThan(0.98);
  }
});

test.each([
  [20, 2, 10],
  [2, 20, 100],
  [20, 20, 100],
])(
  'a limit changed from %s/s to %s/s lets %s deliveries through in the next five seconds',
  (before, after, expected) => {
    const times = flood((nowMs) => ({ rate: nowMs < 10_000 ? before : after, burst: 10 }), 20_000);
    expect(Math.abs(between(times, 10_000, 15_000) - expected)).toBeLessThanOrEqual(2);
  },
);

test('a smaller burst applies at once, and counts what was released before the change', () => {
  const times = flood((nowMs) => ({ rate: 10, burst: nowMs < 50 ? 100 : 5 }), 12_000);
  expect(between(times, 0, 101)).toBe(100);
  expect(between(times, 101, 9_000)).toBeLessThanOrEqual(4); // what was released ahead
});

test('a released delivery counts as late soon when its account is near the limit, otherwise never', () => {
  const limit = { rate: 100, burst: 1_000 };
  const forMs = (level: number, of: Limit = limit) => momentsOf(of, level, 1, 0)[0]!.forMs;
  expect(forMs(0)).toBeUndefined();
  expect(forMs(798)).toBeUndefined();
  expect(forMs(800)).toBe(2_000);
  expect(forMs(0, { rate: 50, burst: 10 })).toBe(200);
  expect(forMs(0, { rate: 1_000, burst: 1 })).toBe(100);
  expect(forMs(900_000, { rate: 1e6, burst: 1e6 })).toBeUndefined();
});
