import { expect, test } from '@jest/globals';
import { makeBatches } from './batch.ts';

test('what arrives while a batch is worked on is the next one, within the bounds', async () => {
  const seen: number[][] = [];
  let release: () => void = () => {};
  const batches = makeBatches<number>({
    maxItems: 3,
    maxBytes: 10,
    bytesOf: (item) => item,
    async work(items) {
      seen.push(items);
      if (seen.length === 1) await new Promise<void>((resolve) => (release = resolve));
    },
  });
  batches.add(1);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  for (const item of [2, 2, 2, 2, 20, 6, 5]) batches.add(item);
  release();
  await batches.idle();
  expect(seen).toEqual([[1], [2, 2, 2], [2], [20], [6], [5]]);
  batches.add(9);
  await batches.idle();
  expect(seen.at(-1)).toEqual([9]);
});
