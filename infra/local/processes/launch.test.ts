import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Child } from './child.ts';
import { launcher } from './launch.ts';

test('a server that lets nobody in is ended before anybody starts it again', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gatepost-launch-'));
  const started: Child[] = [];
  const stack = new AsyncDisposableStack();
  const use = stack.use.bind(stack);
  stack.use = (child) => {
    started.push(child as unknown as Child);
    return use(child);
  };
  const server = { name: 'store', command: 'sleep', args: ['600'], log: 'store', letsIn: async () => false };
  const launch = launcher({ home, stack, signal: new AbortController().signal }, { ...server, readyTimeoutMs: 100 });
  await expect(launch()).rejects.toThrow('store did not start in time');
  expect(started.map((child) => child.hasExited())).toEqual([true]);
  rmSync(home, { recursive: true, force: true });
});
