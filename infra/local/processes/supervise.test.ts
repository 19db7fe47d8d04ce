import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@gatepost/testkit/until';
import { afterAll, expect, test } from '@jest/globals';
import { say } from '../commands/say.ts';
import { type Child, launcher, supervise } from './child.ts';

const home = mkdtempSync(join(tmpdir(), 'gatepost-supervise-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const { signal } = new AbortController();
const log = join(home, 'it.log');
writeFileSync(log, '');

test('a server that lets nobody in is stopped before it is started again', async () => {
  await using stack = new AsyncDisposableStack();
  const file = join(home, 'pid');
  const pid = () => Number(readFileSync(file, 'utf8'));
  writeFileSync(file, '');
  const letsIn = async () => (await until('it runs', pid)) === 0;
  const server = { name: 'store', command: 'sh', args: ['-c', 'echo $$ > "$0"; exec sleep 600', file], letsIn };
  const launch = launcher({ home, stack, signal }, { ...server, readyTimeoutMs: 100 });
  await expect(launch()).rejects.toThrow('store did not start in time');
  expect(() => process.kill(pid(), 0)).toThrow('ESRCH');
});

test('a store that was started again still ends after what needs it', async () => {
  await using stack = new AsyncDisposableStack();
  const server = { name: 'store', command: 'sleep', args: ['600'], letsIn: async () => true };
  const launch = launcher({ home, stack, signal }, server);
  const first = await launch();
  const seen: boolean[] = [];
  stack.defer(() => void seen.push(second.hasExited())); // a service ends
  process.kill(first.pid, 'SIGKILL');
  await first.exited;
  const second = await launch();
  await stack.disposeAsync();
  expect([...seen, second.hasExited()]).toEqual([false, true]);
});

/** A program whose lives end as given; 'never starts' fails its start. */
function dying(exits: (number | 'never starts' | 'lives on')[]) {
  const abort = new AbortController();
  const said: string[] = [];
  const launch = async () => {
    const code = exits.shift();
    if (code === 'never starts') throw new Error(code);
    if (code === 'lives on') abort.abort(); // the test ends here
    const exit = { code: typeof code === 'number' ? code : 0, signal: null };
    return { log, exited: Promise.resolve(exit) } as unknown as Child;
  };
  const outcome = async () => {
    const heard = { ...say, about: (name: string, text: string) => void said.push(`${name} ${text}`) };
    await supervise({ name: 'it', child: await launch(), launch }, { say: heard, signal: abort.signal });
  };
  return { outcome: outcome(), said };
}

test('starts a program again after waits that double', async () => {
  const { outcome, said } = dying([1, 2, 3, 'lives on']);
  await outcome;
  expect(said).toEqual([
    'it ended with status 1; starting it again in 0.2 s',
    'it runs again',
    'it ended with status 2; starting it again in 0.4 s',
    'it runs again',
    'it ended with status 3; starting it again in 0.8 s',
    'it runs again',
  ]);
});

test('gives up at the fifth death, says how it died, and counts a start that fails as one', async () => {
  await expect(dying([1, 1, 1, 1, 7]).outcome).rejects.toThrow('it died five times, at last it ended with status 7');
  const never = dying([1, 'never starts', 'never starts', 'never starts', 'never starts']);
  await expect(never.outcome).rejects.toThrow('at last it could not start');
});
