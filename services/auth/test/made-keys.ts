/**
 * Signing keys that are made once a process (infra/tests/runtime.mjs keeps this module for all its files): a gate that starts on a new database
 * would make them, which takes most of its start. Whole systems make theirs themselves.
 */
import { randomBytes } from 'node:crypto';
import { makeSeal } from '@gatepost/runtime/seal';
import pg from 'pg';
import { makeSigningKey, signingAlgs } from '../src/keys/signing-keys.ts';

const ourKey = randomBytes(32);
const made = Promise.all(signingAlgs.map((alg) => makeSigningKey(alg, makeSeal(ourKey))));

/** Puts them into a new database as if its first gate had made them. @param secretsKey the SECRETS_KEY of its gates */
export async function insertSigningKeys(databaseUrl: string, secretsKey: Buffer): Promise<void> {
  const keys = await made;
  const { reseal } = makeSeal(secretsKey, ourKey);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (const { kid, alg, publicJwk, sealed, certificate } of keys)
      await client.query(
        'INSERT INTO auth.signing_keys (kid, alg, public_jwk, sealed, certificate) VALUES ($1, $2, $3, $4, $5)',
        [kid, alg, JSON.stringify(publicJwk), reseal(sealed, `signing key ${kid}`), certificate],
      );
  } finally {
    await client.end();
  }
}
