import { expect, test } from '@jest/globals';
import { makePace } from './replay-pace.ts';

test('beside fresh events a replay goes slowly, and fast again when none has come for a second', () => {
  const moved = { events: 7 };
  let now = 0;
  const { pace } = makePace(moved, () => now);
  expect(pace()).toEqual({ most: 15, roundMs: 50 });
  moved.events += 1;
  expect(pace()).toEqual({ most: 3, roundMs: 100 });
  now = 999;
  expect(pace().most).toBe(3);
  now = 1_000;
  expect(pace().most).toBe(15);
});

test('on a machine that is late it goes slower and slower, and never stands still', () => {
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
