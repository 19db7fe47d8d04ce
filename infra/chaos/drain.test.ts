import { expect, test } from '@jest/globals';
import { drain } from './drain.ts';

const { signal } = new AbortController();

/** Accepts one more each time it is called, up to `most`. */
const countingTo = (most: number) => {
  let accepted = 0;
  return {
    acceptedOnce: () => {
      accepted = Math.min(most, accepted + 1);
      return accepted;
    },
  };
};

// It used to give up after three minutes in all, although an account's limit would have let the rest out in four.
test('draining waits as long as deliveries keep arriving, and stops soon after none does', async () => {
  const slow = countingTo(10);
  await drain(slow, 10, { signal, giveUpAfterMs: 450 });
  expect(slow.acceptedOnce()).toBe(10);
  const lacking = countingTo(3);
  await drain(lacking, 10, { signal, giveUpAfterMs: 450 });
  expect(lacking.acceptedOnce()).toBe(3);
});
