/** Servers that refuse to run as root: PostgreSQL and PgBouncer. */
import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';

export type Account = { uid: number; gid: number };

/** The account that such a server runs under when we are root: the one of Debian's packages, else `nobody`. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody'])
    try {
      const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' })));
      return { uid: uid!, gid: gid! };
    } catch {} // there is none
  throw new Error('there is no user `postgres` or `nobody`');
}

/** A folder of its own, in a place that the account may enter, whatever TMPDIR says. */
export function serverFolder(prefix: string, account: Account | undefined): string {
  const folder = mkdtempSync(join('/tmp', prefix));
  if (account) chownSync(folder, account.uid, account.gid);
  return folder;
}
