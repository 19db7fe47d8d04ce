import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { makeIsBusy } from './event-loop.ts';

test('a dispatcher counts as busy while its event loop always has work, and no longer once it waits', async () => {
  let now = 0;
  const isBusy = makeIsBusy(() => now);
  for (const until = performance.now() + 50; performance.now() < until; );
  expect(isBusy()).toBe(false); // it has not looked again yet
  now += 200;
  expect(isBusy()).toBe(true);
  await wait(300); // once: a busy machine that interrupts it a little changes nothing
  now += 199;
  expect(isBusy()).toBe(true);
  now += 1;
  expect(isBusy()).toBe(false);
});
