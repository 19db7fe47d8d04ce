/** The public halves of the keys whose signatures are currently valid. */
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { Database } from '../database.ts';

export async function loadLiveKeys(db: Database): Promise<ReturnType<typeof createLocalJWKSet>> {
  const rows = await db.signingKey.findMany({
    where: { revokedAt: null, OR: [{ retiresAt: null }, { retiresAt: { gt: new Date() } }] },
  });
  // Written only by us (keys/signing-keys.ts).
  return createLocalJWKSet({ keys: rows.map((row) => row.publicJwk) } as unknown as JSONWebKeySet);
}
