/** The folder `.gatepost` (`GATEPOST_HOME` moves it): private stores, logs, keys, and who is using it now. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endOf, Trouble } from './trouble.ts';

export const rootFolder = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

/** The absolute path; a relative `GATEPOST_HOME` is taken from where the command was typed. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  return env.GATEPOST_HOME ? resolve(env.INIT_CWD ?? process.cwd(), env.GATEPOST_HOME) : join(rootFolder, '.gatepost');
}

export function makeFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** Writes a private file as a whole: a reader sees the old text or the new one. */
export function writePrivate(path: string, text: string): void {
  makeFolder(dirname(path));
  const partial = `${path}.${process.pid}`;
  writeFileSync(partial, text, { mode: 0o600 });
  renameSync(partial, path);
}

/** The JSON in a file of ours; undefined if there is none or it is damaged. */
export function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T; // only ever written by `writePrivate`
  } catch {
    return undefined;
  }
}

const logMaxBytes = 10 * 1024 * 1024;

/** The path of a log; one that has grown beyond 10 MB is set aside first. */
export function logFile(home: string, name: string): string {
  const path = join(makeFolder(join(home, 'logs')), `${name}.log`);
  if (existsSync(path) && statSync(path).size > logMaxBytes) renameSync(path, `${path}.1`);
  return path;
}

/** The last lines of a log, to be shown below what is wrong; of those behind its first `from` bytes, if given. */
export function logEnd(path: string, from = 0): string[] {
  return existsSync(path) ? endOf(readFileSync(path).subarray(from).toString('utf8')) : [];
}

/** How long a log is, so that its end can be told from what stood there before. */
export function logLength(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

/**
 * Takes the folder for this process. @throws Trouble while another of our commands runs there. A lock left by a crash, or by a
 * process id that now belongs to somebody else, does not count.
 */
export function takeHome(home: string, command: string): Disposable {
  const path = join(makeFolder(home), 'running.json');
  const owner = readJson<{ pid: number; born: string }>(path);
  if (owner && owner.pid !== process.pid && bornAt(owner.pid) === owner.born)
    throw new Trouble(
      `Gatepost already runs with ${home} (process ${owner.pid}).`,
      `Stop it first, or give \`${command}\` another folder with GATEPOST_HOME.`,
    );
  writePrivate(path, JSON.stringify({ pid: process.pid, born: bornAt(process.pid) }));
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

/** When a running process began, in a form that no other process shares; undefined if there is none. */
export function bornAt(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined;
  }
  if (process.platform !== 'linux') return 'unknown'; // the id alone must do
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${boot} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`; // starttime, proc(5)
  } catch {
    return undefined; // it has just ended
  }
}

/** A short name for a path, the same each time. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
