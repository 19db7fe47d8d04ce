/**
 * What is used a second time ends all that hangs on its grant (RFC 6749 section 4.1.2, RFC 9700 sections 2.1.1 and 4.14.2). The library
 * does so when it finds a code or refresh token used; of many that come at once it finds none used, and all but one lose the race
 * to use it: they were second as well. The grant itself goes, and whatever asks for a token's grant finds none: so it does not
 * matter that the winner may store its tokens later than the losers revoke.
 */
import type { Provider } from 'oidc-provider';
import { AlreadyConsumed } from '../../adapter/consumed.ts';
import { aroundGrant, revokeGrant } from '../seam.ts';

const singleUse = {
  authorization_code: { model: 'AuthorizationCode', parameter: 'code' },
  refresh_token: { model: 'RefreshToken', parameter: 'refresh_token' },
  'urn:ietf:params:oauth:grant-type:device_code': { model: 'DeviceCode', parameter: 'device_code' },
} as const;

type Model = { find(value: string, options: object): Promise<{ grantId?: string } | undefined> };

/** After the grants are registered: this stands around all that they do. */
export function revokeOnReplay(provider: Provider): void {
  for (const [grantType, { model, parameter }] of Object.entries(singleUse))
    aroundGrant(provider, grantType, [], async (ctx, handle) => {
      try {
        await handle();
      } catch (error) {
        if (error instanceof AlreadyConsumed) {
          const value = (ctx.oidc.params as Record<string, string>)[parameter]!;
          const used = await (provider[model] as unknown as Model).find(value, { ignoreExpiration: true });
          // What is no longer there was revoked by another who came too late, together with its grant.
          if (used?.grantId) await revokeGrant(ctx, used.grantId);
        }
        throw error;
      }
    });
}
