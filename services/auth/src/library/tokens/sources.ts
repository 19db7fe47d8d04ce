/**
 * A token made from other tokens (RFC 8693) is revoked with each of them, with their grants and with its client, along a whole
 * chain of exchanges. Its own grant records its sources and is found only while all of them are alive. So code that looks up a
 * token’s grant (introspection, userinfo, the next exchange) needs no knowledge of this.
 */
import type { Redis } from 'ioredis';
import type { Grant, Provider } from 'oidc-provider';
import { hashId } from '../../adapter/hashed.ts';
import { artefactKey } from '../../adapter/redis.ts';
import { keepProperty } from '../seam.ts';
import { structuredToken } from './spelling.ts';
import type { RevokedTokens } from './structured.ts';

/** A source token. For an opaque one, whose id is itself the secret, only the hash is kept. */
export type Source = {
  model: 'AccessToken' | 'ClientCredentials';
  id: string;
  isJwt: boolean;
  clientId: string;
  grantId?: string;
};

type Sourced = Grant & { sources?: Source[]; isExpired: boolean };
/** The library's model, whose `find` returns our form of a grant. */
type GrantModel = { find(id: string, options?: object): Promise<Sourced | undefined> };

/** Makes the provider’s grants end with their sources. */
export function endWithSources(
  provider: Provider,
  stores: { redis: Redis; prefix: string; revoked: Pick<RevokedTokens, 'has'> },
): void {
  const { redis, prefix, revoked } = stores;
  keepProperty(provider.Grant, 'sources');
  // With the property just added, and what the typings leave out.
  const model = provider.Grant as unknown as GrantModel;
  const { find } = model;
  model.find = async function (id, options) {
    const grant = await find.call(this, id, options);
    if (!grant?.sources) return grant;
    const alive = await Promise.all(grant.sources.map(isAlive));
    return alive.every(Boolean) ? grant : undefined;
  };

  async function isAlive({ model: name, id, isJwt, clientId, grantId }: Source): Promise<boolean> {
    const stored = isJwt ? !(await revoked.has(id)) : (await redis.exists(artefactKey(prefix, name, id))) === 1;
    if (!stored || !(await provider.Client.find(clientId))) return false;
    if (grantId === undefined) return true;
    // The sources of that grant are in our own list.
    const grant = await find.call(model, grantId, { ignoreExpiration: true });
    return grant !== undefined && !grant.isExpired;
  }
}

/** The token itself and all its sources. */
export function sourcesOf(
  token: { kind: string; jti: string; clientId: string; grantId?: string },
  value: string,
  grant: Grant | undefined,
): Source[] {
  const isJwt = structuredToken(value) !== undefined;
  const own: Source = {
    model: token.kind as Source['model'],
    id: isJwt ? token.jti : hashId(value),
    isJwt,
    clientId: token.clientId,
    ...(token.grantId !== undefined && { grantId: token.grantId }),
  };
  return [own, ...((grant as Sourced | undefined)?.sources ?? [])];
}
