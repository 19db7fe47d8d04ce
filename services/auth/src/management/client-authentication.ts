/** How an application authenticates, and who may change that. */
import { isDeepStrictEqual } from 'node:util';
import { hashSecret, makeSecret } from '../clients/secret.ts';
import type { RegisteredClient } from '../clients/store.ts';
import type { Prisma } from '../database.ts';
import type { ClientUpdate } from './client-body.ts';
import { badBody, insufficientScope } from './problem.ts';

/**
 * Changing how a client authenticates would let the caller act as that client, so it takes the scope that protects `client_secret` at
 * Auth0, `update:client_keys`. The method counts too: without one, or with a fresh secret, anybody can be the client.
 */
export function checkMayChange(client: RegisteredClient, body: ClientUpdate, scopes: ReadonlySet<string>): void {
  const {
    client_secret,
    jwks,
    token_endpoint_auth_method: method,
    client_authentication_methods: methods,
    ...rest
  } = body;
  const ids = methods === null ? [] : methods?.private_key_jwt.credentials.map(({ id }) => id);
  const changesMethod = method !== undefined && method !== client.tokenEndpointAuthMethod;
  const changesKeys =
    client_secret !== undefined || jwks !== undefined || changesMethod || changesCredentials(client, ids);
  if (changesKeys && !scopes.has('update:client_keys')) throw insufficientScope(['update:client_keys']);
  const changesMore = Object.values(rest).some((value) => value !== undefined);
  if (changesMore && !scopes.has('update:clients')) throw insufficientScope(['update:clients']);
}

/** The live secrets of a client that authenticates by `method`, and the new one to show, if there is one. */
export function secretFor(
  method: string,
  given: string | undefined,
  live: string[],
): { secretHashes: string[]; secret?: string } {
  if (method === 'none') {
    if (given !== undefined) throw badBody('a client that does not authenticate has no client_secret');
    return { secretHashes: [] };
  }
  const needed = method === 'client_secret_post' || method === 'client_secret_basic';
  const secret = given ?? (needed && live.length === 0 ? makeSecret() : undefined);
  return secret === undefined ? { secretHashes: live } : { secretHashes: [hashSecret(secret)], secret };
}

/** Whether the set of active credentials changes. */
function changesCredentials({ credentials }: RegisteredClient, ids: string[] | undefined): boolean {
  return ids !== undefined && !isDeepStrictEqual(new Set(ids), new Set(credentials.map(({ id }) => id)));
}

export function attachCredentials(
  client: RegisteredClient,
  keys: { id: string }[] | undefined,
): Prisma.ClientUpdateInput {
  const ids = keys?.map(({ id }) => id);
  if (ids === undefined || !changesCredentials(client, ids)) return {};
  return {
    credentials: {
      updateMany: [
        { where: { id: { notIn: ids } }, data: { attached: false } },
        { where: { id: { in: ids } }, data: { attached: true } },
      ],
    },
  };
}
