import { expect, test } from '@jest/globals';
import { gatepost, openGate, Reply, usedUp } from './gate.ts';

// It ended with 6, as if nothing were delivered again, while the replay went on.
test('`deliveries replay` waits for its end through a restart of the API, and a limit of requests', async () => {
  const replay = { id: 3, state: 'running', total: 2, done: 1, failed: 0, ended_at: null, expected_end_at: null };
  const reset = Math.ceil(Date.now() / 1000) + 3;
  const answers = [
    new Reply(503, { message: 'Service Unavailable' }),
    usedUp(reset),
    { ...replay, state: 'done', done: 2, ended_at: '2026-11-27T12:00:00.000Z' },
  ];
  const asked: number[] = [];
  await using gate = await openGate({
    '/repos/a/b/hooks/1/deliveries/replays': () => new Reply(202, replay),
    '/repos/a/b/hooks/1/deliveries/replays/3': () => {
      asked.push(Date.now() / 1000);
      return answers.shift();
    },
  });
  const { code, out, err } = await gatepost(
    ['deliveries', 'replay', '1', '--repo', 'a/b', '--since', '1h'],
    gate.machine,
  );
  expect([code, out]).toEqual([0, '2 of 2 delivered again\n']);
  expect(asked[2]).toBeGreaterThanOrEqual(reset);
  expect(err).toContain('(GET /repos/a/b/hooks/1/deliveries/replays/3: 503); trying again in a moment\n');
});
