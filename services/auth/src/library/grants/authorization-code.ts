/**
 * oidc-provider’s own grant with two more rules. An attempt with a wrong redirect URI or verifier spends the code. And a redirect URI that
 * stood in the authorization request must be repeated (RFC 6749 section 4.1.3), even if the client has only one, which the library fills in.
 */
import Provider, { errors, type Provider as ProviderType } from 'oidc-provider';
import { keepProperty, wrapGrant } from '../seam.ts';

type Code = { clientId?: string; isWithoutUri?: boolean; save(...given: unknown[]): Promise<unknown> };

/** The parameter that says that the authorization request had no redirect URI (authorization/parameters.ts). */
export const withoutUri = 'without_redirect_uri';

export function registerAuthorizationCode(provider: ProviderType): void {
  markCodes(provider);
  wrapGrant(provider, 'authorization_code', [], async (ctx, handle) => {
    const { code, redirect_uri } = ctx.oidc.params as { code?: string; redirect_uri?: string };
    if (code !== undefined && redirect_uri === undefined) {
      const found: Code | undefined = await provider.AuthorizationCode.find(code, { ignoreExpiration: true });
      if (found?.clientId === ctx.oidc.client?.clientId && !found?.isWithoutUri)
        throw new errors.InvalidRequest("missing required parameter(s) 'redirect_uri'");
    }
    try {
      await handle();
    } catch (error) {
      if (error instanceof errors.InvalidGrant) {
        const found = await provider.AuthorizationCode.find(String(code), { ignoreExpiration: true });
        // Only the code’s own client can spend it; another client’s guess cannot.
        if (found && found.clientId === ctx.oidc.client?.clientId) await found.consume().catch(ignoreConsumed);
      }
      throw error;
    }
  });
}

/** Codes carry whether their request had a redirect URI. The library stores the one that it has filled in. */
function markCodes(provider: ProviderType): void {
  keepProperty(provider.AuthorizationCode, 'isWithoutUri');
  // The property is ours; the typings do not know the method that stores it.
  const prototype = provider.AuthorizationCode.prototype as unknown as Code;
  const { save } = prototype;
  prototype.save = function (...given) {
    const params = Provider.ctx?.oidc.params as Record<string, unknown> | undefined;
    if (params?.[withoutUri] === '1') this.isWithoutUri = true;
    return save.apply(this, given);
  };
}

/** Another request was faster; the code is spent, as it should be. */
function ignoreConsumed(error: unknown): void {
  if (!(error instanceof errors.InvalidGrant)) throw error;
}
