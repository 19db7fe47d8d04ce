import { expect, test } from '@jest/globals';
import type { Exit } from './child.ts';
import { describeExit, supervise } from './supervise.ts';

const failed: Exit = { code: 1, signal: null };

/** A program that lives as long as the next of `lives` says (ms on the clock below), then dies. */
function story(lives: number[]) {
  let clock = 0;
  const waits: number[] = [];
  const abort = new AbortController();
  const next = () => {
    const life = lives.shift();
    const exited =
      life === undefined
        ? new Promise<Exit>((resolve) => {
            abort.signal.addEventListener('abort', () => resolve({ code: 0, signal: 'SIGTERM' }));
            setImmediate(() => abort.abort()); // it would live for ever: the story ends here
          })
        : Promise.resolve().then(() => {
            clock += life;
            return failed;
          });
    return { exited };
  };
  const outcome = supervise(
    { child: next(), start: async () => next(), onDeath: ({ waitMs }) => waits.push(waitMs), onReady: () => {} },
    abort.signal,
    {
      now: () => clock,
      wait: async (ms) => {
        clock += ms;
      },
    },
  );
  return { outcome, waits };
}

test('starts a program again after waits that double', async () => {
  const { outcome, waits } = story([10, 10, 10, 10]);
  expect(await outcome).toBeUndefined();
  expect(waits).toEqual([200, 400, 800, 1600]);
});

test('gives up at the fifth death within a minute, with the last one', async () => {
  const { outcome, waits } = story([10, 10, 10, 10, 10]);
  expect(await outcome).toEqual({ exit: failed });
  expect(waits).toHaveLength(4);
});

test('goes on for ever when deaths are far apart, without waiting longer', async () => {
  const { outcome, waits } = story(Array.from({ length: 20 }, () => 61_000));
  expect(await outcome).toBeUndefined();
  expect(waits).toEqual(Array.from({ length: 20 }, () => 200));
});

test('counts a start that fails as a death', async () => {
  let starts = 0;
  const outcome = await supervise(
    {
      child: { exited: Promise.resolve(failed) },
      start: async () => {
        starts++;
        throw new Error('no');
      },
      onDeath: () => {},
      onReady: () => {},
    },
    new AbortController().signal,
    { now: () => 0, wait: async () => {} },
  );
  expect(starts).toBe(4);
  expect(describeExit(outcome?.exit)).toBe('could not start');
});
