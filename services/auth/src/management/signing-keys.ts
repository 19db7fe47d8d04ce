/** `keys/signing`: the signing keys; for each algorithm the current one, and at times its successor and predecessors. */
import { createPublicKey, type JsonWebKey, X509Certificate } from 'node:crypto';
import type { SigningKeyModel } from '../generated/models.ts';
import { revokeSigningKey, rotateSigningKeys } from '../keys/rotate.ts';
import { stateOf } from '../keys/signing-keys.ts';
import { created, ok, operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { ManagementProblem, missing } from './problem.ts';

export const listSigningKeys = operation({
  async run({ parts }) {
    const all = await loadAll(parts);
    return ok(all.map((key) => present(key, all)));
  },
});

export const rotateKeys = operation({
  async run({ parts }) {
    const rotated = await rotateSigningKeys(parts.pool, parts.seal);
    // Auth0 has keys of one algorithm and returns the new one; so we return ours of that algorithm.
    const kid = rotated.find(({ alg }) => alg === 'RS256')?.kid;
    const { key, all } = await load(parts, kid);
    return created({
      ...present(key, all),
      rotated: rotated.map((each) => ({ kid: each.kid, alg: each.alg })),
    });
  },
});

export const getSigningKey = operation({
  async run({ parts, params }) {
    const { key, all } = await load(parts, params.kid);
    return ok(present(key, all));
  },
});

export const revokeKey = operation({
  async run({ parts, params }) {
    const { key } = await load(parts, params.kid);
    if (!(await revokeSigningKey(parts.pool, key.kid)))
      throw new ManagementProblem(400, 'key_in_use', 'The current signing key cannot be revoked: rotate first');
    const after = await load(parts, key.kid);
    return ok(present(after.key, after.all));
  },
});

const loadAll = ({ db }: Parts) => db.signingKey.findMany({ orderBy: { createdAt: 'asc' } });

async function load(parts: Parts, kid = ''): Promise<{ key: SigningKeyModel; all: SigningKeyModel[] }> {
  const all = await loadAll(parts);
  const key = all.find((each) => each.kid === kid);
  if (!key) throw missing('signing_key', 'The signing key does not exist');
  return { key, all };
}

function live(all: SigningKeyModel[]): SigningKeyModel[] {
  return all.filter(({ revokedAt }) => revokedAt === null);
}

/** `fingerprint` and `thumbprint` are the certificate's SHA-1, as at Auth0: the latter is `x5t` in hexadecimal. */
function present(key: SigningKeyModel, all: SigningKeyModel[]): object {
  const state = key.revokedAt === null ? stateOf(key, live(all), new Date()) : 'previous';
  return {
    kid: key.kid,
    alg: key.alg,
    ...certificateOf(key),
    current: state === 'current',
    next: state === 'next',
    previous: state === 'previous',
    current_since: key.signsFrom.toISOString(),
    ...(key.retiresAt !== null && { current_until: key.retiresAt.toISOString() }),
    revoked: key.revokedAt !== null,
    ...(key.revokedAt !== null && { revoked_at: key.revokedAt.toISOString() }),
  };
}

/** A key that was revoked before keys had certificates is shown itself. */
function certificateOf({ certificate, publicJwk }: SigningKeyModel): object {
  if (certificate === null) {
    const publicKey = createPublicKey({ key: publicJwk as JsonWebKey, format: 'jwk' });
    return { cert: publicKey.export({ type: 'spki', format: 'pem' }) };
  }
  const { fingerprint } = new X509Certificate(certificate);
  return { cert: certificate, fingerprint, thumbprint: fingerprint.replaceAll(':', '') };
}
