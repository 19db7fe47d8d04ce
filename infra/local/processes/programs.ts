import { delimiter } from 'node:path';
import which from 'which';

/** The first of `names` that is an executable file: absolute paths, or names looked up in PATH and the system folders. */
export function findProgram(names: string[], path = process.env.PATH ?? ''): string | undefined {
  // Including administrators' programs, often not in a user's PATH.
  const folders = [path, '/usr/local/sbin', '/usr/sbin', '/sbin'].join(delimiter);
  const found = names.map((name) => which.sync(name, { path: folders, nothrow: true }));
  return found.find((program) => program !== null) ?? undefined;
}
