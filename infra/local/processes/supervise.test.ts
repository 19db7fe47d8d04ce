import { expect, test } from '@jest/globals';
import type { Exit } from './child.ts';
import { supervise } from './supervise.ts';

const failed: Exit = { code: 1, signal: null };
const log = '/nowhere.log';

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
    return { exited, log };
  };
  const about = (_name: string, text: string) => {
    const [, seconds] = /again in ([\d.]+) s/.exec(text) ?? [];
    if (seconds) waits.push(Number(seconds) * 1_000);
  };
  const wait = async (ms: number) => {
    clock += ms;
  };
  const one = { name: 'it', child: next(), start: async () => next() };
  return { outcome: supervise(one, about, abort.signal, { now: () => clock, wait }), waits };
}

test('starts a program again after waits that double', async () => {
  const { outcome, waits } = story([10, 10, 10, 10]);
  await outcome;
  expect(waits).toEqual([200, 400, 800, 1600]);
});

test('gives up at the fifth death in a row, and says how it died', async () => {
  const { outcome, waits } = story([10, 10, 10, 10, 10]);
  await expect(outcome).rejects.toThrow('it died five times, the last time it ended with status 1');
  expect(waits).toHaveLength(4);
});

test('goes on for ever when deaths are far apart, without waiting longer', async () => {
  const { outcome, waits } = story(Array.from({ length: 20 }, () => 61_000));
  await outcome;
  expect(waits).toEqual(Array.from({ length: 20 }, () => 200));
});

test('counts a start that fails as a death', async () => {
  let starts = 0;
  const start = async () => {
    starts++;
    throw new Error('no');
  };
  const one = { name: 'it', child: { exited: Promise.resolve(failed), log }, start };
  const outcome = supervise(one, () => {}, new AbortController().signal, { now: () => 0, wait: async () => {} });
  await expect(outcome).rejects.toThrow('the last time it could not start');
  expect(starts).toBe(4);
});
