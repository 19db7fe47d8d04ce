import { expect, test } from '@jest/globals';
import { inHalves } from './halve.ts';

async function worksOff(items: number[], bad: number[], stop?: number) {
  const done: number[] = [];
  const alone: number[] = [];
  const batches: number[] = [];
  const running = inHalves(items, {
    async work(some) {
      batches.push(some.length);
      if (stop !== undefined && some.includes(stop)) throw new Error('stop');
      if (some.some((item) => bad.includes(item))) throw new Error('bad');
      done.push(...some);
    },
    alone: async (item) => void alone.push(item),
    isNobodysFault: (error) => (error as Error).message === 'stop',
  });
  const failed = await running.then(
    () => undefined,
    (error: Error) => error.message,
  );
  return { done, alone, batches, failed };
}

test.each<[what: string, items: number[], bad: number[]]>([
  ['nothing', [], []],
  ['one that is good', [1], []],
  ['one that is bad', [1], [1]],
  ['one bad among many', [1, 2, 3, 4, 5, 6, 7], [3]],
  ['the first and the last', [1, 2, 3, 4, 5], [1, 5]],
  ['all bad', [1, 2, 3], [1, 2, 3]],
])('%s: bad items are found one by one, the others are done once and in order', async (_what, items, bad) => {
  const { done, alone } = await worksOff(items, bad);
  expect(done).toEqual(items.filter((item) => !bad.includes(item)));
  expect(alone).toEqual(bad);
});

test('a batch without bad items is done in one go', async () => {
  expect((await worksOff([1, 2, 3, 4], [])).batches).toEqual([4]);
});

test('an error that is no item’s fault ends the work at once', async () => {
  expect(await worksOff([1, 2, 3, 4], [1], 2)).toMatchObject({ done: [], alone: [], failed: 'stop', batches: [4] });
});
