/**
 * `keys/encryption/rekey`: reseals what is stored under `SECRETS_KEY_OTHER` with `SECRETS_KEY` (docs/operations.md). Auth0 has the route for
 * the keys that it manages itself; ours are the operator's.
 */
import type { Seal } from '@gatepost/runtime/seal';
import { resealActionSecrets } from '../actions/secrets.ts';
import type { Pool } from '../database.ts';
import { resealFactors } from '../factors/reseal.ts';
import { resealSigningKeys } from '../keys/signing-keys.ts';
import { resealSecrets } from '../settings/inert.ts';
import { resealUpstreamTokens } from '../upstream/tokens.ts';
import { gone, operation } from './operation.ts';

/** JSON columns in which people may have stored secrets. */
const columns = [
  ['clients', 'inert'],
  ['resource_servers', 'inert'],
  ['connections', 'inert'],
  ['connections', 'options'],
  ['settings', 'inert'],
] as const;

export const rekey = operation({
  async run({ parts: { pool, seal: sealing, log } }) {
    // A secret that neither key opens stays as it is, without preventing the others from being resealed.
    const seal: Seal = {
      ...sealing,
      reseal(sealed, purpose) {
        try {
          return sealing.reseal(sealed, purpose);
        } catch {
          log.warn({ purpose }, 'neither SECRETS_KEY nor SECRETS_KEY_OTHER opens a stored secret');
          return undefined;
        }
      },
    };
    const keys = await resealSigningKeys(pool, seal);
    let values = 0;
    for (const [table, column] of columns) values += await resealColumn(pool, seal, table, column);
    values += await resealUpstreamTokens(pool, seal);
    values += await resealActionSecrets(pool, seal);
    const factors = await resealFactors(pool, seal);
    log.info({ 'signing.keys': keys, values, factors }, 'sealed under SECRETS_KEY what SECRETS_KEY_OTHER had sealed');
    return gone;
  },
});

/**
 * Reads again until nothing is left: a row that changed meanwhile is skipped, but may still hold a secret under the other key. @returns how
 * many rows changed
 */
async function resealColumn(pool: Pool, seal: Seal, table: string, column: string): Promise<number> {
  let changed = 0;
  for (;;) {
    const { rows } = await pool.query<{ place: string; before: string }>(
      `SELECT ctid::text AS place, ${column}::text AS before FROM ${table} WHERE ${column}::text LIKE '%$sealed%'`,
    );
    let isLeft = false;
    for (const { place, before } of rows) {
      const after = JSON.stringify(resealSecrets(JSON.parse(before), seal));
      if (after === JSON.stringify(JSON.parse(before))) continue;
      isLeft = true;
      // Compared as text: not every number that PostgreSQL keeps is one in JavaScript.
      const { rowCount } = await pool.query(
        `UPDATE ${table} SET ${column} = $2 WHERE ctid = $1::tid AND ${column}::text = $3`,
        [place, after, before],
      );
      changed += rowCount ?? 0;
    }
    if (!isLeft) return changed;
  }
}
