/** Finding installed programs. */
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
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

/** `pattern` has one `*` as a whole path segment; answers what exists, highest version number first. */
export function expandVersions(pattern: string): string[] {
  const [before = '', after = ''] = pattern.split('*');
  let names: string[];
  try {
    names = readdirSync(before);
  } catch {
    return []; // nothing of that kind is installed
  }
  return names
    .filter((name) => /^\d/.test(name))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map((name) => before + name + after);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
