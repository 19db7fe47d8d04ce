/** Passwords that everybody tries first (data/README.md says which, and whose list it is). */
import { readFileSync } from 'node:fs';

// One string, searched linearly: a set takes ten times the memory, and a search takes microseconds.
const common = `\n${readFileSync(new URL('../../data/common-passwords.txt', import.meta.url), 'latin1')}`;

/** Ignores case, character width and surrounding spaces. */
export function isCommonPassword(password: string): boolean {
  return common.includes(`\n${password.normalize('NFKC').trim().toLowerCase()}\n`);
}
