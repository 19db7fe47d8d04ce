import { expect, test } from '@jest/globals';
import { isNearLimit, slots } from './slots.ts';

const second = 1_000_000;

test('a burst goes at once, then one per interval', () => {
  expect(slots({ rate: 10, burst: 3 }, 0, 0, 5)).toEqual([0, 0, 0, second / 10, (2 * second) / 10]);
});

test('who asks later queues up behind what is reserved', () => {
  const limit = { rate: 10, burst: 1 };
  expect(slots(limit, 0, 0, 2)).toEqual([0, 100_000]);
  expect(slots(limit, 50_000, 200_000, 2)).toEqual([200_000, 300_000]);
});

test('in any window of t seconds lie at most rate × t + burst, whoever asks when', () => {
  const limit = { rate: 50, burst: 10 };
  const times: number[] = [];
  let tat = 0;
  // A deterministic mixture of bursts and pauses.
  for (let now = 0, step = 1; now < 20 * second; now += (step * 7_919) % 400_000, step += 1) {
    const count = (step * 31) % 23;
    tat = Math.max(tat, now);
    times.push(...slots(limit, now, tat, count));
    tat += (count * second) / limit.rate;
  }
  times.sort((a, b) => a - b);
  for (const windowS of [0.001, 0.1, 1, 5]) {
    for (const [index, start] of times.entries()) {
      let end = index;
      while (end < times.length && times[end]! < start + windowS * second) end += 1;
      expect(end - index).toBeLessThanOrEqual(Math.ceil(limit.rate * windowS) + limit.burst);
    }
  }
});

test('near its limit is who has less of the burst left than what two seconds of lateness may bring together', () => {
  const limit = { rate: 100, burst: 1_000 };
  expect(isNearLimit(limit, 0, 0)).toBe(false);
  expect(isNearLimit(limit, 0, 7.9 * second)).toBe(false);
  expect(isNearLimit(limit, 0, 8.1 * second)).toBe(true);
  expect(isNearLimit({ rate: 50, burst: 10 }, 0, 0)).toBe(true);
  expect(isNearLimit({ rate: 1e6, burst: 1e6 }, 0, 0.9 * second)).toBe(false);
});
