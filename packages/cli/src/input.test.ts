import { PassThrough } from 'node:stream';
import { afterEach, expect, test } from '@jest/globals';
import type { Flags } from './flags.ts';
import { confirm, readSecret } from './input.ts';

const { stdin, stderr } = process;
afterEach(() => {
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  Object.defineProperty(process, 'stderr', { value: stderr, configurable: true });
});

/** Somebody at a terminal: what they type, and what they see. */
function sitDown() {
  const raw: boolean[] = [];
  const keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => raw.push(on) });
  const screen = Object.assign(new PassThrough(), { isTTY: true });
  let seen = '';
  screen.on('data', (text) => {
    seen += text;
  });
  Object.defineProperty(process, 'stdin', { value: keyboard, configurable: true });
  Object.defineProperty(process, 'stderr', { value: screen, configurable: true });
  return { keyboard, raw, seen: () => seen };
}

const flags = { is: () => false } as unknown as Flags;

test.each([
  ['y', 'y\r', undefined],
  ['n', 'n\r', 'left as it was'],
  ['Ctrl-C', '\u0003', 'left as it was'],
  ['Ctrl-D', '\u0004', 'left as it was'],
])('a question is answered with %s', async (_, typed, message) => {
  const { keyboard } = sitDown();
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

test('a secret typed at a terminal is not shown', async () => {
  const { keyboard, raw, seen } = sitDown();
  const secret = readSecret('-', 'the secret');
  keyboard.write('s3crwt\u007f\u007fet\r');
  expect(await secret).toBe('s3cret');
  expect(seen()).toBe('the secret, not shown here: \n');
  expect(raw).toEqual([true, false]); // without it the terminal itself shows what is typed
});

test.each([
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
])('%s instead of a secret ends the command', async (_, typed) => {
  const { keyboard } = sitDown();
  const secret = readSecret('-', 'the secret');
  keyboard.write(typed);
  await expect(secret).rejects.toMatchObject({ exit: 'interrupted' });
});

test('a signal ends a command that waits for a secret', async () => {
  const { keyboard } = sitDown();
  const secret = readSecret('-', 'the secret');
  setImmediate(() => keyboard.destroy());
  await expect(secret).rejects.toMatchObject({ exit: 'interrupted' });
});
