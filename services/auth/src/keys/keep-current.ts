/** Keeps the providers’ signing keys in step with the database, and rotates old ones. */
import { describeError, type Log } from '@gatepost/runtime/log';
import type { Seal } from '@gatepost/runtime/seal';
import type { Provider } from 'oidc-provider';
import type { Changes } from '../changes.ts';
import type { Database, Pool } from '../database.ts';
import { replaceSigningKeys } from '../library/seam.ts';
import { rotateSigningKeys } from './rotate.ts';
import { ensureSigningKeys, loadSigningKeys, type SigningAlg } from './signing-keys.ts';

/** A published key starts signing without any announcement, so the keys are checked this often. */
const checkMs = 30_000;

export function keepKeysCurrent(parts: {
  providers: Provider[];
  pool: Pool;
  db: Database;
  seal: Seal;
  changes: Changes;
  rotateAfterDays: number;
  log: Log;
}): AsyncDisposable {
  const { providers, pool, db, seal, log } = parts;
  let closed = false;
  let working = Promise.resolve();
  let shown = '';

  const refresh = async () => {
    const keys = await loadSigningKeys(db, seal);
    const order = keys.map((key) => `${key.kid} ${key.x5t}`).join();
    if (closed || order === shown || keys.length === 0) return;
    for (const provider of providers) replaceSigningKeys(provider, keys);
    if (shown !== '') log.info({ kids: keys.map((key) => key.kid) }, 'signing keys changed');
    shown = order;
  };
  const rotateOld = async () => {
    const before = new Date(Date.now() - parts.rotateAfterDays * 86_400_000);
    const keys = await db.signingKey.findMany({ where: { revokedAt: null, retiresAt: null } });
    if (keys.some((key) => key.certificate === null)) await ensureSigningKeys(pool, seal);
    const old = keys.filter((key) => key.signsFrom < before).map((key) => key.alg as SigningAlg);
    if (old.length === 0) return;
    const made = await rotateSigningKeys(pool, seal, [...new Set(old)], before);
    if (made.length > 0) log.info({ kids: made.map((key) => key.kid) }, 'made new signing keys: the old ones are due');
  };
  const work = (task: () => Promise<void>) => {
    working = working
      .then(() => (closed ? undefined : task()))
      .catch((error) => log.warn({ error: describeError(error) }, 'could not check or rotate the signing keys'));
  };
  parts.changes.subscribe(['signing_keys'], () => work(refresh));
  const timer = setInterval(() => {
    work(rotateOld);
    work(refresh);
  }, checkMs);
  work(rotateOld);
  work(refresh);
  return {
    async [Symbol.asyncDispose]() {
      closed = true;
      clearInterval(timer);
      await working;
    },
  };
}
