import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { openLog } from './log.ts';
import { openMetrics } from './metrics.ts';
import { openOps } from './ops.ts';
import { watchProgress } from './progress.ts';

const registry = openMetrics();
let nowMs = 0;
const parking = { waiting: 0, moved: 0, canTell: true };
const log = openLog('test', 'silent');
const progress = watchProgress({
  metric: 'test_stalled_seconds',
  registry,
  log,
  now: () => nowMs,
  stages: [
    {
      name: 'parking',
      completed: () => parking.moved,
      async hasWork() {
        if (!parking.canTell) throw new Error('away');
        return parking.waiting > 0;
      },
    },
    { name: 'attempts', hasWork: () => parking.waiting > 0, completed: () => parking.moved, workMs: 540_000 },
  ],
});
const ops = await openOps({
  host: '127.0.0.1',
  port: 0,
  registry,
  log,
  stores: {},
  ready: { progress: progress.check },
});
afterAll(async () => {
  progress[Symbol.dispose]();
  await ops[Symbol.asyncDispose]();
});

beforeEach(async () => {
  Object.assign(parking, { waiting: 0, canTell: true });
  await progress.look();
});
const pass = async (seconds: number) => {
  nowMs += seconds * 1_000;
  await progress.look();
};
const readiness = async () => {
  const answer = await fetch(`http://127.0.0.1:${ops.port}/readyz`);
  return { status: answer.status, body: (await answer.json()) as unknown };
};

test('a process without waiting work is ready, however long it makes no progress', async () => {
  await pass(3_600);
  expect(await readiness()).toMatchObject({ status: 200 });
});

test('a process with waiting work that makes no progress for a minute is not ready, and says where', async () => {
  parking.waiting = 3;
  await pass(1);
  await pass(59);
  expect(await readiness()).toMatchObject({ status: 200 });
  await pass(1);
  expect(await readiness()).toEqual({
    status: 503,
    body: {
      status: 'not ready',
      failing: { progress: 'nothing has moved though something waits: parking for 60 s' },
    },
  });
  expect(await registry.metrics()).toContain('test_stalled_seconds{place="parking"} 60');
  parking.moved += 1;
  expect(await readiness()).toMatchObject({ status: 200 });
});

test('where a single piece of work may take long, neither readiness nor the metric of the alert counts that time', async () => {
  parking.waiting = 1;
  const stalled = async () => /test_stalled_seconds\{place="attempts"\} (\d+)/.exec(await registry.metrics())?.[1];
  await pass(1);
  await pass(540);
  expect(await stalled()).toBe('0');
  await pass(59);
  expect([(await readiness()).body, await stalled()]).toEqual([
    expect.objectContaining({ failing: { progress: expect.not.stringContaining('attempts') } }),
    '59',
  ]);
  await pass(1);
  expect([(await readiness()).body, await stalled()]).toEqual([
    expect.objectContaining({ failing: { progress: expect.stringContaining('attempts for 600 s') } }),
    '60',
  ]);
});

test('the minute without progress counts from when the work began to wait', async () => {
  await pass(3_600);
  parking.waiting = 1;
  await pass(1);
  expect(await readiness()).toMatchObject({ status: 200 });
});

test('a process that makes a little progress now and then is ready', async () => {
  parking.waiting = 1_000;
  for (let minute = 0; minute < 5; minute += 1) {
    await pass(50);
    parking.moved += 1;
  }
  expect(await readiness()).toMatchObject({ status: 200 });
});

test('while a process cannot find out whether work waits, the last known answer counts', async () => {
  parking.waiting = 1;
  await pass(1);
  parking.canTell = false;
  await pass(61);
  expect(await readiness()).toMatchObject({ status: 503 });
});
