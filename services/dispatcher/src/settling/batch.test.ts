import { expect, test } from '@jest/globals';
import { makeBatches } from './batch.ts';
import { GivenUp } from './persist.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('items that arrive while a batch is worked on form the next batch, within its bounds', async () => {
  const seen: number[][] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const batches = makeBatches<number, number>({
    maxItems: 3,
    maxBytes: 10,
    bytesOf: (item) => item,
    async work(items) {
      seen.push([...items]);
      if (seen.length === 1) await released;
      return items.map((item) => item * 10);
    },
  });
  const first = batches.add(1);
  await turn();
  await turn();
  const others = [2, 2, 2, 2, 20, 6, 5].map((item) => batches.add(item));
  release();
  expect(await Promise.all([first, ...others])).toEqual([10, 20, 20, 20, 20, 200, 60, 50]);
  expect(seen).toEqual([[1], [2, 2, 2], [2], [20], [6], [5]]);
  expect(await batches.add(9)).toBe(90);
  await turn();
  expect(batches.isIdle()).toBe(true);
});

test('a batch may wait for others', async () => {
  const seen: number[][] = [];
  const batches = makeBatches<number, number>({
    maxItems: 2,
    maxBytes: 10,
    bytesOf: () => 0,
    lingerMs: 2_000,
    async work(items) {
      seen.push([...items]);
      return items;
    },
  });
  const first = batches.add(1);
  await turn();
  await turn();
  await turn();
  expect(await Promise.all([first, batches.add(2)])).toEqual([1, 2]);
  // A full batch does not wait.
  expect(await Promise.all([3, 4].map((item) => batches.add(item)))).toEqual([3, 4]);
  expect(seen).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

test('some or all waiting items can be withdrawn, and the rest keep their order', async () => {
  const seen: number[][] = [];
  const begin = Promise.withResolvers<void>();
  const batches = makeBatches<number, number | 'elsewhere'>({
    maxItems: 10,
    maxBytes: 10,
    bytesOf: () => 0,
    before: () => begin.promise,
    async work(items) {
      seen.push([...items]);
      return items;
    },
  });
  const all = Promise.all([1, 2, 3, 4].map((item) => batches.add(item)));
  batches.withdraw((item) => item % 2 === 0, 'elsewhere');
  expect(batches.waiting()).toBe(2);
  begin.resolve();
  expect(await all).toEqual([1, 'elsewhere', 3, 'elsewhere']);
  const alone = batches.add(5);
  batches.withdraw(() => true, 'elsewhere');
  expect(await alone).toBe('elsewhere');
  await turn();
  await turn();
  expect(batches.isIdle()).toBe(true);
  expect(seen).toEqual([[1, 3]]);
});

test('an item that cannot be worked on fails alone; when the process gives up, all remaining items fail', async () => {
  let stopped = false;
  const batches = makeBatches<string, string>({
    maxItems: 10,
    maxBytes: 10,
    bytesOf: () => 0,
    async work(items) {
      if (stopped) throw new GivenUp('stopped');
      if (items.includes('poison')) throw new TypeError('poison');
      return items.map((item) => item.toUpperCase());
    },
  });
  const settled = await Promise.allSettled(['a', 'poison', 'b', 'c'].map((item) => batches.add(item)));
  expect(settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message))).toEqual([
    'A',
    'poison',
    'B',
    'C',
  ]);
  stopped = true;
  const given = await Promise.allSettled([batches.add('a'), batches.add('b')]);
  expect(given.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
