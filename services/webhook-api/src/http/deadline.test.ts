import { expect, test } from '@jest/globals';
import { makeDeadline } from './deadline.ts';

const atOnce = -499; // 500 ms more are allowed

test('what is not done when its client is told of a failure is not done afterwards', async () => {
  const store = Promise.withResolvers<void>();
  const done: string[] = [];
  const { within, checkTime } = makeDeadline(atOnce);
  let work: Promise<void> | undefined;
  const answer = within(() => {
    work = (async () => {
      await store.promise;
      checkTime();
      done.push('a creation');
    })();
    return work;
  });
  await expect(answer).rejects.toMatchObject({ status: 503 });
  store.resolve();
  await expect(work).rejects.toMatchObject({ status: 503 });
  expect(done).toEqual([]);
});

test('an answer in time is given', async () => {
  const { within, checkTime } = makeDeadline(60_000);
  expect(await within(async () => checkTime() ?? 'an answer')).toBe('an answer');
});
