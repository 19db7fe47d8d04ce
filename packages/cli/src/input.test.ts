import { PassThrough } from 'node:stream';
import { afterEach, expect, test } from '@jest/globals';
import type { Flags } from './flags.ts';
import { confirm } from './input.ts';

const { stdin, stderr } = process;
afterEach(() => {
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  Object.defineProperty(process, 'stderr', { value: stderr, configurable: true });
});

/** Somebody at a terminal: what they type. */
function sitDown(): PassThrough {
  const keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const screen = Object.assign(new PassThrough().resume(), { isTTY: true });
  Object.defineProperty(process, 'stdin', { value: keyboard, configurable: true });
  Object.defineProperty(process, 'stderr', { value: screen, configurable: true });
  return keyboard;
}

const flags = { is: () => false } as unknown as Flags;

test.each([
  ['y', 'y\r', undefined],
  ['n', 'n\r', 'left as it was'],
  ['Ctrl-C', '\u0003', 'left as it was'],
  ['Ctrl-D', '\u0004', 'left as it was'],
])('a question is answered with %s', async (_, typed, message) => {
  const keyboard = sitDown();
  const asked = confirm({ flags, signal: new AbortController().signal }, 'Sure?');
  keyboard.write(typed);
  if (message) await expect(asked).rejects.toMatchObject({ exit: 'interrupted', message });
  else await asked;
});

test('a signal ends a question', async () => {
  sitDown();
  const abort = new AbortController();
  const asked = confirm({ flags, signal: abort.signal }, 'Sure?');
  setImmediate(() => abort.abort());
  await expect(asked).rejects.toMatchObject({ exit: 'interrupted' });
});
