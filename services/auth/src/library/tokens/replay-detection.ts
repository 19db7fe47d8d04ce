/**
 * Whether a DPoP proof or client assertion is seen for the first time. One Redis command decides, so that of two simultaneous uses
 * one is refused, with the error for replays; the library reads first and writes later.
 */
import type { Redis } from 'ioredis';
import Provider from 'oidc-provider';
import { hashId } from '../../adapter/hashed.ts';
import { artefactKey } from '../../adapter/redis.ts';
import { hour } from '../../clients/lifetimes.ts';

export function detectReplays(provider: Provider, redis: Redis, prefix: string): void {
  const unique = makeUnique(redis, prefix);
  provider.ReplayDetection.unique = (issuer, id, exp) => {
    // The library forgets a proof after five minutes. One from a clock five minutes ahead stays valid for five more (RFC 9449 section 11.1).
    const isProof = Provider.ctx?.get('dpop') !== '';
    return unique(issuer, id, isProof ? Math.max(exp, Date.now() / 1_000 + 2 * proofWindowSeconds) : exp);
  };
}

/** How far `iat` of a DPoP proof may be from now, either way; the library's value. */
const proofWindowSeconds = 300;
/** Nothing checked here lives longer (clients/assertion.ts). */
const secondsMax = 2 * hour;

/** Resolves to true once for each id of an issuer, and to false until `exp` (epoch seconds). */
export function makeUnique(
  redis: Redis,
  prefix: string,
): (issuer: string, id: string, exp: number) => Promise<boolean> {
  return async (issuer, id, exp) => {
    // The library's name; earlier releases use the same key.
    const key = `${artefactKey(prefix, 'ReplayDetection', hashId(hashId(`${issuer}${id}`)))}:seen`;
    const seconds = Math.min(Math.max(1, Math.ceil(exp - Math.floor(Date.now() / 1_000))), secondsMax);
    return (await redis.set(key, '1', 'EX', seconds, 'NX')) !== null;
  };
}
