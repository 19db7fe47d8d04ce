/**
 * Whether a DPoP proof or client assertion comes for the first time. One command of Redis decides, so that of two that arrive at once one is
 * refused, in the words for replays; the library reads first and writes later.
 */
import type { Redis } from 'ioredis';
import type { Provider } from 'oidc-provider';
import { hashId } from '../../adapter/hashed.ts';
import { artefactKey } from '../../adapter/redis.ts';

export function detectReplays(provider: Provider, redis: Redis, prefix: string): void {
  provider.ReplayDetection.unique = makeUnique(redis, prefix);
}

/** A century: Redis takes no time without end, and a client may write whatever number it likes into `exp` (RFC 7519 section 2). */
const secondsMax = 3_153_600_000;

/** Resolves to true once for each id of an issuer, and to false until `exp` (epoch seconds). */
export function makeUnique(
  redis: Redis,
  prefix: string,
): (issuer: string, id: string, exp: number) => Promise<boolean> {
  return async (issuer, id, exp) => {
    // As the library names it; releases before this one keep the same key.
    const key = `${artefactKey(prefix, 'ReplayDetection', hashId(hashId(`${issuer}${id}`)))}:seen`;
    const seconds = Math.min(Math.max(1, Math.ceil(exp - Math.floor(Date.now() / 1_000))), secondsMax);
    return (await redis.set(key, '1', 'EX', seconds, 'NX')) !== null;
  };
}
