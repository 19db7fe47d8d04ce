import { expect, test } from '@jest/globals';
import { quantileMs } from './quantile.ts';
import { successRate } from './success-rate.ts';

const buckets = (counts: Record<number, number>) => Array.from({ length: 14 }, (_, index) => counts[index] ?? 0);

test.each([
  ['nothing has ended', {}, 0.5, null],
  ['one in the first bucket', { 0: 1 }, 0.5, 0.5],
  ['the middle of 51 to 100 ms', { 6: 100 }, 0.5, 75],
  ['nineteen of twenty below 20 ms', { 4: 19, 8: 1 }, 0.95, 20],
  ['the twentieth', { 4: 19, 8: 1 }, 0.99, 440],
  ['longer than the last bucket', { 13: 3 }, 0.95, 10_000],
])('%s', (_, counts, share, expected) => {
  expect(quantileMs(buckets(counts), share)).toBe(expected);
});

test.each([
  [0, 0, null],
  [57, 43, 0.57],
  [2, 1, 0.6666],
  [99_999, 1, 0.9999],
  [7, 0, 1],
])(
  'the success rate of %i delivered and %i failed, which is 1 only where none failed',
  (delivered, failed, expected) => {
    expect(successRate(delivered, failed)).toBe(expected);
  },
);
