import { expect, test } from '@jest/globals';
import { makePace } from './replay-pace.ts';

test('a replay slows down while new events arrive, and speeds up when none has come for a second', () => {
  const workCounts = { events: 7 };
  let now = 0;
  const { pace } = makePace(workCounts, () => now);
  expect(pace()).toEqual({ most: 15, roundMs: 50 });
  workCounts.events += 1;
  expect(pace()).toEqual({ most: 3, roundMs: 100 });
  now = 999;
  expect(pace().most).toBe(3);
  now = 1_000;
  expect(pace().most).toBe(15);
});

test('on an overloaded machine a replay goes slower and slower, but never stops', () => {
  const { pace, began } = makePace({ events: 0 });
  began(11);
  expect(pace().most).toBe(7);
  for (let n = 0; n < 5; n += 1) began(11);
  expect(pace().most).toBe(1);
  for (let n = 0; n < 3; n += 1) began(0);
  expect(pace().most).toBe(4);
  for (let n = 0; n < 20; n += 1) began(0);
  expect(pace().most).toBe(15);
});
