/** oidc-provider's own grant; Auth0's SDKs look for these words in a refusal. */
import { errors, type Provider } from 'oidc-provider';
import { aroundGrant } from '../seam.ts';

export function registerRefreshToken(provider: Provider): void {
  aroundGrant(provider, 'refresh_token', [], async (_ctx, handle) => {
    try {
      await handle();
    } catch (error) {
      if (error instanceof errors.InvalidGrant) error.error_description = 'Unknown or invalid refresh token.';
      throw error;
    }
  });
}
