/** Passwords that everybody tries first (data/README.md says which, and whose list it is). */
import { readFileSync } from 'node:fs';

// One text, searched through: a set of as many strings takes ten times the memory, and a search takes microseconds.
const common = `\n${readFileSync(new URL('../../data/common-passwords.txt', import.meta.url), 'latin1')}`;

/** Whatever its case, its width, and the spaces around it. */
export function isCommonPassword(password: string): boolean {
  return common.includes(`\n${password.normalize('NFKC').trim().toLowerCase()}\n`);
}
