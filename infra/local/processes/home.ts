/** The folder `.gatepost` (`GATEPOST_HOME` moves it): private stores, logs and keys. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { endOf } from './trouble.ts';

export const rootFolder = resolve(import.meta.dirname, '../../..');

/** Its absolute path; `GATEPOST_HOME` may be relative to where the command was typed. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  return env.GATEPOST_HOME ? resolve(typedIn(env), env.GATEPOST_HOME) : join(rootFolder, '.gatepost');
}

/** npm changes to the package's folder, and passes on where it was called. */
export function typedIn({ INIT_CWD: folder = process.cwd() }: NodeJS.ProcessEnv): string {
  return folder;
}

export function makeFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** Writes a private file atomically: readers see the old text or the new. */
export function writePrivate(path: string, text: string): void {
  makeFolder(dirname(path));
  const partial = `${path}.${process.pid}`;
  writeFileSync(partial, text, { mode: 0o600 });
  renameSync(partial, path);
}

/** The JSON in a file of ours; undefined if missing or damaged. */
export function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T; // only we write it
  } catch {
    return undefined;
  }
}

/** The path of a log. */
export function logFile(home: string, name: string): string {
  return join(makeFolder(join(home, 'logs')), `${name}.log`);
}

/** Each run starts new logs, and keeps those of the previous run in `logs.before`. */
export function setLogsAside(home: string): void {
  rmSync(join(home, 'logs.before'), { recursive: true, force: true });
  renameSync(makeFolder(join(home, 'logs')), join(home, 'logs.before'));
}

/** The last lines of a log, to show below an error. */
export function logEnd(path: string): string[] {
  return existsSync(path) ? endOf(readFileSync(path, 'utf8')) : [];
}

/** A short, stable name for a path. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
