/** Finding installed programs. */
import { accessSync, constants, globSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Administrators' programs, which an ordinary user's PATH often lacks. */
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** The first of `names` that is an executable file: an absolute path, or a name looked up in PATH and the system folders. */
export function findProgram(names: string[], path = process.env.PATH ?? ''): string | undefined {
  const folders = [...path.split(delimiter).filter((folder) => folder !== ''), ...systemFolders];
  for (const name of names) {
    const candidates = isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name));
    const found = candidates.find(isExecutable);
    if (found) return found;
  }
  return undefined;
}

/** What exists of a pattern with a `*` for the version, highest first. */
export function newestFirst(pattern: string): string[] {
  return globSync(pattern).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
