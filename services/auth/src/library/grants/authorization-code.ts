/** oidc-provider’s own grant with one more rule: an attempt with a wrong redirect URI or verifier spends the code. */
import { errors, type Provider } from 'oidc-provider';
import { wrapGrant } from '../seam.ts';

export function registerAuthorizationCode(provider: Provider): void {
  wrapGrant(provider, 'authorization_code', [], async (ctx, handle) => {
    try {
      await handle();
    } catch (error) {
      if (error instanceof errors.InvalidGrant) {
        const { code } = ctx.oidc.params as { code?: string };
        const found = await provider.AuthorizationCode.find(String(code), { ignoreExpiration: true });
        // Only the code’s own client can spend it; another client’s guess cannot.
        if (found && found.clientId === ctx.oidc.client?.clientId) await found.consume().catch(ignoreConsumed);
      }
      throw error;
    }
  });
}

/** Another request was faster; the code is spent, as it should be. */
function ignoreConsumed(error: unknown): void {
  if (!(error instanceof errors.InvalidGrant)) throw error;
}
