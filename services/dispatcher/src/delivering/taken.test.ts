import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { expect, test } from '@jest/globals';
import { makeTaken } from './taken.ts';

const jobOf = (eventKey: string) => ({ eventKey }) as DeliveryJob;

test('a dispatcher that others cannot see takes no deliveries, and afterwards has lost those it took before', () => {
  let lockedBy: number | undefined = 1;
  // Nothing is delivered here.
  const parts = { concurrency: 2, lockedBy: () => lockedBy } as Parameters<typeof makeTaken>[0];
  const taken = makeTaken(parts);
  expect(taken.reserve('a')).toBe(true);
  expect(taken.isOurs(jobOf('a'))).toBe(true);
  lockedBy = undefined;
  expect(taken.isOurs(jobOf('a'))).toBe(false);
  expect(taken.reserve('b')).toBe(false);
  lockedBy = 2;
  expect(taken.isOurs(jobOf('a'))).toBe(false);
  expect(taken.reserve('b')).toBe(true);
  expect(taken.isOurs(jobOf('b'))).toBe(true);
});

test('a busy dispatcher waits for fewer of its deliveries in hand before it takes more events', async () => {
  let busy = true;
  const parts = { concurrency: 40, lockedBy: () => 1, isBusy: () => busy } as Parameters<typeof makeTaken>[0];
  const taken = makeTaken(parts);
  const keys = Array.from({ length: 80 }, (_, index) => String(index));
  for (const key of keys) expect(taken.reserve(key)).toBe(true);
  let hasRoom = false;
  const end = async (count: number) => {
    for (const key of keys.splice(0, count)) taken.free(key);
    await new Promise(setImmediate);
  };
  const wait = () => {
    hasRoom = false;
    void taken.roomSoon().then(() => {
      hasRoom = true;
    });
  };
  wait();
  await end(69);
  expect(hasRoom).toBe(false);
  await end(1);
  expect(hasRoom).toBe(true);
  for (let index = 0; index < 70; index += 1) {
    keys.push(`again ${index}`);
    taken.reserve(`again ${index}`);
  }
  busy = false;
  wait();
  await end(39);
  expect(hasRoom).toBe(false);
  await end(1);
  expect(hasRoom).toBe(true);
});
