/** What an authorization response may carry through the browser, and to where. */
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { isInTheClear } from '../http/loopback.ts';

/**
 * Tokens never cross a network in the clear, whichever response mode carries them (RFC 9700 section 2.6; OpenID Connect Core
 * 3.2.2.1 requires https of implicit clients). A plain http redirect URI must be on the person’s own machine, or it only gets a
 * code.
 */
export function refuseTokensInTheClear({ oidc }: KoaContextWithOIDC): void {
  const { response_type, redirect_uri } = (oidc.params ?? {}) as { response_type?: string; redirect_uri?: string };
  const carriesTokens = response_type?.split(' ').some((type) => type === 'token' || type === 'id_token');
  if (carriesTokens && isInTheClear(redirect_uri ?? ''))
    throw new errors.InvalidRequest('tokens are sent to https addresses and to loopback only: ask for a code');
}
