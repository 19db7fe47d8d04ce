import { globSync } from 'node:fs';
import { delimiter } from 'node:path';
import which from 'which';

/** Administrators' programs, which an ordinary user's PATH often lacks. */
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** The first of `names` that is an executable file: an absolute path, or a name looked up in PATH and the system folders. */
export function findProgram(names: string[], path = process.env.PATH ?? ''): string | undefined {
  const folders = [path, ...systemFolders].join(delimiter);
  for (const name of names) {
    const found = which.sync(name, { path: folders, nothrow: true });
    if (found) return found;
  }
  return undefined;
}

/** What exists of a pattern with a `*` for the version, highest first. */
export function newestFirst(pattern: string): string[] {
  return globSync(pattern).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
}
