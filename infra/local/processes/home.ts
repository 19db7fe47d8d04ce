/** The folder `.gatepost` (`GATEPOST_HOME` moves it): private stores, logs and keys. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { endOf } from './trouble.ts';

export const rootFolder = resolve(import.meta.dirname, '../../..');

/** The absolute path; a relative `GATEPOST_HOME` is taken from where the command was typed. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  return env.GATEPOST_HOME ? resolve(typedIn(env), env.GATEPOST_HOME) : join(rootFolder, '.gatepost');
}

/** npm goes to the folder of the package, and tells where it was called. */
export function typedIn({ INIT_CWD: folder = process.cwd() }: NodeJS.ProcessEnv): string {
  return folder;
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
    return JSON.parse(readFileSync(path, 'utf8')) as T; // only ever written by us
  } catch {
    return undefined;
  }
}

/** The path of a log. */
export function logFile(home: string, name: string): string {
  return join(makeFolder(join(home, 'logs')), `${name}.log`);
}

/** Each run begins its logs anew, and leaves those of the run before it in `logs.before`. */
export function setLogsAside(home: string): void {
  rmSync(join(home, 'logs.before'), { recursive: true, force: true });
  renameSync(makeFolder(join(home, 'logs')), join(home, 'logs.before'));
}

/** The last lines of a log, to be shown below what is wrong. */
export function logEnd(path: string): string[] {
  return existsSync(path) ? endOf(readFileSync(path, 'utf8')) : [];
}

/** A short name for a path, the same each time. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
