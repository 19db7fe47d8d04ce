/** `keys/signing`: the keys that sign tokens, of each algorithm one that signs, and at times its successor and predecessors. */
import { createHash, createPublicKey, type JsonWebKey } from 'node:crypto';
import type { Seal } from '@gatepost/runtime/seal';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { Database, Pool } from '../database.ts';
import type { SigningKeyModel } from '../generated/models.ts';
import { revokeSigningKey, rotateSigningKeys } from '../keys/rotate.ts';
import { stateOf } from '../keys/signing-keys.ts';
import { ManagementProblem, missing } from './problem.ts';
import { created, ok, type Route, route } from './route.ts';

export function makeSigningKeyRoutes({ db, pool, seal }: { db: Database; pool: Pool; seal: Seal }): Route[] {
  const loadAll = () => db.signingKey.findMany({ orderBy: { createdAt: 'asc' } });
  const load = async (kid = '') => {
    const all = await loadAll();
    const key = all.find((each) => each.kid === kid);
    if (!key) throw missing('signing_key', 'The signing key does not exist');
    return { key, all };
  };

  return [
    route({
      method: 'get',
      path: '/keys/signing',
      scopes: ['read:signing_keys'],
      async handle() {
        const all = await loadAll();
        return ok(await Promise.all(all.map((key) => present(key, all))));
      },
    }),
    route({
      method: 'post',
      path: '/keys/signing/rotate',
      scopes: ['update:signing_keys'],
      async handle() {
        const rotated = await rotateSigningKeys(pool, seal);
        // Auth0 has keys of one algorithm and answers the new one; ours of that algorithm comes first.
        const kid = rotated.find(({ alg }) => alg === 'RS256')?.kid;
        const { key, all } = await load(kid);
        return created({
          ...(await present(key, all)),
          rotated: rotated.map((each) => ({ kid: each.kid, alg: each.alg })),
        });
      },
    }),
    route({
      method: 'get',
      path: '/keys/signing/:kid',
      scopes: ['read:signing_keys'],
      async handle({ params }) {
        const { key, all } = await load(params.kid);
        return ok(await present(key, all));
      },
    }),
    route({
      method: 'put',
      path: '/keys/signing/:kid/revoke',
      scopes: ['update:signing_keys'],
      async handle({ params }) {
        const { key, all } = await load(params.kid);
        if (key.revokedAt === null && stateOf(key, live(all), new Date()) === 'current')
          throw new ManagementProblem(400, 'key_in_use', 'The current signing key cannot be revoked: rotate first');
        if (key.revokedAt === null) await revokeSigningKey(pool, key.kid);
        const after = await load(key.kid);
        return ok(await present(after.key, after.all));
      },
    }),
  ];
}

function live(all: SigningKeyModel[]): SigningKeyModel[] {
  return all.filter(({ revokedAt }) => revokedAt === null);
}

/** Auth0 shows a certificate; our keys have none, and `cert` is the public key itself, in PEM. */
async function present(key: SigningKeyModel, all: SigningKeyModel[]): Promise<object> {
  const now = new Date();
  const jwk = key.publicJwk as JWK;
  const publicKey = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
  const state = key.revokedAt === null ? stateOf(key, live(all), now) : 'previous';
  const digest = createHash('sha256').update(publicKey.export({ type: 'spki', format: 'der' }));
  return {
    kid: key.kid,
    alg: key.alg,
    cert: publicKey.export({ type: 'spki', format: 'pem' }),
    fingerprint: digest.digest('hex').toUpperCase().match(/../g)?.join(':'),
    thumbprint: await calculateJwkThumbprint(jwk),
    current: state === 'current',
    next: state === 'next',
    previous: state === 'previous',
    current_since: key.signsFrom.toISOString(),
    ...(key.retiresAt !== null && { current_until: key.retiresAt.toISOString() }),
    revoked: key.revokedAt !== null,
    ...(key.revokedAt !== null && { revoked_at: key.revokedAt.toISOString() }),
  };
}
