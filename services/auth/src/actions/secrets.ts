/** An action's secrets: sealed together, given only to its process, and never shown again. */
import type { Seal } from '@gatepost/runtime/seal';
import type { Pool } from '../database.ts';

export type Secret = { name: string; value: string; updated_at: string };

const purpose = 'secrets of an action';

/** Null if there are none. */
export function sealActionSecrets(secrets: Secret[], seal: Seal): Uint8Array<ArrayBuffer> | null {
  return secrets.length > 0 ? new Uint8Array(seal.seal(JSON.stringify(secrets), purpose)) : null;
}

export function openActionSecrets(sealed: Uint8Array | null, seal: Seal): Secret[] {
  return sealed === null ? [] : (JSON.parse(seal.open(sealed, purpose)) as Secret[]);
}

/** Seals them under the current `SECRETS_KEY` (management/encryption-keys.ts). @returns how many were resealed */
export async function resealActionSecrets(pool: Pool, seal: Seal): Promise<number> {
  let resealed = 0;
  for (const table of ['actions', 'action_versions']) {
    const { rows } = await pool.query<{ id: string; secrets: Buffer }>(
      `SELECT id, secrets FROM ${table} WHERE secrets IS NOT NULL`,
    );
    for (const { id, secrets } of rows) {
      const bytes = seal.reseal(secrets, purpose);
      if (!bytes) continue;
      // One written meanwhile is already under the current key.
      const { rowCount } = await pool.query(`UPDATE ${table} SET secrets = $2 WHERE id = $1 AND secrets = $3`, [
        id,
        bytes,
        secrets,
      ]);
      resealed += rowCount ?? 0;
    }
  }
  return resealed;
}
