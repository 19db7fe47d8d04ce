/** Allows one process at a time, by creating a file only if it does not exist. */
import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../problem.ts';

/** Longer than anything done under the lock: a process that held it this long has died. */
const staleMs = 60_000;
const pollMs = 50;

export async function withLock<T>(file: string, act: () => Promise<T>): Promise<T> {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const giveUpAt = Date.now() + 2 * staleMs;
  while (!take(file)) {
    if (Date.now() > giveUpAt) throw new Problem('failed', `another gatepost has held ${file} for too long`);
    await sleep(pollMs);
  }
  try {
    return await act();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const held = statSync(file, { throwIfNoEntry: false });
    if (held && Date.now() - held.mtimeMs > staleMs) rmSync(file, { force: true });
    return false;
  }
}
