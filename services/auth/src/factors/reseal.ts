/** Seals the keys of authenticator apps under the current `SECRETS_KEY` (management/encryption-keys.ts). @returns how many were resealed */
import type { Seal } from '@gatepost/runtime/seal';
import type { Pool } from '../database.ts';
import { totpPurpose } from './store.ts';

export async function resealFactors(pool: Pool, seal: Seal): Promise<number> {
  const { rows } = await pool.query<{ id: string; sealed: Buffer }>(
    'SELECT id, sealed FROM authentication_methods WHERE sealed IS NOT NULL',
  );
  let resealed = 0;
  for (const { id, sealed } of rows) {
    const bytes = seal.reseal(sealed, totpPurpose(id));
    if (!bytes) continue;
    const { rowCount } = await pool.query(
      'UPDATE authentication_methods SET sealed = $2 WHERE id = $1 AND sealed = $3',
      [id, bytes, sealed],
    );
    resealed += rowCount ?? 0;
  }
  return resealed;
}
