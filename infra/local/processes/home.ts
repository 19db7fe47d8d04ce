/** The folder `.gatepost` (`GATEPOST_HOME` moves it): private stores, logs and keys. */
import { hash } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const rootFolder = resolve(import.meta.dirname, '../../..');

/** Its absolute path; may be given relative to where the command was typed, which npm passes on. */
export function homeFolder({ GATEPOST_HOME: home, INIT_CWD: typedIn = '' }: NodeJS.ProcessEnv): string {
  return home ? resolve(typedIn, home) : join(rootFolder, '.gatepost');
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

export function logFile(home: string, name: string): string {
  return join(makeFolder(join(home, 'logs')), `${name}.log`);
}

/** Each run starts new logs, and keeps those of the previous run in `logs.before`. */
export function setLogsAside(home: string): void {
  rmSync(join(home, 'logs.before'), { recursive: true, force: true });
  renameSync(makeFolder(join(home, 'logs')), join(home, 'logs.before'));
}

/** A short, stable name for a path. */
export const shortHash = (path: string) => hash('sha256', path).slice(0, 12);
