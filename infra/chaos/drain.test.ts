import { expect, test } from '@jest/globals';
import { drain } from './drain.ts';

const { signal } = new AbortController();

/** One more is accepted each time it is asked, up to `most`. */
const countingTo = (most: number) => {
  let accepted = 0;
  return {
    acceptedOnce: () => {
      accepted = Math.min(most, accepted + 1);
      return accepted;
    },
  };
};

// It gave up after three minutes in all, though an account's limit let the rest go in four.
test('waits as long as something arrives, however long that takes in all, and no longer than it must when nothing does', async () => {
  const slow = countingTo(10);
  await drain(slow, 10, { signal, giveUpAfterMs: 450 });
  expect(slow.acceptedOnce()).toBe(10);
  const lacking = countingTo(3);
  await drain(lacking, 10, { signal, giveUpAfterMs: 450 });
  expect(lacking.acceptedOnce()).toBe(3);
});
