import { expect, test } from '@jest/globals';
import { makeSharedAnswer } from './shared-answer.ts';

function open() {
  const clock = { ms: 0 };
  const asked: PromiseWithResolvers<number>[] = [];
  const recent = makeSharedAnswer(
    () => {
      asked.push(Promise.withResolvers());
      return asked.at(-1)!.promise;
    },
    2_000,
    () => clock.ms,
  );
  return { clock, asked, recent };
}

test('a slow question is asked once at a time, and then not again for as long as it took', async () => {
  const { clock, asked, recent } = open();
  const answers = [recent()];
  for (clock.ms = 1_000; clock.ms < 10_000; clock.ms += 1_000) answers.push(recent());
  expect(asked).toHaveLength(1);
  asked[0]!.resolve(7);
  expect(new Set(await Promise.all(answers))).toEqual(new Set([7]));
  clock.ms = 19_000;
  expect(await recent()).toBe(7);
  clock.ms = 20_000;
  void recent();
  expect(asked).toHaveLength(2);
});

test('a quick answer is cached for two seconds, a failure not at all', async () => {
  const { clock, asked, recent } = open();
  const first = recent();
  asked[0]!.resolve(1);
  await first;
  clock.ms = 1_999;
  expect(await recent()).toBe(1);
  clock.ms = 2_000;
  const second = recent();
  asked[1]!.reject(new Error('away'));
  await expect(second).rejects.toThrow('away');
  void recent();
  expect(asked).toHaveLength(3);
});
