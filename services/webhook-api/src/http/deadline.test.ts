import { expect, test } from '@jest/globals';
import { withDeadline } from './deadline.ts';

const atOnce = -499; // 500 ms more are allowed

test('what has not begun when its client is told of a failure does not begin afterwards', async () => {
  const store = Promise.withResolvers<void>();
  const begun: string[] = [];
  let work: Promise<void> | undefined;
  const answer = withDeadline(atOnce, (checkTime) => {
    work = (async () => {
      await store.promise;
      checkTime();
      begun.push('a creation');
    })();
    return work;
  });
  await expect(answer).rejects.toMatchObject({ status: 503 });
  store.resolve();
  await expect(work).rejects.toMatchObject({ status: 503 });
  expect(begun).toEqual([]);
});

test('an answer in time is given', async () => {
  expect(await withDeadline(60_000, async (checkTime) => checkTime() ?? 'an answer')).toBe('an answer');
});
