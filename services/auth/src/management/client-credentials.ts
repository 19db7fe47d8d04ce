/**
 * `clients/{id}/credentials`: public keys that an application signs its assertions with (private_key_jwt), each with a name and
 * perhaps an expiry. A key counts once the application names it in `client_authentication_methods`.
 */
import { z } from 'zod';
import { Prisma } from '../database.ts';
import type { ClientCredentialModel } from '../generated/models.ts';
import { load as loadClient } from './clients.ts';
import { credentialBody, dateOf, expiresAt, makeCredential } from './credential.ts';
import { created, gone, ok, operation } from './operation.ts';
import type { Parts } from './parts.ts';
import { conflict, ManagementProblem, missing } from './problem.ts';
import { ignoringReadOnly } from './read-only.ts';

export const listCredentials = operation({
  async run({ parts, params }) {
    const { clientId } = await loadClient(parts, params.id);
    const rows = await parts.db.clientCredential.findMany({ where: { clientId }, orderBy: { createdAt: 'asc' } });
    return ok(rows.map(present));
  },
});

export const createCredential = operation({
  body: ignoringReadOnly(credentialBody, []),
  async run({ parts, params, body }) {
    const { clientId } = await loadClient(parts, params.id);
    const data = { ...(await makeCredential(body)), clientId };
    const credential = await parts.db.clientCredential.create({ data }).catch((error: unknown) => {
      if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
        throw conflict('credential_conflict', 'The client already has a credential with this key or kid');
      throw error;
    });
    return created(present(credential));
  },
});

export const getCredential = operation({
  run: async ({ parts, params }) => ok(present(await load(parts, params))),
});

/** As at Auth0, only the expiry can be changed. */
export const updateCredential = operation({
  body: z.strictObject({ expires_at: expiresAt }).partial(),
  async run({ parts, params, body }) {
    const { id } = await load(parts, params);
    const data = body.expires_at === undefined ? {} : { expiresAt: dateOf(body.expires_at) };
    const credential = await parts.db.clientCredential.update({ where: { id }, data });
    parts.clients.clear();
    return ok(present(credential));
  },
});

export const deleteCredential = operation({
  async run({ parts, params }) {
    const { id } = await load(parts, params);
    await parts.db.clientCredential.deleteMany({ where: { id, attached: false } });
    // Perhaps only just attached, by a change that the deletion has waited for.
    if (await parts.db.clientCredential.findUnique({ where: { id } }))
      throw new ManagementProblem(409, 'credential_in_use', 'The client authenticates with this credential');
    return gone;
  },
});

async function load({ db }: Parts, { id: clientId = '', credential_id: id = '' }: Record<string, string>) {
  const credential = await db.clientCredential.findFirst({ where: { id, clientId } });
  if (!credential) throw missing('credential', 'The credential does not exist');
  return credential;
}

function present(credential: ClientCredentialModel): object {
  return {
    id: credential.id,
    name: credential.name,
    credential_type: 'public_key',
    kid: credential.kid,
    alg: credential.alg,
    ...(credential.expiresAt !== null && { expires_at: credential.expiresAt.toISOString() }),
    created_at: credential.createdAt.toISOString(),
    updated_at: credential.updatedAt.toISOString(),
  };
}
