/** oidc-provider's own grant, with the polling rules of RFC 8628 section 3.5 that it leaves out. */
import type { Redis } from 'ioredis';
import { errors, type Provider } from 'oidc-provider';
import { hashId } from '../../adapter/hashed.ts';
import { changeAnswers } from '../middleware.ts';
import { wrapGrant } from '../seam.ts';

const intervalSeconds = 5;
/** Tolerates a client clock that runs slightly fast. */
const toleranceMs = 500;

export function registerDeviceCode(provider: Provider, redis: Redis, prefix: string): void {
  wrapGrant(provider, 'urn:ietf:params:oauth:grant-type:device_code', ['audience', 'resource'], async (ctx, handle) => {
    try {
      await handle();
    } catch (error) {
      // Only polling is limited: an available answer is given at once.
      if (!(error instanceof errors.AuthorizationPending)) throw error;
      const key = `${prefix}device-poll:${hashId(String((ctx.oidc.params as { device_code?: string }).device_code))}`;
      const first = await redis.set(key, '1', 'PX', intervalSeconds * 1000 - toleranceMs, 'NX');
      throw first === null ? new errors.SlowDown('polling faster than the interval') : error;
    }
  });
  changeAnswers(provider, 'device_authorization', (ctx) => {
    const body = ctx.body as { device_code?: string; interval?: number } | undefined;
    if (body?.device_code) body.interval = intervalSeconds;
  });
}
