/**
 * Rotates signing keys without interruption: a new key is published before it signs, an old one until its last token has expired, and the
 * last session that may be ended with an ID token of it (RP-Initiated Logout, section 2).
 */
import type { Seal } from '@gatepost/runtime/seal';
import { inTransaction } from '@gatepost/runtime/transaction';
import type { PoolClient } from 'pg';
import { sessionLifetime } from '../clients/lifetimes.ts';
import type { Pool } from '../database.ts';
import type { SigningKeyModel } from '../generated/models.ts';
import { lockSigningKeys, makeSigningKey, type SigningAlg, signingAlgs, stateOf } from './signing-keys.ts';

/** How long a key is published before it first signs: longer than APIs cache a JWKS. */
const publishAheadSeconds = 15 * 60;

export type Rotated = { kid: string; alg: SigningAlg; signsFrom: Date };

/**
 * For each algorithm, makes the next key; if one is already waiting, it starts signing now instead, since it is already published. The
 * keys before it retire when no token that they may have signed is of use any more. Only one process rotates at a time.
 *
 * @param before leaves an algorithm alone that has a key from later on: of several processes that find the keys too old, one rotates
 */
export function rotateSigningKeys(
  pool: Pool,
  seal: Seal,
  algs: readonly SigningAlg[] = signingAlgs,
  before?: Date,
): Promise<Rotated[]> {
  return inTransaction(pool, async (client) => {
    await lockSigningKeys(client);
    const rotated: Rotated[] = [];
    for (const alg of algs) {
      if (before && (await hasKeySince(client, alg, before))) continue;
      const { rows } = await client.query<{ kid: string; signs_from: Date }>(
        `UPDATE signing_keys SET signs_from = now() WHERE alg = $1 AND signs_from > now() AND revoked_at IS NULL
         RETURNING kid, signs_from`,
        [alg],
      );
      let next = rows[0];
      if (next === undefined) {
        const key = await makeSigningKey(alg, seal);
        const inserted = await client.query<{ kid: string; signs_from: Date }>(
          `INSERT INTO signing_keys (kid, alg, public_jwk, sealed, certificate, signs_from)
           VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6)) RETURNING kid, signs_from`,
          [key.kid, alg, JSON.stringify(key.publicJwk), key.sealed, key.certificate, publishAheadSeconds],
        );
        next = inserted.rows[0]!;
      }
      await client.query(
        `UPDATE signing_keys SET retires_at = $3::timestamptz + make_interval(secs =>
           greatest($4, (SELECT coalesce(max(token_lifetime), 0) FROM resource_servers)) + 60)
         WHERE alg = $1 AND kid <> $2 AND retires_at IS NULL`,
        [alg, next.kid, next.signs_from, sessionLifetime.absolute],
      );
      rotated.push({ kid: next.kid, alg, signsFrom: next.signs_from });
    }
    return rotated;
  });
}

/** Asked under the lock, so that what another process has just made counts. */
async function hasKeySince(client: PoolClient, alg: SigningAlg, since: Date): Promise<boolean> {
  const { rowCount } = await client.query(
    'SELECT FROM signing_keys WHERE alg = $1 AND signs_from >= $2 AND revoked_at IS NULL AND retires_at IS NULL LIMIT 1',
    [alg, since],
  );
  return rowCount === 1;
}

/**
 * Removes a key from the JWKS at once, so that every token signed with it is refused. Without its successor, the current key stays.
 * @returns false for the current key, which cannot be revoked
 */
export function revokeSigningKey(pool: Pool, kid: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    await lockSigningKeys(client);
    const { rows: all } = await client.query<Pick<SigningKeyModel, 'kid' | 'alg' | 'signsFrom'>>(
      'SELECT kid, alg, signs_from AS "signsFrom" FROM signing_keys WHERE revoked_at IS NULL',
    );
    const key = all.find((each) => each.kid === kid);
    if (!key) return true; // revoked before
    const now = new Date();
    const state = stateOf(key, all, now);
    if (state === 'current') return false;
    await client.query(
      'UPDATE signing_keys SET revoked_at = now(), retires_at = coalesce(retires_at, now()) WHERE kid = $1',
      [kid],
    );
    const current = all.find((each) => each.alg === key.alg && stateOf(each, all, now) === 'current');
    if (state === 'next')
      await client.query('UPDATE signing_keys SET retires_at = NULL WHERE kid = $1', [current?.kid]);
    return true;
  });
}
