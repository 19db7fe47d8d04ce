import type { DeliveryJob } from '@gatepost/contracts/delivery-job';
import { expect, test } from '@jest/globals';
import { makeTaken } from './taken.ts';

const jobOf = (eventKey: string) => ({ eventKey }) as DeliveryJob;

test('a dispatcher that others cannot see takes no deliveries, and afterwards has lost those it took before', () => {
  let heldBy: number | undefined = 1;
  // Nothing is delivered here.
  const parts = { concurrency: 2, heldBy: () => heldBy } as Parameters<typeof makeTaken>[0];
  const taken = makeTaken(parts);
  expect(taken.reserve('a')).toBe(true);
  expect(taken.isOurs(jobOf('a'))).toBe(true);
  heldBy = undefined;
  expect(taken.isOurs(jobOf('a'))).toBe(false);
  expect(taken.reserve('b')).toBe(false);
  heldBy = 2;
  expect(taken.isOurs(jobOf('a'))).toBe(false);
  expect(taken.reserve('b')).toBe(true);
  expect(taken.isOurs(jobOf('b'))).toBe(true);
});
