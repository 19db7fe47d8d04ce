import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { withLock } from './lock.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cli-'));
  file = path.join(folder, 'lock');
});

const long = new Date(Date.now() - 3_600_000);
const never = new AbortController().signal;
const done = async () => 'done';

test('a lock is held by one at a time, for as long as it takes, and is gone afterwards', async () => {
  const order: string[] = [];
  let second: Promise<unknown> | undefined;
  await withLock(file, never, async () => {
    utimesSync(file, long, long);
    second = withLock(file, never, async () => void order.push('second'));
    await Promise.race([second, sleep(200)]); // several looks
    order.push('first');
  });
  await second;
  expect(order).toEqual(['first', 'second']);
  expect(readdirSync(folder)).toEqual([]);
});

test('the lock of a process that was killed is taken at once', async () => {
  const { pid } = spawnSync('true');
  writeFileSync(file, `${pid} of one that is gone`);
  expect(await withLock(file, never, done)).toBe('done');
  writeFileSync(file, `${process.pid} of an earlier process with this number`);
  expect(await withLock(file, never, done)).toBe('done');
  expect(readdirSync(folder)).toEqual([]);
});

test('a lock that somebody else has taken meanwhile is left to them', async () => {
  await withLock(file, never, async () => {
    rmSync(file);
    writeFileSync(file, '1 somebody else');
  });
  expect(existsSync(file) && readFileSync(file, 'utf8')).toBe('1 somebody else');
});

test('waiting for a lock can be interrupted', async () => {
  writeFileSync(file, '1 one that lives');
  utimesSync(file, long, long);
  const abort = new AbortController();
  const waiting = withLock(file, abort.signal, done);
  abort.abort(new Error('interrupted'));
  await expect(waiting).rejects.toThrow();
  expect(readFileSync(file, 'utf8')).toBe('1 one that lives');
});
