import { openLog } from '@gatepost/runtime/log';
import { openLogLines } from '@gatepost/testkit/log-lines';
import { until } from '@gatepost/testkit/until';
import { expect, test } from '@jest/globals';
import { openQueue } from './background.ts';

const lines = openLogLines();
const log = openLog('test', 'info', lines);

test('background work runs after its caller has moved on, a few jobs at a time, and the queue is bounded', async () => {
  await using queue = openQueue(log, { concurrency: 2, waitingMax: 3, spreadMs: 5 });
  const open: (() => void)[] = [];
  const work = () => new Promise<void>((resolve) => open.push(resolve));
  expect([1, 2, 3, 4].map(() => queue.add('a test', work))).toEqual([true, true, true, false]);
  expect(lines.lines.at(-1)).toMatchObject({ waiting: 3, message: 'too much is waiting to accept a test' });
  expect(open).toHaveLength(0);
  await until('the first two', () => open.length === 2);
  expect(queue.add('a test', work)).toBe(true);
  open[0]!();
  await until('the third', () => open.length === 3);
  for (const finish of open) finish();
  await until('the fourth', () => open.length === 4);
  open[3]!();
});

test('a background job is retried when its store was away, given up after any other error, and finished before the process stops', async () => {
  let [away, broken, done] = [0, 0, false];
  {
    await using queue = openQueue(log, { pauseMs: 1 });
    queue.add('a test', async () => {
      away += 1;
      if (away < 3) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
      done = true;
    });
    queue.add('a test', async () => {
      broken += 1;
      throw new Error('broken');
    });
  }
  expect([away, broken, done]).toEqual([3, 1, true]);
});
