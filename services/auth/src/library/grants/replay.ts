/**
 * A second use revokes everything that belongs to the grant (RFC 6749 section 4.1.2, RFC 9700 sections 2.1.1 and 4.14.2). The
 * library does so when it finds a code or refresh token already used. But when many requests arrive at once, none of them finds it
 * used and all but one lose the race to use it: the losers count as second uses too. The grant itself is deleted, and every check
 * of a token looks for its grant, so it does not matter if the winner stores its tokens after the losers have revoked.
 */
import type { Provider } from 'oidc-provider';
import { AlreadyConsumed } from '../../adapter/consumed.ts';
import { revokeGrant, wrapGrant } from '../seam.ts';

const singleUse = {
  authorization_code: { model: 'AuthorizationCode', parameter: 'code' },
  refresh_token: { model: 'RefreshToken', parameter: 'refresh_token' },
  'urn:ietf:params:oauth:grant-type:device_code': { model: 'DeviceCode', parameter: 'device_code' },
} as const;

/** `find` of all three models, whose types have no call in common. */
type Model = { find(value: string, options: object): Promise<{ grantId?: string } | undefined> };

/** Called after the grants are registered, because it wraps all of them. */
export function revokeOnReplay(provider: Provider): void {
  for (const [grantType, { model, parameter }] of Object.entries(singleUse))
    wrapGrant(provider, grantType, [], async (ctx, handle) => {
      try {
        await handle();
      } catch (error) {
        if (error instanceof AlreadyConsumed) {
          const value = (ctx.oidc.params as Record<string, string>)[parameter]!;
          // Its options are missing in the typings.
          const used = await (provider[model] as unknown as Model).find(value, { ignoreExpiration: true });
          // A missing one was revoked by another late request, together with its grant.
          if (used?.grantId) await revokeGrant(ctx, used.grantId);
        }
        throw error;
      }
    });
}
