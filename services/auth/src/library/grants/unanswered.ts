/**
 * A code whose exchange fails because a store is away, after it was used up, may be used again: nobody has got anything for it. Such a
 * request, and only the one that has used it up, gives the code back. A second use that came meanwhile has revoked the code, which stays so.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Provider } from 'oidc-provider';
import { hashId } from '../../adapter/hashed.ts';
import { artefactKey } from '../../adapter/redis.ts';
import { defineScript } from '../../redis-script.ts';
import { TemporarilyUnavailable } from '../../stores-away.ts';
import { wrapGrant } from '../seam.ts';

// ARGV: a name for this return. The command may be sent again when the connection breaks, and must not return what was used since.
const giveBack = `
if redis.call('HEXISTS', KEYS[1], 'consumed') == 0 or redis.call('HSETNX', KEYS[1], ARGV[1], '1') == 0 then return 0 end
return redis.call('HDEL', KEYS[1], 'consumed')`;

/** Called before the grants are registered, so that it knows whether the library itself has failed. */
export function giveBackUnanswered(provider: Provider, redis: Redis, prefix: string): void {
  const codeGiveBack = defineScript<number>(redis, 'codeGiveBack', giveBack, 1);
  for (const grantType of ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'])
    wrapGrant(provider, grantType, [], async (ctx, handle) => {
      try {
        await handle();
      } catch (error) {
        // The library mentions a code here once it has used it up.
        const { AuthorizationCode: code, DeviceCode: deviceCode } = ctx.oidc.entities;
        const key = code
          ? artefactKey(prefix, 'AuthorizationCode', hashId(code.jti))
          : deviceCode && artefactKey(prefix, 'DeviceCode', deviceCode.jti);
        if (key && error instanceof TemporarilyUnavailable)
          await codeGiveBack(key, `returned ${randomUUID()}`).catch(() => {}); // Redis is away as well
        throw error;
      }
    });
}
