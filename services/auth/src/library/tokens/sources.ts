/**
 * A token that was made from other tokens (RFC 8693) dies with them: with each one itself, with the grant it hangs on and with
 * its client; so along a whole chain of exchanges. Its own grant keeps what it was made from, and is found for as long as all of that
 * is alive. Whatever asks for the grant of a token, introspection, userinfo and the next exchange, needs to know nothing of it.
 */
import type { Redis } from 'ioredis';
import type { Grant, Provider } from 'oidc-provider';
import { hashId } from '../../adapter/hashed.ts';
import { artefactKey } from '../../adapter/redis.ts';
import { keepProperty } from '../seam.ts';
import { structuredToken } from './spelling.ts';
import type { RevokedTokens } from './structured.ts';

/** A token that another was made from. Of an opaque one, whose id is the secret itself, the hash is kept. */
export type Source = {
  model: 'AccessToken' | 'ClientCredentials';
  id: string;
  isJwt: boolean;
  clientId: string;
  grantId?: string;
};

type Sourced = Grant & { sources?: Source[]; isExpired: boolean };
type GrantModel = { find(id: string, options?: object): Promise<Sourced | undefined> };

/** Teaches the provider's grants to end with what they were made from. */
export function endWithSources(
  provider: Provider,
  stores: { redis: Redis; prefix: string; revoked: Pick<RevokedTokens, 'has'> },
): void {
  const { redis, prefix, revoked } = stores;
  keepProperty(provider.Grant, 'sources');
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
    // What that grant was made from stands in our own list.
    const grant = await find.call(model, grantId, { ignoreExpiration: true });
    return grant !== undefined && !grant.isExpired;
  }
}

/** The token itself, and all that it was made from. */
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
