/**
 * Signing keys: made at the first start, stored sealed in PostgreSQL, published before they sign and after they have stopped.
 *
 *   next ──signs_from passes──► current ──a newer one's signs_from passes──► retiring ──retires_at passes──► gone
 *
 * The state of a key follows from its times alone, so every process sees the same without being told.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import type { Seal } from '@gatepost/runtime/seal';
import { inTransaction } from '@gatepost/runtime/transaction';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { PoolClient } from 'pg';
import type { Database, Pool } from '../database.ts';
import type { SigningKeyModel } from '../generated/models.ts';
import { makeCertificate } from './certificate.ts';

/** One key for each: RS256 signs ID tokens and, unless an API says otherwise, access tokens. */
export const signingAlgs = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type SigningAlg = (typeof signingAlgs)[number];

export type KeyState = 'next' | 'current' | 'previous';
export type PrivateJwk = JWK & { kid: string; alg: string; use: 'sig' };

const purpose = 'signing key';

/** Makes a key for each algorithm that has none, and a certificate for each key. If several processes start at once, only one does it. */
export function ensureSigningKeys(pool: Pool, seal: Seal): Promise<void> {
  return inTransaction(pool, async (client) => {
    await lockSigningKeys(client);
    const { rows } = await client.query<{ alg: string }>(
      'SELECT DISTINCT alg FROM signing_keys WHERE revoked_at IS NULL AND retires_at IS NULL',
    );
    const present = new Set(rows.map((row) => row.alg));
    for (const alg of signingAlgs) {
      if (present.has(alg)) continue;
      const key = await makeSigningKey(alg, seal);
      await client.query(
        'INSERT INTO signing_keys (kid, alg, public_jwk, sealed, certificate) VALUES ($1, $2, $3, $4, $5)',
        [key.kid, key.alg, JSON.stringify(key.publicJwk), key.sealed, key.certificate],
      );
    }
    // Keys made by a release without certificates have none yet.
    const { rows: bare } = await client.query<{ kid: string; sealed: Buffer }>(
      'SELECT kid, sealed FROM signing_keys WHERE certificate IS NULL AND revoked_at IS NULL',
    );
    for (const { kid, sealed } of bare) {
      const certificate = await makeCertificate(privateJwkOf(kid, sealed, seal));
      await client.query('UPDATE signing_keys SET certificate = $2 WHERE kid = $1', [kid, certificate]);
    }
  });
}

/** Until the transaction ends, nobody else makes, rotates or revokes keys. */
export async function lockSigningKeys(client: PoolClient): Promise<void> {
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended('gatepost signing keys', 0))");
}

/**
 * Called at startup: with a different key the gate could sign nothing.
 * @throws Misconfigured when the newest signing key does not open.
 */
export async function checkSecretsKey(pool: Pool, seal: Seal): Promise<void> {
  const { rows } = await pool.query<{ kid: string; sealed: Buffer }>(
    'SELECT kid, sealed FROM signing_keys WHERE revoked_at IS NULL ORDER BY created_at DESC LIMIT 1',
  );
  try {
    for (const { kid, sealed } of rows) privateJwkOf(kid, sealed, seal);
  } catch {
    throw new Misconfigured('could not start', [
      `SECRETS_KEY is not the key that the signing keys in this database are sealed under (${rows[0]?.kid})`,
    ]);
  }
}

/** Reseals what the other key has sealed. @returns how many */
export async function resealSigningKeys(pool: Pool, seal: Seal): Promise<number> {
  const { rows } = await pool.query<{ kid: string; sealed: Buffer }>('SELECT kid, sealed FROM signing_keys');
  let resealed = 0;
  for (const { kid, sealed } of rows) {
    const bytes = seal.reseal(sealed, `${purpose} ${kid}`);
    if (!bytes) continue;
    await pool.query('UPDATE signing_keys SET sealed = $2 WHERE kid = $1', [kid, bytes]);
    resealed += 1;
  }
  return resealed;
}

/** A new key pair; the kid is its RFC 7638 thumbprint with the algorithm, so RS256 and PS256 never share one. */
export async function makeSigningKey(
  alg: SigningAlg,
  seal: Seal,
): Promise<{ kid: string; alg: SigningAlg; publicJwk: JWK; sealed: Uint8Array<ArrayBuffer>; certificate: string }> {
  const { publicKey, privateKey } = await generateKeyPair(alg, {
    extractable: true,
    modulusLength: 2048,
    ...(alg === 'EdDSA' ? { crv: 'Ed25519' } : {}),
  });
  const publicPart = await exportJWK(publicKey);
  const kid = createHash('sha256')
    .update(JSON.stringify([alg, publicPart]))
    .digest('base64url')
    .slice(0, 22);
  const header = { kid, alg, use: 'sig' } as const;
  const privateJwk = { ...(await exportJWK(privateKey)), ...header };
  return {
    kid,
    alg,
    publicJwk: { ...publicPart, ...header },
    sealed: new Uint8Array(seal.seal(JSON.stringify(privateJwk), `${purpose} ${kid}`)),
    certificate: await makeCertificate(privateJwk),
  };
}

function privateJwkOf(kid: string, sealed: Uint8Array, seal: Seal): PrivateJwk {
  return JSON.parse(seal.open(sealed, `${purpose} ${kid}`)) as PrivateJwk;
}

/** The keys published at `now`, in oidc-provider’s form: the one that signs comes first for its algorithm. */
export async function loadSigningKeys(db: Database, seal: Seal, now = new Date()): Promise<PrivateJwk[]> {
  const rows = await db.signingKey.findMany({
    where: { revokedAt: null, OR: [{ retiresAt: null }, { retiresAt: { gt: now } }] },
    orderBy: { createdAt: 'asc' },
  });
  const rank: Record<KeyState, number> = { current: 0, next: 1, previous: 2 };
  return rows
    .map((row) => ({ row, state: stateOf(row, rows, now) }))
    .sort((a, b) => rank[a.state] - rank[b.state])
    .map(({ row }) => ({ ...privateJwkOf(row.kid, row.sealed, seal), ...certificateParts(row.certificate) }));
}

/** RFC 7517 sections 4.7 and 4.8: Auth0's clients look for both. */
function certificateParts(certificate: string | null): Pick<JWK, 'x5c' | 'x5t'> {
  if (certificate === null) return {};
  const { raw } = new X509Certificate(certificate);
  return { x5c: [raw.toString('base64')], x5t: createHash('sha1').update(raw).digest('base64url') };
}

/** @param all every key that is neither revoked nor retired */
export function stateOf(
  key: Pick<SigningKeyModel, 'kid' | 'alg' | 'signsFrom'>,
  all: Pick<SigningKeyModel, 'kid' | 'alg' | 'signsFrom'>[],
  now: Date,
): KeyState {
  if (key.signsFrom > now) return 'next';
  const current = all
    .filter((other) => other.alg === key.alg && other.signsFrom <= now)
    .sort((a, b) => b.signsFrom.getTime() - a.signsFrom.getTime())[0];
  return current?.kid === key.kid ? 'current' : 'previous';
}
