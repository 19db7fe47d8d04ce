/** Allows one process at a time, by creating a file only if it does not exist. The file says whose it is. */
import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../problem.ts';

/** Longer than anything done under the lock, with a gate and a keyring that answer at the last moment. */
const waitMaxMs = 180_000;
const pollMs = 50;
/** A file without an owner is being written, for no longer than this. */
const writtenWithinMs = 5_000;

/** Of the locks that this process holds: after a restart in a container another process may have had its number. */
const held = new Set<string>();

export async function withLock<T>(file: string, signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T> {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const mine = `${process.pid} ${randomUUID()}`;
  held.add(mine);
  try {
    const giveUpAt = Date.now() + waitMaxMs;
    while (!take(file, mine)) {
      if (Date.now() > giveUpAt)
        throw new Problem(
          'failed',
          `another gatepost (process ${read(file)?.split(' ')[0]}) has held ${file} for too long`,
          `If it runs no more: rm '${file}'`,
        );
      await sleep(pollMs, undefined, { signal });
    }
    return await act();
  } finally {
    held.delete(mine);
    if (read(file) === mine) rmSync(file, { force: true });
  }
}

function take(file: string, mine: string): boolean {
  try {
    writeFileSync(file, mine, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const owner = read(file);
  if (owner !== undefined && isAbandoned(file, owner)) clear(file, owner);
  return false;
}

function isAbandoned(file: string, owner: string): boolean {
  const pid = Number(owner.split(' ')[0]);
  if (!pid) return Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > writtenWithinMs;
  if (pid === process.pid) return !held.has(owner);
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Removes the file of an owner that is gone, and no other that has taken its place meanwhile. */
function clear(file: string, owner: string): void {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
    if (read(aside) !== owner) linkSync(aside, file);
  } catch {
    // Another process was faster.
  }
  rmSync(aside, { force: true });
}

/** Undefined: there is none. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
